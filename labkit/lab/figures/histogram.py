"""Histograms of latencies, one below the other on a common axis: the shape shows what a mean hides.

A tail is what users remember, so the median and the 99th percentile are marked.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from labkit.engine.metrics import percentile
from labkit.lab import style
from labkit.lab.errors import LabError
from labkit.lab.figures.bars import LOG_FROM, number
from labkit.lab.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 36


def histogram(
    series: Mapping[str, Sequence[float]],
    *,
    x_label: str = "milliseconds",
    y_label: str = "count",
    title: str = "",
    concepts: Mapping[str, str] | None = None,
) -> Picture:
    """One panel a series, all with the same bins; logarithmic ones where the values span more than a factor of 30.

    `concepts` names the concept of a series by its label; others are neutral. Raises LabError if there is nothing to
    draw, or a value is negative or no finite number.
    """
    _check(series)
    edges, log = _edges([value for values in series.values() for value in values])
    with style.drawing():
        figure = style.figure(height=1.1 + 1.25 * len(series))
        panels = figure.subplots(len(series), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (label, values) in zip(panels, series.items(), strict=True):
            _draw(axes, label, values, edges, style.concept((concepts or {}).get(label, "neutral")))
            axes.set_ylabel(y_label)
        _axis(panels[-1], log)
        panels[-1].set_xlabel(x_label)
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return Picture(figure, _alt(series, x_label, title))


def _draw(
    axes: "Axes", label: str, values: Sequence[float], edges: Sequence[float], look: style.Concept
) -> None:
    axes.hist(values, bins=list(edges), color=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0.3)
    for share, dash in ((0.5, "-"), (0.99, "--")):
        axes.axvline(
            percentile(values, share), color=style.concept("limit").colour, linestyle=dash, linewidth=1.3
        )
    axes.set_title(_told(label, values), fontsize=9.5, fontweight="normal", pad=3)


def _told(label: str, values: Sequence[float]) -> str:
    median, tail = (number(percentile(values, share)) for share in (0.5, 0.99))
    return f"{label}: median {median} (line), 99 % at or below {tail} (dashed)"


def _edges(values: Sequence[float]) -> tuple[list[float], bool]:
    low, high = min(values), max(values)
    if low > 0 and high > LOG_FROM * low:
        return [low * (high / low) ** (i / BINS) for i in range(BINS)] + [high], True
    high = high or 1.0
    return [high * i / BINS for i in range(BINS)] + [high], False


def _axis(axes: "Axes", log: bool) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())


def _check(series: Mapping[str, Sequence[float]]) -> None:
    if not series:
        raise LabError("no histograms to draw: give at least one label and its values")
    for label, values in series.items():
        if len(values) == 0:
            raise LabError(f"the histogram {label!r} has no values")
        wrong = [value for value in values if not (math.isfinite(value) and value >= 0)]
        if wrong:
            raise LabError(f"the histogram {label!r} has the value {wrong[0]!r}: need finite numbers >= 0")


def _alt(series: Mapping[str, Sequence[float]], x_label: str, title: str) -> str:
    told = "; ".join(
        f"{label}: {len(values)} values, median {number(percentile(values, 0.5))}, 99 % at or below "
        f"{number(percentile(values, 0.99))}, largest {number(max(values))}"
        for label, values in series.items()
    )
    return f"Histograms{': ' + title if title else ''}. In {x_label}. {told}."
