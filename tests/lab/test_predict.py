"""Predictions are kept, compared, and judged in plain words."""

import re
from typing import Any

import pytest

from labkit import lab
from labkit.lab import store
from labkit.lab.errors import LabError
from labkit.lab.predict import Prediction, judge, parse


def ask(value: float | str | None = None) -> Prediction:
    return lab.predict("01.decode", "How long does a token take?", "ms", value)


def parts(prediction: Prediction) -> tuple[Any, Any, Any]:
    _, row, status = prediction.box.children
    entry, button = row.children
    return entry, button, status


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), (" 0.5 ", 0.5), (".5", 0.5), ("1,500", 1500), ("1 500", 1500), ("1_000_000", 1e6), ("1,5", 1.5),
        ("1.5e3", 1500), ("about 12 ms", 12), ("-3", -3), ("1,234,567.5", 1234567.5), (7, 7), (2.5, 2.5),
    ],
)  # fmt: skip
def test_numbers_are_understood_as_people_write_them(text: str | float, value: float) -> None:
    assert parse(text) == value


@pytest.mark.parametrize("text", ["", "many", "1 2", "3 or 4", "nan", float("inf"), True])
def test_what_is_no_number_is_refused(text: str | float) -> None:
    with pytest.raises(LabError):
        parse(text)


def test_a_value_is_kept_without_the_widget() -> None:
    ask("about 12")
    entry = store.read()["predictions"]["01.decode"]
    assert (entry["value"], entry["unit"], entry["late"]) == (12.0, "ms", False)
    assert re.match(r"\d{4}-\d\d-\d\dT", entry["time"])


def test_the_widget_keeps_what_is_typed() -> None:
    asked = ask()
    entry, button, status = parts(asked)
    entry.value = "1,500"
    button.click()
    assert asked.value == 1500
    assert 'role="status"' in status.value
    assert "1,500 ms" in status.value


def test_the_widget_says_what_it_does_not_understand() -> None:
    asked = ask()
    entry, button, status = parts(asked)
    entry.value = "<lots>"
    button.click()
    assert asked.value is None
    assert 'role="alert"' in status.value
    assert "&lt;lots&gt;" in status.value


def test_a_reopened_question_remembers() -> None:
    ask(1500)
    entry, _, status = parts(ask())
    assert entry.value == "1500"
    assert "You predicted 1,500 ms." in status.value
    assert "you predicted 1,500 ms" in repr(ask())


def test_the_bundle_shows_widget_and_text() -> None:
    data = ask()._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert "no prediction yet" in data["text/plain"]


@pytest.mark.parametrize(
    ("predicted", "measured", "says"),
    [
        (20, 30, "too low by a factor of 1.5"),
        (30, 20, "too high by a factor of 1.5"),
        (20, 21, "within 10 %"),
        (21, 20, "within 10 %"),
        (0, 5, "a factor cannot be named"),
        (-1, 5, "a factor cannot be named"),
        (None, 5, "No prediction was made; measured 5 ms."),
    ],
)
def test_it_is_judged_in_plain_words(predicted: float | None, measured: float, says: str) -> None:
    assert says in judge(predicted, measured, "ms")


def test_comparing_draws_both_and_keeps_the_measurement() -> None:
    ask(20)
    drawn = lab.compare("01.decode", 30.0)
    assert [round(bar.get_width()) for bar in drawn.figure.axes[0].patches] == [20, 30]
    assert drawn.alt.startswith("How long does a token take? You predicted 20 ms; measured 30 ms")
    assert store.read()["predictions"]["01.decode"]["measured"] == 30.0


def test_far_apart_is_drawn_on_a_logarithmic_axis() -> None:
    ask(1)
    assert lab.compare("01.decode", 500.0).figure.axes[0].get_xscale() == "log"


@pytest.mark.parametrize("value", [0, -5])
def test_a_prediction_without_a_factor_is_still_drawn(value: float) -> None:
    ask(value)
    assert lab.compare("01.decode", 5.0).png()


def test_without_a_prediction_only_the_measurement_is_drawn() -> None:
    ask()
    drawn = lab.compare("01.decode", 30.0)
    assert len(drawn.figure.axes[0].patches) == 1
    assert "No prediction was made; measured 30 ms." in drawn.alt
    assert lab.compare("never.asked", 3.0).alt == "never.asked No prediction was made; measured 3."


def test_a_prediction_after_the_measurement_is_said_to_be_late() -> None:
    ask(20)
    lab.compare("01.decode", 30.0)
    ask(20)  # run-all again: the same prediction is not a new one
    assert "after the measurement" not in lab.compare("01.decode", 30.0).alt
    ask(30)
    assert "Predicted after the measurement was shown." in lab.compare("01.decode", 30.0).alt


@pytest.mark.parametrize("measured", [0, -1, float("nan"), float("inf")])
def test_what_is_no_measurement_is_refused(measured: float) -> None:
    with pytest.raises(LabError, match="measured = "):
        lab.compare("01.decode", measured)
