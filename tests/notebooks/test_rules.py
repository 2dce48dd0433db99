"""Each rule lets a good notebook pass, and rejects the mistake it is there for."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tools.notebooks.rules import RULES, broken_rules

HEADINGS = [
    "# What is slow?", "## The symptom", "## The idea", "## Predict", "## Build", "## Experiment", "## The limit",
    "## When it loses", "## Decide", "## Quiz, recap, papers",
]  # fmt: skip
PATH = Path("notebooks/01_test.ipynb")


def good() -> NotebookNode:
    cells = [nbformat.v4.new_markdown_cell(heading) for heading in HEADINGS]
    cells.append(
        nbformat.v4.new_markdown_cell(
            "Next: [the start](00_start.ipynb#top), and <https://example.org/a.ipynb>."
        )
    )
    cells += [code("draw()", 1, picture()), code("# NBVAL_CHECK_OUTPUT\nprint(1)", 2, stream("1\n"))]
    return nbformat.v4.new_notebook(cells=cells)


def code(source: str, count: int | None, *outputs: NotebookNode) -> NotebookNode:
    return nbformat.v4.new_code_cell(source, execution_count=count, outputs=list(outputs))


def picture(text: str = "A line that rises.", alt: str = "A line that rises.") -> NotebookNode:
    metadata = {"image/png": {"alt": alt}} if alt else {}
    return nbformat.v4.new_output(
        "display_data", {"image/png": "AAAA", "text/plain": text}, metadata=metadata
    )


def stream(text: str) -> NotebookNode:
    return nbformat.v4.new_output("stream", name="stdout", text=text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "00_start.ipynb").touch()
    return tmp_path / "01_test.ipynb"


def test_a_good_notebook_passes(path: Path) -> None:
    assert broken_rules(good(), path) == []


def error(notebook: NotebookNode) -> None:
    notebook.cells[-1].outputs = [
        nbformat.v4.new_output("error", ename="ValueError", evalue="no", traceback=[])
    ]


def widget_state(notebook: NotebookNode) -> None:
    notebook.metadata["widgets"] = {}


def not_run(notebook: NotebookNode) -> None:
    notebook.cells[-1].execution_count = None


def run_twice(notebook: NotebookNode) -> None:
    notebook.cells[-1].execution_count = 7


def long_cell(notebook: NotebookNode) -> None:
    notebook.cells[-1].source = "\n".join(f"a{i} = {i}" for i in range(31))


def no_picture(notebook: NotebookNode) -> None:
    notebook.cells[-2].outputs = []


def picture_without_words(notebook: NotebookNode) -> None:
    notebook.cells[-2].outputs = [picture(text="<Figure size 640x480 with 1 Axes>", alt="")]


def no_title(notebook: NotebookNode) -> None:
    notebook.cells[0].source = "What is slow?"


def missing_part(notebook: NotebookNode) -> None:
    del notebook.cells[4]


def parts_swapped(notebook: NotebookNode) -> None:
    notebook.cells[3], notebook.cells[4] = notebook.cells[4], notebook.cells[3]


def heading_in_code(notebook: NotebookNode) -> None:
    notebook.cells[4].source = "```\n## Build\n```"


def path_in_output(notebook: NotebookNode) -> None:
    notebook.cells[-1].outputs = [stream("saved in /home/ann/labkit/x.json")]


def path_in_source(notebook: NotebookNode) -> None:
    notebook.cells[-1].source = "open('/Users/ann/x')"


def windows_path(notebook: NotebookNode) -> None:
    notebook.cells[-1].outputs = [stream("C:\\Users\\ann\\x")]


def dead_link(notebook: NotebookNode) -> None:
    notebook.cells[0].source += " see [that](99_nothing.ipynb)"


def dead_html_link(notebook: NotebookNode) -> None:
    notebook.cells[0].source += " see <a href='99_nothing.ipynb'>that</a>"


def invalid(notebook: NotebookNode) -> None:
    notebook.cells[-1].pop("execution_count")
    notebook.cells[-1]["surprise"] = 1


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (error, "ends in ValueError: no"),
        (widget_state, "metadata.widgets"),
        (not_run, "one run from top to bottom"),
        (run_twice, "one run from top to bottom"),
        (long_cell, "31 lines"),
        (no_picture, "no picture"),
        (picture_without_words, "no alt text"),
        (no_title, "not a title"),
        (missing_part, "the parts should be"),
        (parts_swapped, "the parts should be"),
        (heading_in_code, "the parts should be"),
        (path_in_output, "/home/ann"),
        (path_in_source, "/Users/ann"),
        (windows_path, "C:\\Users\\"),
        (dead_link, "99_nothing.ipynb"),
        (dead_html_link, "99_nothing.ipynb"),
        (invalid, "not a valid notebook"),
    ],
)
def test_a_mistake_is_told(spoil: Callable[[NotebookNode], None], complaint: str, path: Path) -> None:
    notebook = good()
    spoil(notebook)
    complaints = "\n".join(broken_rules(notebook, path))
    assert complaint in complaints


def test_a_path_of_the_checkout_is_private_wherever_it_lies(path: Path) -> None:
    notebook = good()
    notebook.cells[-1].outputs = [stream(f"read {path.resolve().parents[1]}/data/x")]
    assert any("path of one machine" in complaint for complaint in broken_rules(notebook, path))


def test_addresses_and_relative_paths_are_no_private_paths(path: Path) -> None:
    notebook = good()
    notebook.cells[-1].outputs = [
        stream("see https://example.org/home/ann, data/models/tiny and 3/4 of /dev/null")
    ]
    assert broken_rules(notebook, path) == []


def test_every_rule_is_tried() -> None:
    assert len(RULES) == 8
