"""Running and tidying notebooks: what is kept, what goes, and that no failure is called a success."""

import os
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tools.notebooks.execute import execute
from tools.notebooks.tidy import NO_PICTURE, tidy, write

TIMEOUT = 120.0


def notebook(*sources: str) -> NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """One run for several tests: a kernel takes seconds to start."""
    made = notebook(
        "import sys, os\nprint(sys.executable)\nprint(os.environ['LABKIT_STATE'])",
        "for i in range(3):\n    print(i, flush=True)",
        "from ipywidgets import IntSlider, VBox\nVBox([IntSlider()])",
        "import base64\nfrom labkit.lab.picture import png_bundle\n"
        "png = b'\\x89PNG\\r\\n\\x1a\\n' + bytes(8) + (60).to_bytes(4, 'big') * 2\n"
        "data, metadata = png_bundle(png, 'A square.')\n"
        "data['application/vnd.jupyter.widget-view+json'] = IntSlider()._repr_mimebundle_()"
        "['application/vnd.jupyter.widget-view+json']\n"
        "display(data, metadata=metadata, raw=True)",
    )
    made.metadata["kernelspec"] = {"name": "someone-elses", "display_name": "x"}
    assert execute(made, tmp_path_factory.mktemp("run"), TIMEOUT) == []
    return made


def test_it_runs_in_this_python_with_a_fresh_state_folder(executed: NotebookNode) -> None:
    import sys

    python, state = executed.cells[0].outputs[0].text.split()
    assert python == sys.executable
    assert state != os.environ["LABKIT_STATE"]


def test_tidied_outputs_keep_pictures_and_text_and_lose_widgets(executed: NotebookNode) -> None:
    clean = tidy(nbformat.from_dict(dict(executed)))
    slider, shown = clean.cells[2].outputs[0], clean.cells[3].outputs[0]
    assert slider.data == {"text/plain": NO_PICTURE}
    assert set(shown.data) == {"image/png", "text/plain"}
    assert shown.data["text/plain"] == "A square."
    assert shown.metadata["image/png"]["alt"] == "A square."
    assert "widgets" not in clean.metadata
    assert clean.metadata.kernelspec.name == "python3"
    assert all("execution" not in cell.metadata for cell in clean.cells)


def test_a_stream_is_one_output_however_it_arrived() -> None:
    made = notebook("print(…)")
    pieces = [("stdout", "a"), ("stdout", "b\n"), ("stderr", "c"), ("stdout", "d")]
    made.cells[0].outputs = [nbformat.v4.new_output("stream", name=name, text=text) for name, text in pieces]
    joined = [(output.name, output.text) for output in tidy(made).cells[0].outputs]
    assert joined == [("stdout", "ab\n"), ("stderr", "c"), ("stdout", "d")]


def test_tidying_twice_changes_nothing_more(executed: NotebookNode, tmp_path: Path) -> None:
    once = tidy(nbformat.from_dict(dict(executed)))
    write(once, tmp_path / "a.ipynb")
    first = (tmp_path / "a.ipynb").read_bytes()
    write(tidy(nbformat.read(tmp_path / "a.ipynb", as_version=4)), tmp_path / "a.ipynb")
    assert (tmp_path / "a.ipynb").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["a.ipynb"]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("1 / 0", "ZeroDivisionError"),
        (
            "from ipywidgets import Output\nout = Output()\nwith out:\n    1 / 0\nout",
            "an Output widget holds ZeroDivisionError",
        ),
        ("from ipywidgets import HTML\nHTML('<div role=\"alert\">no memory</div>')", "no memory"),
    ],
)
def test_a_failure_is_told_wherever_it_hides(source: str, told: str, tmp_path: Path) -> None:
    problems = execute(notebook(source), tmp_path, TIMEOUT)
    assert any(told in problem for problem in problems)


def test_a_cell_that_never_ends_is_told(tmp_path: Path) -> None:
    problems = execute(notebook("import time\ntime.sleep(60)"), tmp_path, timeout=1)
    assert any("Timeout" in problem for problem in problems)


def test_the_environment_is_left_as_it_was(tmp_path: Path) -> None:
    before = dict(os.environ)
    execute(notebook("1"), tmp_path, TIMEOUT)
    assert dict(os.environ) == before
