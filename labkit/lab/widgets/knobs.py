"""Knobs of an experiment: what a learner may turn, with its values, unit and meaning.

A knob knows its values without any widget, so the same experiment can be called as a function and be tested. Sliders
report only when let go: most experiments take longer than a frame.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from labkit.lab.errors import LabError

WIDE = {"description_width": "13em"}
_LAYOUT = {"width": "36em", "max_width": "100%"}


class Knob(Protocol):
    """One thing to turn. `label` is shown before it, `about` when pointed at."""

    @property
    def start(self) -> Any:
        """The value it has at first."""

    def check(self, name: str, value: Any) -> Any:
        """The value, if the knob can take it; LabError names the knob, the value and what it takes."""

    def widget(self, name: str) -> Any:
        """A labelled control whose `.value` is the knob's value."""


@dataclass(frozen=True)
class Range:
    """A number between `low` and `high` inclusive, in steps: whole numbers if all three are whole."""

    low: float
    high: float
    start: float
    step: float = 1
    label: str = ""
    unit: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        if not (self.low <= self.start <= self.high and self.step > 0):
            raise LabError(f"a range needs low <= start <= high and a step above zero, got {self}")

    @property
    def whole(self) -> bool:
        return all(float(value).is_integer() for value in (self.low, self.high, self.start, self.step))

    def check(self, name: str, value: Any) -> Any:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not self.low <= value <= self.high
        ):
            raise LabError(f"{name} = {value!r}: takes {self.low} to {self.high} {self.unit}".rstrip())
        if self.whole and int(value) != value:
            raise LabError(f"{name} = {value!r}: takes whole numbers")
        return int(value) if self.whole else float(value)

    def widget(self, name: str) -> Any:
        from ipywidgets import FloatSlider, IntSlider

        kind, number = (IntSlider, int) if self.whole else (FloatSlider, float)
        return kind(
            min=number(self.low), max=number(self.high), step=number(self.step), value=number(self.start),
            continuous_update=False, **_labelled(name, self.label, self.unit, self.about),
        )  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """One of a few named options, as a drop-down list; the first is the start unless `first` says otherwise."""

    options: Sequence[Any]
    first: Any = None
    label: str = ""
    unit: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        if not self.options or (self.first is not None and self.first not in self.options):
            raise LabError(
                f"a choice needs options, and starts at one of them: got {self.first!r} of {list(self.options)}"
            )

    @property
    def start(self) -> Any:
        return self.options[0] if self.first is None else self.first

    def check(self, name: str, value: Any) -> Any:
        if value not in self.options:
            raise LabError(f"{name} = {value!r}: takes one of {', '.join(map(repr, self.options))}")
        return value

    def widget(self, name: str) -> Any:
        from ipywidgets import Dropdown

        return Dropdown(
            options=[(str(option), option) for option in self.options],
            value=self.start,
            **_labelled(name, self.label, self.unit, self.about),
        )


@dataclass(frozen=True)
class Steps(Choice):
    """One of a few values in order, as a slider: powers of two, for instance."""

    def widget(self, name: str) -> Any:
        from ipywidgets import SelectionSlider

        return SelectionSlider(
            options=[(str(option), option) for option in self.options],
            value=self.start,
            continuous_update=False,
            **_labelled(name, self.label, self.unit, self.about),
        )


@dataclass(frozen=True)
class Toggle:
    """On or off."""

    start: bool = False
    label: str = ""
    about: str = ""

    def check(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise LabError(f"{name} = {value!r}: takes True or False")
        return value

    def widget(self, name: str) -> Any:
        from ipywidgets import Checkbox

        return Checkbox(value=self.start, **_labelled(name, self.label, "", self.about))


def _labelled(name: str, label: str, unit: str, about: str) -> dict[str, Any]:
    text = (label or name.replace("_", " ")) + (f" ({unit})" if unit else "")
    return {"description": text, "tooltip": about or text, "style": WIDE, "layout": _LAYOUT}
