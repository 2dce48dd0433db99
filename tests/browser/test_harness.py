"""The browser tests must be able to fail: small notebooks, good and broken, through the same driver.

Also what only a browser shows of the lab itself: the address that `labkit launch` prints leads to an open
notebook, nothing leaves the machine, widgets' messages stay on the main thread, an experiment redraws,
cancels, and says its errors.
"""

from urllib.parse import urlsplit

import nbformat
import pytest
from nbformat import NotebookNode
from playwright.sync_api import expect

from tests.browser.conftest import Opener
from tests.browser.driver import Lab

PICTURE = """
import time, threading
from matplotlib.figure import Figure
from labkit import lab
def draw(points):
    figure = Figure(figsize=(4, 2))
    figure.subplots().plot(points)
    return lab.Picture(figure, f"A line through {len(points)} points.")
"""
QUICK = "lab.Experiment(lambda n: list(range(n)), knobs={'n': lab.Range(2, 20, 3)}, draw=draw, auto=True)"
RUN = "lab.Experiment(lambda n: list(range(n)), knobs={'n': lab.Range(2, 20, 3)}, draw=draw)"
SLOW = """
def slow(n, progress):
    for step in range(n):
        time.sleep(0.05)
        progress(step, n)
    return list(range(n))
lab.Experiment(slow, knobs={'n': lab.Range(2, 2000, 2)}, draw=draw)
"""
FAILING = """
def failing(n):
    if n > 3:
        raise ValueError('n is <too> large')
    return list(range(n))
lab.Experiment(failing, knobs={'n': lab.Range(2, 20, 3)}, draw=draw)
"""


def notebook(*cells: str) -> NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in cells])


def test_the_printed_address_opens_the_notebook(lab: Lab) -> None:
    expect(lab.page.locator(".jp-NotebookPanel .jp-CodeCell").first).to_be_visible()
    assert "empty" in lab.page.title()


def test_nothing_is_asked_of_the_outside(lab: Lab, open_notebook: Opener) -> None:
    open_notebook("local.ipynb", notebook("1 + 1")).run_all()
    hosts = {urlsplit(url).hostname for url in lab.requests if urlsplit(url).scheme not in ("data", "blob")}
    assert hosts == {"127.0.0.1"}
    assert len(lab.requests) > 20  # the log is not empty for the wrong reason
    assert lab.page.locator(".Toastify__toast").count() == 0  # no news, no update, no complaint


def test_only_notebooks_are_listed(lab: Lab) -> None:
    listed = lab.page.locator(".jp-DirListing-itemText")
    expect(listed.filter(has_text="empty.ipynb")).to_have_count(1)
    assert all(name.strip().endswith(".ipynb") for name in listed.all_inner_texts())


def test_a_sound_notebook_runs_to_its_end(open_notebook: Opener) -> None:
    opened = open_notebook("sound.ipynb", notebook("a = 1", "print(a + 1)"))
    assert opened.run_all() == []
    assert opened.counts() == [1, 2]
    expect(opened.find(".jp-OutputArea-output").last).to_have_text("2")


def test_a_broken_notebook_is_caught(open_notebook: Opener) -> None:
    opened = open_notebook("broken.ipynb", notebook("1 + 1", "1 / 0", "2 + 2"))
    assert opened.run_all() == ["ZeroDivisionError: division by zero"]


def test_widget_messages_stay_on_the_main_thread(open_notebook: Opener) -> None:
    """With JupyterLab's default, later changes of a widget run on another thread, beside the running cell."""
    code = """
import threading
from ipywidgets import HTML, IntSlider, VBox
slider, said = IntSlider(0, 0, 9), HTML('none')
def moved(change):
    said.value = '<span class="thread">' + threading.current_thread().name + '</span>'
slider.observe(moved, names='value')
VBox([slider, said])
"""
    opened = open_notebook("thread.ipynb", notebook(code))
    assert opened.run_all() == []
    opened.find("[role=slider]").focus()
    opened.page.keyboard.press("ArrowRight")
    expect(opened.find(".thread")).to_have_text("MainThread")


def test_an_automatic_experiment_follows_its_slider(open_notebook: Opener) -> None:
    opened = open_notebook("automatic.ipynb", notebook(PICTURE, QUICK))
    assert opened.run_all() == []
    [frame] = opened.experiments()
    assert not frame.has_run_button
    before, runs = frame.picture(), frame.runs
    assert frame.move(frame.sliders.first) == (3, 4)
    frame.wait_for_run(runs + 1)
    assert frame.picture() != before
    frame.press(frame.sliders.first, "ArrowLeft")
    frame.wait_for_run(runs + 2)
    assert frame.picture() == before  # the picture follows the knob's value, and nothing else


def test_an_experiment_runs_at_its_button(open_notebook: Opener, lab: Lab) -> None:
    opened = open_notebook("button.ipynb", notebook(PICTURE, RUN))
    assert opened.run_all() == []
    [frame] = opened.experiments()
    before, runs = frame.picture(), frame.runs
    frame.move(frame.sliders.first)
    assert frame.picture() == before  # the knob alone changes nothing
    frame.button("Run").press("Enter")  # the keyboard's way
    frame.wait_for_run(runs + 1)
    assert frame.state == "done"
    assert frame.picture() != before
    assert lab.errors == []


def test_an_experiment_can_be_cancelled_and_run_again(open_notebook: Opener) -> None:
    opened = open_notebook("cancel.ipynb", notebook(PICTURE, SLOW))
    assert opened.run_all() == []
    [frame] = opened.experiments()
    before, runs = frame.picture(), frame.runs
    frame.press(frame.sliders.first, "End")
    frame.button("Run").click()
    frame.wait_for("running")
    frame.button("Cancel").click()
    frame.wait_for("cancelled", timeout=30_000)
    assert frame.picture() == before
    frame.press(frame.sliders.first, "Home")
    frame.move(frame.sliders.first)
    frame.button("Run").click()
    frame.wait_for_run(runs + 2)
    assert frame.state == "done"
    assert frame.picture() != before


def test_an_experiment_says_its_error_where_the_learner_looks(open_notebook: Opener) -> None:
    opened = open_notebook("failing.ipynb", notebook(PICTURE, FAILING))
    assert opened.run_all() == []
    [frame] = opened.experiments()
    before = frame.picture()
    frame.move(frame.sliders.first)
    frame.button("Run").click()
    frame.wait_for("failed")
    alert = opened.find("[role=alert]")
    expect(alert).to_contain_text("n is <too> large")
    assert frame.picture() == before


@pytest.mark.parametrize("cell", [RUN, QUICK])
def test_a_picture_that_stays_the_same_is_seen_to(cell: str, open_notebook: Opener) -> None:
    """The comparison of pictures can fail: an experiment that ignores its knob shows the same picture again."""
    opened = open_notebook("constant.ipynb", notebook(PICTURE, cell.replace("range(n)", "range(5)")))
    assert opened.run_all() == []
    [frame] = opened.experiments()
    before, runs = frame.picture(), frame.runs
    frame.move(frame.sliders.first)
    if frame.has_run_button:
        frame.button("Run").click()
    frame.wait_for_run(runs + 1)
    assert frame.picture() == before
