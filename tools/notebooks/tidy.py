"""What a committed notebook keeps: sources, pictures and text; nothing private to a machine or soon stale.

A widget's view refers to a model that lives in a kernel; in a file it is a dangling reference, shown as
"model not found" or as nothing. So views are dropped and their PNG and text stay: web viewers, exports and
a freshly opened notebook show the picture, and running the cell brings the widget.
"""

import os
import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
NO_PICTURE = "Run this cell to see the widget."
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
VOLATILE_CELL_METADATA = ("execution", "ExecuteTime", "collapsed", "scrolled", "trusted")


def tidy(notebook: NotebookNode) -> NotebookNode:
    """The notebook itself, changed: no widget state, one kernel name, no clock times, whole text streams."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = dict(KERNEL)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.nbformat_minor = max(notebook.nbformat_minor, 5)
    for number, cell in enumerate(notebook.cells):
        cell.setdefault("id", f"cell-{number}")
        for name in VOLATILE_CELL_METADATA:
            cell.metadata.pop(name, None)
        if cell.cell_type == "code":
            cell.outputs = _joined([_still(output) for output in cell.outputs])
    return notebook


def write(notebook: NotebookNode, path: Path) -> None:
    """Validate, then replace the file in one step."""
    nbformat.validate(notebook)
    beside = path.with_name(f".{path.name}.new")
    nbformat.write(notebook, beside)
    os.replace(beside, path)


def _still(output: NotebookNode) -> NotebookNode:
    """An output without its widget view; a sentence replaces a text that is only the widget's repr."""
    data: dict[str, Any] = output.get("data", {})
    if data.pop(WIDGET_VIEW, None) is not None and _is_repr(data.get("text/plain", "")):
        data["text/plain"] = NO_PICTURE
    return output


def _is_repr(text: str) -> bool:
    """Whether a text is Python's view of a widget: `VBox(children=(…))`, `<Frame object at 0x…>`."""
    return bool(re.match(r"\s*$|<|[A-Za-z_]+\(", text))


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Neighbouring pieces of one stream as one output: where a stream is cut is a matter of timing."""
    result: list[NotebookNode] = []
    for output in outputs:
        last = result[-1] if result else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            result.append(output)
    return result
