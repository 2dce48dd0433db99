"""The experiment frame: a function with knobs, run beside the notebook, cancelled, redrawn, and honest about errors."""

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from labkit import lab
from labkit.lab.errors import LabError
from labkit.lab.picture import Picture, Svg
from labkit.lab.widgets.experiment import Experiment
from labkit.lab.widgets.job import Report

PATIENCE = 30.0
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="{}"/>'


def draw(result: float) -> Picture:
    return lab.bars({"result": result}, unit="ms")


def scaled(batch: int, kind: str = "plain") -> float:
    return batch * (10.0 if kind == "slow" else 1.0)


def state(experiment: Experiment) -> str:
    found = re.search(r'data-state="(\w+)"', experiment.view.status.value)
    assert found
    return found[1]


@pytest.fixture
def experiment() -> Experiment:
    knobs = {"batch": lab.Steps([1, 2, 4, 8], unit="sequences"), "kind": lab.Choice(["plain", "slow"])}
    return lab.Experiment(scaled, knobs=knobs, draw=draw, title="Sweep")


class Gate:
    """A run that waits at a gate, to be seen while it is going."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        self.calls = 0

    def __call__(self, steps: int, progress: Report) -> float:
        self.calls += 1
        self.entered.set()
        assert self.opened.wait(PATIENCE)
        for step in range(steps):
            progress(step + 1, steps, f"step {step + 1}")
        return float(steps)


@pytest.fixture
def gated() -> tuple[Experiment, Gate]:
    gate = Gate()
    return lab.Experiment(gate, knobs={"steps": lab.Range(1, 5, 3)}, draw=draw, initial=False), gate


def test_it_is_a_plain_function(experiment: Experiment) -> None:
    assert experiment() == 1.0
    assert experiment(batch=4, kind="slow") == 40.0


@pytest.mark.parametrize(
    ("values", "message"),
    [({"batch": 3}, "batch = 3: takes one of 1, 2, 4, 8"), ({"size": 1}, "no knob 'size'.*batch, kind")],
)
def test_values_no_knob_takes_are_refused(
    experiment: Experiment, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(LabError, match=message):
        experiment(**values)


def test_the_first_picture_is_there_before_a_click(experiment: Experiment) -> None:
    assert experiment.result == 1.0
    data, metadata = experiment._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}
    assert data["text/plain"] == repr(experiment) == "Sweep: Bars. result 1 ms."
    assert metadata["image/png"]["alt"] == "Bars. result 1 ms."


def test_a_click_runs_with_the_knobs_and_replaces_the_picture(experiment: Experiment) -> None:
    view = experiment.view
    before = view.drawing.value
    view.knobs["batch"].value = 8
    assert view.drawing.value == before  # turning alone changes nothing
    view.run.click()
    assert experiment.wait(PATIENCE)
    assert experiment.result == 8.0
    assert view.drawing.value != before
    assert "result 8 ms" in view.words.value
    assert 'alt="Bars. result 8 ms."' in view.drawing.value
    assert state(experiment) == "done"


def test_an_error_in_the_first_run_fails_the_cell() -> None:
    def broken(n: int) -> float:
        raise ValueError("no such n")

    with pytest.raises(ValueError, match="no such n"):
        lab.Experiment(broken, knobs={"n": lab.Range(1, 3, 1)}, draw=draw)


@pytest.mark.parametrize("auto", [False, True])
def test_a_later_error_is_said_and_the_old_picture_stays(auto: bool) -> None:
    def picky(n: int) -> float:
        if n == 2:
            raise ZeroDivisionError("n is <two>")
        return float(n)

    experiment = lab.Experiment(picky, knobs={"n": lab.Range(1, 3, 1)}, draw=draw, auto=auto)
    before = experiment.view.drawing.value
    experiment.view.knobs["n"].value = 2
    if not auto:
        experiment.view.run.click()
        assert experiment.wait(PATIENCE)
    status = experiment.view.status.value
    assert 'role="alert"' in status
    assert "ZeroDivisionError: n is &lt;two&gt;" in status
    assert experiment.view.drawing.value == before
    assert experiment.result == 1.0
    experiment.view.knobs["n"].value = 3
    if not auto:
        experiment.view.run.click()
        assert experiment.wait(PATIENCE)
    assert (state(experiment), experiment.result) == ("done", 3.0)


def test_labkits_own_errors_speak_for_themselves() -> None:
    def strict(n: int) -> float:
        if n > 1:
            raise LabError("n = 2 is too many: take 1")
        return 1.0

    experiment = lab.Experiment(strict, knobs={"n": lab.Range(1, 2, 1)}, draw=draw, auto=True)
    experiment.view.knobs["n"].value = 2
    assert "That did not work. n = 2 is too many: take 1</div>" in experiment.view.status.value


def test_an_error_while_drawing_is_said() -> None:
    def draw_small(result: float) -> Picture:
        return draw(result if result < 2 else -1.0)

    experiment = lab.Experiment(lambda n: float(n), knobs={"n": lab.Range(1, 2, 1)}, draw=draw_small)
    experiment.view.knobs["n"].value = 2
    experiment.view.run.click()
    assert experiment.wait(PATIENCE)
    assert "numbers &gt;= 0" in experiment.view.status.value


def test_progress_is_shown_while_it_runs(gated: tuple[Experiment, Gate]) -> None:
    experiment, gate = gated
    experiment.view.run.click()
    assert gate.entered.wait(PATIENCE)
    assert state(experiment) == "running"
    assert experiment.view.cancel.disabled is False
    gate.opened.set()
    assert experiment.wait(PATIENCE)
    assert (experiment.view.bar.value, experiment.view.bar.max) == (3, 3)
    assert experiment.view.cancel.disabled is True


def test_a_second_start_is_refused_while_one_runs(gated: tuple[Experiment, Gate]) -> None:
    experiment, gate = gated
    experiment.view.run.click()
    assert gate.entered.wait(PATIENCE)
    experiment.view.run.click()
    assert "Still running" in experiment.view.status.value
    assert experiment.start() is False
    gate.opened.set()
    assert experiment.wait(PATIENCE)
    assert gate.calls == 1


def test_cancel_ends_the_run_and_another_can_follow(gated: tuple[Experiment, Gate]) -> None:
    experiment, gate = gated
    experiment.view.run.click()
    assert gate.entered.wait(PATIENCE)
    experiment.view.cancel.click()
    gate.opened.set()
    assert experiment.wait(PATIENCE)
    assert state(experiment) == "cancelled"
    assert experiment.result is None
    experiment.view.run.click()
    assert experiment.wait(PATIENCE)
    assert (state(experiment), experiment.result) == ("done", 3.0)


def test_without_a_first_run_it_says_what_to_do(gated: tuple[Experiment, Gate]) -> None:
    experiment, _ = gated
    data, _ = experiment._repr_mimebundle_()
    assert "image/png" not in data
    assert "press Run" in data["text/plain"]


def test_the_worker_prints_nothing(experiment: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    experiment.view.run.click()
    assert experiment.wait(PATIENCE)
    assert capsys.readouterr() == ("", "")


def test_auto_redraws_at_every_turn_and_shows_no_button() -> None:
    def sketch(height: float) -> Svg:
        return Svg(SVG.format(height), f"a box {height} high")

    experiment = lab.Experiment(lambda n: float(n), knobs={"n": lab.Range(1, 9, 2)}, draw=sketch, auto=True)
    assert 'height="2.0"' in experiment.view.drawing.value
    experiment.view.knobs["n"].value = 7
    assert 'height="7.0"' in experiment.view.drawing.value
    assert "a box 7.0 high" in experiment.view.words.value
    assert experiment.view.run not in all_widgets(experiment.view.box)


def all_widgets(box: Any) -> list[Any]:
    return [box, *(w for child in getattr(box, "children", ()) for w in all_widgets(child))]


def test_describe_replaces_the_alt_text_below_the_picture() -> None:
    experiment = lab.Experiment(
        scaled,
        knobs={"batch": lab.Range(1, 4, 2)},
        draw=draw,
        describe=lambda result: f"It took {result} ms.",
    )
    assert "It took 2.0 ms." in experiment.view.words.value
    assert experiment._repr_mimebundle_()[0]["text/plain"] == "It took 2.0 ms."


def test_the_pictures_place_never_shrinks() -> None:
    def tall_then_short(rows: int) -> Picture:
        return lab.bars({str(i): 1.0 for i in range(rows)}, unit="ms")

    experiment = lab.Experiment(
        lambda rows: rows, knobs={"rows": lab.Range(1, 9, 6)}, draw=tall_then_short, auto=True
    )
    first = experiment.view.canvas.layout.min_height
    experiment.view.knobs["rows"].value = 1
    assert experiment.view.canvas.layout.min_height == first
    experiment.view.knobs["rows"].value = 9
    assert int(experiment.view.canvas.layout.min_height[:-2]) > int(first[:-2])


def test_every_control_is_labelled(experiment: Experiment) -> None:
    view = experiment.view
    controls = [*view.knobs.values(), view.run, view.cancel]
    assert all(control.description and control.tooltip for control in controls)
    assert view.knobs["batch"].description == "batch (sequences)"


def test_a_knob_that_turns_nothing_is_refused() -> None:
    with pytest.raises(LabError, match="'bach' turns nothing: run takes batch, kind"):
        lab.Experiment(scaled, knobs={"bach": lab.Range(1, 2, 1)}, draw=draw)


def test_what_is_no_picture_is_refused() -> None:
    with pytest.raises(LabError, match="draw returned str"):
        lab.Experiment(scaled, knobs={"batch": lab.Range(1, 2, 1)}, draw=lambda result: "text")  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("knob", "good", "bad"),
    [
        (lab.Range(1, 8, 2), 8, [0, 9, 1.5, "2", True, None]),
        (lab.Range(0.0, 1.0, 0.5, step=0.1), 0.3, [1.1, -0.1, "x"]),
        (lab.Choice(["a", "b"]), "b", ["c", None]),
        (lab.Steps([1, 2, 4]), 4, [3]),
        (lab.Toggle(), True, [1, "yes"]),
    ],
)
def test_knobs_check_values_and_their_widgets_hold_them(knob: Any, good: Any, bad: list[Any]) -> None:
    assert knob.check("k", good) == good
    widget = knob.widget("k")
    assert widget.value == knob.start
    widget.value = good
    assert knob.check("k", widget.value) == good
    for value in bad:
        with pytest.raises(LabError, match="k = "):
            knob.check("k", value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: lab.Range(1, 5, 9),
        lambda: lab.Range(1, 5, 2, step=0),
        lambda: lab.Choice([]),
        lambda: lab.Choice(["a"], "b"),
    ],
)
def test_impossible_knobs_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(LabError):
        make()
