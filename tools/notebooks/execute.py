"""Run a notebook from top to bottom in a fresh kernel of this Python, as a learner on a new machine would.

The kernel is told that labkit launched it, since that is how learners meet the outputs. Their state folder
is a temporary one, so no outputs depend on what the author did before. nbclient alone calls a notebook good
whose widgets failed: an error inside an Output widget, and one an experiment shows in its status line, stay
in the widgets' state. Both are looked for here before that state is thrown away.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from traitlets import default

from labkit.lab.kernel import ThisPython, import_path

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"


class _Manager(AsyncKernelManager):
    @default("kernel_spec_manager")
    def _this_python(self) -> ThisPython:
        return ThisPython()


def execute(notebook: NotebookNode, folder: Path, timeout: float) -> list[str]:
    """Fill in the notebook's outputs; the problems met are returned, none if all went well.

    `timeout` is in seconds, for each cell.
    """
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        kernel_manager_class=_Manager,
        resources={"metadata": {"path": str(folder)}},
    )
    with _fresh_state():
        try:
            client.execute()
        except CellExecutionError as error:
            return [COLOURS.sub("", str(error))]
        except (CellTimeoutError, DeadKernelError) as error:
            return [f"{type(error).__name__}: {error}"]
    return widget_errors(notebook)


def widget_errors(notebook: NotebookNode) -> list[str]:
    """Errors held by the widgets of an executed notebook: in Output widgets, or as an alert in HTML ones."""
    models = notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {}).values()
    return [message for model in models for message in _errors_in(model.get("state", {}))]


def _errors_in(state: dict[str, Any]) -> Iterator[str]:
    for output in state.get("outputs", ()):
        if output.get("output_type") == "error":
            yield f"an Output widget holds {output['ename']}: {output['evalue']}"
    value = state.get("value")
    if isinstance(value, str) and 'role="alert"' in value:
        yield f"a widget shows the alert {value}"


@contextmanager
def _fresh_state() -> Iterator[None]:
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        path = import_path(before.get("PYTHONPATH"))
        os.environ |= {"LABKIT_STATE": folder, "LABKIT_LAUNCH": "1", "PYTHONPATH": path}
        try:
            yield
        finally:
            os.environ.clear()
            os.environ |= before
