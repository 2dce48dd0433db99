"""The rules every committed notebook keeps: each a function from a notebook and its path to complaints."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode, ValidationError

LONGEST_CELL = 30
"""Lines of code; more belongs into labkit and is shown from there."""
PARTS = (
    ("the symptom", r"\bsymptom\b"),
    ("the idea", r"\bidea\b"),
    ("predict", r"\bpredict"),
    ("build", r"\bbuild\b"),
    ("experiment", r"\bexperiment"),
    ("the limit", r"\blimit\b"),
    ("when it loses", r"\bloses\b"),
    ("decide", r"\bdecide\b"),
    ("quiz, recap, papers", r"\b(quiz|recap)\b"),
)
"""The second-level headings of the notebook's shape, in order; its first part is the title's."""
PRIVATE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|Users|tmp|mnt|opt|var)/[\w.~-]+|\b[A-Z]:\\\\?Users\\")
NOTEBOOK_LINK = re.compile(r"\]\(([^)\s#]+\.ipynb)(?:#[^)]*)?\)|href=[\"']([^\"'#]+\.ipynb)")

Rule = Callable[[NotebookNode, Path], Iterator[str]]


def broken_rules(notebook: NotebookNode, path: Path) -> list[str]:
    """Every complaint about a notebook that lies (or would lie) at `path`; of an invalid one, only that."""
    return list(valid(notebook, path)) or [complaint for rule in RULES for complaint in rule(notebook, path)]


def valid(notebook: NotebookNode, path: Path) -> Iterator[str]:
    try:
        nbformat.validate(notebook)
    except ValidationError as error:
        yield f"not a valid notebook: {error.message}"


def no_widget_state(notebook: NotebookNode, path: Path) -> Iterator[str]:
    if "widgets" in notebook.metadata:
        yield "metadata.widgets is there, and stale state shows as 'model not found': tidy it"


def no_errors(notebook: NotebookNode, path: Path) -> Iterator[str]:
    for number, cell in _code(notebook):
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"cell {number} ends in {output.ename}: {output.evalue}"


def run_in_order(notebook: NotebookNode, path: Path) -> Iterator[str]:
    """The outputs are of one run from top to bottom. Where a count is missing, nbval compares nothing."""
    counts = [cell.execution_count for _, cell in _code(notebook) if cell.source.strip()]
    if counts != list(range(1, len(counts) + 1)):
        yield f"not the outputs of one run from top to bottom: execution counts {counts}"


def short_cells(notebook: NotebookNode, path: Path) -> Iterator[str]:
    for number, cell in _code(notebook):
        lines = len(cell.source.splitlines())
        if lines > LONGEST_CELL:
            yield f"cell {number} has {lines} lines, more than {LONGEST_CELL}: move the logic into labkit"


def pictures_in_words(notebook: NotebookNode, path: Path) -> Iterator[str]:
    """At least one picture, and for each its alt text, which is also the output's plain text."""
    pictures = [
        (number, output)
        for number, cell in _code(notebook)
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    if not pictures:
        yield "no picture in the outputs"
    for number, output in pictures:
        alt = output.metadata.get("image/png", {}).get("alt", "") or output.data.get("text/plain", "")
        if not alt.strip() or alt.startswith(("<", "Figure(")):
            yield f"cell {number}: the picture has no alt text, only {alt!r}"


def in_shape(notebook: NotebookNode, path: Path) -> Iterator[str]:
    """A title, then the parts of the course's notebooks as second-level headings, each once and in order."""
    headings = list(_headings(notebook))
    if not headings or not headings[0].startswith("# "):
        yield "the first heading is not a title (# …)"
    seconds = [line[3:].lower() for line in headings if line.startswith("## ")]
    found = [next((name for name, mark in PARTS if re.search(mark, text)), None) for text in seconds]
    wanted = [name for name, _ in PARTS]
    if [name for name in found if name] != wanted:
        yield f"the parts should be, in order: {'; '.join(wanted)}. Found: {'; '.join(seconds) or 'none'}"


def no_private_paths(notebook: NotebookNode, path: Path) -> Iterator[str]:
    here = re.escape(str(path.resolve().parents[1]))
    for number, text in _texts(notebook):
        if match := PRIVATE_PATH.search(text) or re.search(here, text):
            yield f"cell {number} names a path of one machine: {match.group()}"


def links_lead_somewhere(notebook: NotebookNode, path: Path) -> Iterator[str]:
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            continue
        for groups in NOTEBOOK_LINK.findall(cell.source):
            target = next(filter(None, groups))
            if not (path.parent / target).is_file():
                yield f"cell {number} links to {target}, which is not there"


RULES: tuple[Rule, ...] = (
    no_widget_state,
    no_errors,
    run_in_order,
    short_cells,
    pictures_in_words,
    in_shape,
    no_private_paths,
    links_lead_somewhere,
)


def _code(notebook: NotebookNode) -> list[tuple[int, NotebookNode]]:
    return [(number, cell) for number, cell in enumerate(notebook.cells) if cell.cell_type == "code"]


def _headings(notebook: NotebookNode) -> Iterator[str]:
    """Markdown headings, outside of fenced code."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"^(```|~~~).*?^\1", "", cell.source, flags=re.MULTILINE | re.DOTALL)
            yield from re.findall(r"^#{1,6} .*", prose, flags=re.MULTILINE)


def _texts(notebook: NotebookNode) -> Iterator[tuple[int, str]]:
    """Everything a reader sees as text, by cell: sources and textual outputs."""
    for number, cell in enumerate(notebook.cells):
        yield number, cell.source
        for output in cell.get("outputs", ()):
            yield number, str(output.get("text", ""))
            for kind, value in output.get("data", {}).items():
                if kind.startswith("text/") or kind.endswith("svg+xml"):
                    yield number, str(value)
