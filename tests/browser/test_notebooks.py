"""Every committed notebook in the browser, as a learner meets it: it runs and its experiments answer."""

from pathlib import Path

import nbformat
import pytest

from tests.browser.conftest import Opener
from tests.browser.driver import Frame, Lab, Notebook

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_experiments_answer(path: Path, open_notebook: Opener, lab: Lab) -> None:
    """One test, because a notebook's run is what takes the time: all cells, then every experiment's first slider."""
    opened = open_notebook(path.name, nbformat.read(path, as_version=4))
    assert opened.run_all() == []
    assert no_alerts(opened)
    frames = [frame for frame in opened.experiments() if frame.sliders.count()]
    assert frames, "a notebook has at least one experiment with a slider"
    for frame in frames:
        answers_its_slider(frame)
    for frame in frames:
        if frame.has_run_button:
            can_be_cancelled(frame)
    assert no_alerts(opened)
    assert lab.errors == []


def answers_its_slider(frame: Frame) -> None:
    """A moved slider, and Run where there is one, ends in a new picture."""
    before, runs = frame.picture(), frame.runs
    values = frame.move(frame.sliders.first)
    assert values[0] != values[1]
    if frame.has_run_button:
        frame.button("Run").click()
    frame.wait_for_run(runs + 1)
    assert frame.state == "done"
    assert frame.picture() != before


def can_be_cancelled(frame: Frame) -> None:
    """Run and Cancel at once: it ends soon, as cancelled, or as done where the run was quicker than the click."""
    before, runs = frame.picture(), frame.runs
    frame.button("Run").click()
    frame.wait_for("running|done")
    if frame.button("Cancel").is_enabled():
        frame.button("Cancel").click()
    frame.wait_for_run(runs + 1)
    assert frame.state in ("cancelled", "done")
    if frame.state == "cancelled":
        assert frame.picture() == before


def no_alerts(opened: Notebook) -> bool:
    return opened.find("[role=alert]").all_inner_texts() == []
