"""Labelled horizontal bars: a comparison of a few numbers, with the limit they are held against."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from labkit.lab import style
from labkit.lab.errors import LabError
from labkit.lab.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_FROM = 30.0
"""Bars whose extremes differ by more than this factor are drawn on a logarithmic scale."""


def bars(
    values: Mapping[str, float],
    *,
    unit: str,
    title: str = "",
    limit: float | None = None,
    limit_label: str = "limit",
    concepts: Mapping[str, str] | None = None,
) -> Picture:
    """One bar a value, in `unit`, in the order given; `limit` is a line across all of them.

    `concepts` names the concept (a colour and hatch of the course) of a bar by its label; others are neutral.
    Raises LabError if there is nothing to draw or a value is negative.
    """
    _check(values)
    concepts = concepts or {}
    with style.drawing():
        figure = style.figure(height=1.0 + 0.42 * len(values) + (0.3 if title else 0))
        axes = figure.subplots()
        for row, (label, value) in enumerate(values.items()):
            look = style.concept(concepts.get(label, "neutral"))
            axes.barh(row, value, color=look.colour, hatch=look.hatch, height=0.62)
            axes.annotate(f" {number(value)} {unit}", (value, row), va="center", fontsize=10)
        if limit is not None:
            _draw_limit(axes, limit, f"{limit_label}: {number(limit)} {unit}", max(values.values()))
        axes.set_yticks(range(len(values)), list(values))
        axes.set_ylim(len(values) - 0.45, -1.0 if limit is not None else -0.55)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(unit)
        axes.set_title(title)
        _scale(axes, [*values.values(), *([limit] if limit else [])])
    return Picture(figure, _alt(values, unit, title, limit, limit_label))


def _draw_limit(axes: "Axes", limit: float, says: str, largest: float) -> None:
    """A dashed line across the bars; its label stands on the side that has room."""
    axes.axvline(limit, color=style.concept("limit").colour, linestyle="--", linewidth=1.6)
    side, shift = ("right", -5) if limit > largest / 2 else ("left", 5)
    axes.annotate(
        says,
        (limit, -0.72),
        xytext=(shift, 0),
        textcoords="offset points",
        ha=side,
        va="center",
        fontsize=9.5,
    )


def number(value: float) -> str:
    """A number for people: three significant digits, thousands separated, no exponent between 0.001 and a million
    million.
    """
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e12 else f"{value:.3g}"
    return f"{value:.3g}"


def _scale(axes: "Axes", values: list[float]) -> None:
    present = [value for value in values if value > 0]
    if len(present) == len(values) and max(present) > LOG_FROM * min(present):
        axes.set_xscale("log")
        axes.set_xlim(min(present) / 3, max(present) * 6)
    else:
        axes.set_xlim(0, max(present, default=1) * 1.22)


def _check(values: Mapping[str, float]) -> None:
    if not values:
        raise LabError("no bars to draw: give at least one label and value")
    for label, value in values.items():
        if not value >= 0:
            raise LabError(
                f"the bar {label!r} has the value {value!r}: bars start at zero and need numbers >= 0"
            )


def _alt(values: Mapping[str, float], unit: str, title: str, limit: float | None, limit_label: str) -> str:
    listed = "; ".join(f"{label} {number(value)} {unit}" for label, value in values.items())
    tail = f"; {limit_label} {number(limit)} {unit}" if limit is not None else ""
    return f"Bars{': ' + title if title else ''}. {listed}{tail}."
