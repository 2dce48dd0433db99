"""Predictions: the learner commits to a number before the experiment, and meets it again beside the
measurement.

A prediction made after the measurement was shown is no prediction; it is kept, and said to be late.
"""

import math
import re
from typing import TYPE_CHECKING, Any

from labkit.lab import store, style
from labkit.lab.card import Card
from labkit.lab.errors import LabError
from labkit.lab.figures.bars import LOG_FROM, number
from labkit.lab.picture import Picture, escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLOSE = 1.1
"""Within this factor a prediction counts as well judged."""

_NUMBER = re.compile(
    r"[-+]?(?:\d{1,3}(?:[,_ ]\d{3})+(?!\d)|\d+(?:,\d{1,2}(?!\d))?|(?=\.\d))(?:\.\d+)?(?:[eE][-+]?\d+)?"
)


class Prediction:
    """A question waiting for a number; `commit(value)` keeps it. `value` is the one kept, or None."""

    def __init__(self, key: str, question: str, unit: str) -> None:
        self.key, self.question, self.unit = key, question, unit
        self._box: Any = None

    @property
    def value(self) -> float | None:
        return _entry(self.key).get("value")

    def commit(self, value: float | str) -> Card:
        """Keep a prediction, a number or its text ("1,500", "12 ms"). Raises LabError if it is no number."""
        given = parse(value)

        def change(document: store.Document) -> None:
            entry = document["predictions"].setdefault(self.key, {})
            if entry.get("value") != given:
                entry.update(value=given, time=store.now(), late="measured" in entry)
            entry.update(question=self.question, unit=self.unit)

        store.update(change)
        return Card(
            f"Your prediction is kept: {number(given)} {self.unit}.",
            "The measurement comes later.",
            tone="good",
        )

    def ask(self) -> None:
        """Keep the question, so that the comparison can name it even if nobody answers."""

        def change(document: store.Document) -> None:
            document["predictions"].setdefault(self.key, {}).update(question=self.question, unit=self.unit)

        store.update(change)

    @property
    def box(self) -> Any:
        """The widgets: a number entry and a button, made when first shown."""
        if self._box is None:
            self._box = _widgets(self)
        return self._box

    def __repr__(self) -> str:
        kept = self.value
        said = "no prediction yet" if kept is None else f"you predicted {number(kept)} {self.unit}"
        return f"Predict: {self.question} ({self.unit}): {said}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {**self.box._repr_mimebundle_(), "text/plain": repr(self)}


def predict(key: str, question: str, unit: str, value: float | str | None = None) -> Prediction:
    """Ask for a prediction; a `value` is committed at once, without the widget. Raises LabError if it is no
    number.

    `key` ties it to the measurement: `lab.compare(key, measured)` later in the notebook.
    """
    asked = Prediction(key, question, unit)
    asked.ask()
    if value is not None:
        asked.commit(value)
    return asked


def compare(key: str, measured: float) -> Picture:
    """The prediction kept under `key` beside the measurement, and in words by what factor it was off.

    Without a prediction only the measurement is drawn. Raises LabError if `measured` is no finite number
    above zero.
    """
    if not (math.isfinite(measured) and measured > 0):
        raise LabError(
            f"measured = {measured!r}: a measurement to compare with must be a finite number above zero"
        )
    entry = _entry(key)
    store.update(
        lambda document: (
            document["predictions"].setdefault(key, {}).update(measured=measured, measured_time=store.now())
        )
    )
    unit, predicted = entry.get("unit", ""), entry.get("value")
    verdict = judge(predicted, measured, unit)
    if entry.get("late"):
        verdict += " (Predicted after the measurement was shown.)"
    return _draw(entry.get("question", key), predicted, measured, unit, verdict)


def judge(predicted: float | None, measured: float, unit: str) -> str:
    """In plain words, how good a prediction was."""
    found = f"measured {number(measured)} {unit}".rstrip()
    if predicted is None:
        return f"No prediction was made; {found}."
    told = f"You predicted {number(predicted)} {unit}".rstrip() + f"; {found}: "
    if predicted <= 0:
        return told + "a factor cannot be named, but now you know the size."
    ratio = measured / predicted
    if 1 / CLOSE <= ratio <= CLOSE:
        return told + "within 10 %, well judged."
    return (
        told + f"the prediction was too {'low' if ratio > 1 else 'high'} by a factor of "
        f"{number(max(ratio, 1 / ratio))}."
    )


def parse(value: float | str) -> float:
    """A number from what a learner types: "12", "1,500", "1.5e3", "about 12 ms". Raises LabError."""
    if isinstance(value, str):
        found = _NUMBER.findall(value)
        if len(found) != 1:
            raise LabError(f"{value!r} is not one number: write it like 12, 0.5 or 1500")
        decimal = re.sub(r"^(\d+),(\d{1,2})$", r"\1.\2", found[0])
        value = float(re.sub(r"[,_ ]", "", decimal))
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise LabError(f"{value!r} is no finite number: write it like 12, 0.5 or 1500")
    return float(value)


def _entry(key: str) -> dict[str, Any]:
    return dict(store.read()["predictions"].get(key, {}))


def _draw(question: str, predicted: float | None, measured: float, unit: str, verdict: str) -> Picture:
    rows = [("you predicted", predicted, "predicted"), ("measured", measured, "measured")]
    shown = [(label, value, concept) for label, value, concept in rows if value is not None]
    with style.drawing():
        figure = style.figure(height=1.5 + 0.45 * len(shown))
        axes = figure.subplots()
        for place, (_, value, concept) in enumerate(shown):
            look = style.concept(concept)
            axes.barh(place, value, color=look.colour, hatch=look.hatch, height=0.6)
            axes.annotate(f" {number(value)} {unit}", (max(value, 0), place), va="center")
        axes.set_yticks(range(len(shown)), [row[0] for row in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(unit)
        axes.grid(visible=False, axis="y")
        axes.set_title(f"{question}\n{verdict}", fontsize=10.5, fontweight="normal", wrap=True)
        _fit(axes, [row[1] for row in shown])
    return Picture(figure, f"{question} {verdict}")


def _fit(axes: "Axes", values: list[float]) -> None:
    if min(values) > 0 and max(values) > LOG_FROM * min(values):
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 3, max(values) * 6)
    else:
        axes.set_xlim(min(0, *values), max(values) * 1.25)


def _widgets(prediction: Prediction) -> Any:
    from ipywidgets import HTML, Button, HBox, Text, VBox

    kept = prediction.value
    entry = Text(
        value="" if kept is None else number(kept).replace(",", ""), description=f"Your prediction ({prediction.unit})",
        placeholder="a number", style={"description_width": "initial"}, tooltip=prediction.question,
    )  # fmt: skip
    button = Button(description="Commit", tooltip="Keep this prediction")
    status = HTML("" if kept is None else _said(f"You predicted {number(kept)} {prediction.unit}."))

    def commit(_: Any) -> None:
        try:
            status.value = _said(prediction.commit(entry.value).text)
        except LabError as error:
            status.value = _said(str(error), "alert")

    button.on_click(commit)
    return VBox(
        [HTML(f"<strong>Predict.</strong> {escape(prediction.question)}"), HBox([entry, button]), status]
    )


def _said(text: str, role: str = "status") -> str:
    return f'<div role="{role}" style="line-height:1.4;white-space:normal">{escape(text)}</div>'
