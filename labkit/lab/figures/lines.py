"""Lines over a common axis: latency per token position, a sweep of the batch size, and the like."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from labkit.lab import style
from labkit.lab.errors import LabError
from labkit.lab.figures.bars import number
from labkit.lab.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scale = Literal["linear", "log"]


def lines(
    series: Mapping[str, Sequence[float]],
    *,
    x: Sequence[float] | None = None,
    x_label: str = "token position",
    y_label: str = "milliseconds",
    title: str = "",
    scale: Scale = "linear",
    limit: float | None = None,
    limit_label: str = "limit",
    concepts: Mapping[str, str] | None = None,
) -> Picture:
    """One line a series, over `x` (default 1, 2, 3 …); `scale` is that of both axes; `limit` is a dashed line across.

    `concepts` names the concept of a series by its label; the others take the course's colours in order.
    Raises LabError if a series is empty or longer than `x`.
    """
    _check(series, x)
    with style.drawing():
        figure = style.figure(height=3.6)
        axes = figure.subplots()
        for (label, values), concept in zip(series.items(), _concepts(series, concepts or {}), strict=True):
            look = style.concept(concept)
            marks = look.marker if len(values) <= 40 else ""
            at = list(x)[: len(values)] if x is not None else range(1, len(values) + 1)
            axes.plot(at, values, color=look.colour, linestyle=look.dash, marker=marks, label=label)
        if limit is not None:
            look = style.concept("limit")
            axes.axhline(
                limit,
                color=look.colour,
                linestyle=look.dash,
                linewidth=1.6,
                label=f"{limit_label}: {number(limit)}",
            )
        axes.set(xlabel=x_label, ylabel=y_label, title=title, xscale=scale, yscale=scale)
        if scale == "linear":
            axes.set_ylim(bottom=0)
        else:
            _plain_ticks(axes, x)
        figure.legend(loc="outside lower left", ncols=3)
    return Picture(figure, _alt(series, x, x_label, y_label, title, limit, limit_label))


def _plain_ticks(axes: "Axes", x: Sequence[float] | None) -> None:
    """Numbers as people write them on logarithmic axes; the sweep's own values along x where they are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        axis.set_minor_formatter(NullFormatter())
    if x is not None and len(x) <= 12:
        axes.set_xticks(list(x), [number(value) for value in x])
        axes.tick_params(axis="x", which="minor", bottom=False)


def _concepts(series: Mapping[str, Sequence[float]], named: Mapping[str, str]) -> list[str]:
    free = [name for name in style.SEQUENCE if name not in named.values()]
    if len(series) - len(named) > len(free):
        raise LabError(f"{len(series)} lines are too many to tell apart: draw at most {len(style.SEQUENCE)}")
    return [named[label] if label in named else free.pop(0) for label in series]


def _check(series: Mapping[str, Sequence[float]], x: Sequence[float] | None) -> None:
    if not series:
        raise LabError("no lines to draw: give at least one label and its values")
    for label, values in series.items():
        if len(values) == 0:
            raise LabError(f"the line {label!r} has no values")
        if x is not None and len(values) > len(x):
            raise LabError(
                f"the line {label!r} has {len(values)} values for {len(x)} positions on the {'x'} axis"
            )


def _alt(
    series: Mapping[str, Sequence[float]],
    x: Sequence[float] | None,
    x_label: str,
    y_label: str,
    title: str,
    limit: float | None,
    limit_label: str,
) -> str:
    told = "; ".join(
        f"{label}: from {number(values[0])} to {number(values[-1])}, highest {number(max(values))}"
        for label, values in series.items()
    )
    longest = max(len(values) for values in series.values())
    first, last = (x[0], x[longest - 1]) if x is not None else (1, longest)
    tail = f"; {limit_label} {number(limit)}" if limit is not None else ""
    return (
        f"Lines{': ' + title if title else ''}. {y_label} over {x_label} {number(first)} to {number(last)}. "
        f"{told}{tail}."
    )
