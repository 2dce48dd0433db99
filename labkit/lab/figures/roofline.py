"""The roofline: how fast an operation can run, given how many floating point operations it does per byte it reads.

Left of the ridge a machine waits for memory, and the roof rises with intensity; right of it the machine computes as
fast as it can, and the roof is flat. The roof is drawn with `labkit.simulate.roofline`, so an exercise plugged in there
changes it. Williams, Waterman and Patterson, "Roofline" (2009).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.lab import style
from labkit.lab.errors import LabError
from labkit.lab.figures.bars import number
from labkit.lab.picture import Picture
from labkit.simulate.roofline import attainable, ridge

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Roof:
    """One machine: its peak in FLOP per second and its memory bandwidth in bytes per second."""

    name: str
    flops_per_second: float
    bytes_per_second: float

    @property
    def ridge(self) -> float:
        """Intensity in FLOP per byte from which the machine is compute-bound."""
        return ridge(self.flops_per_second, self.bytes_per_second)

    def attainable(self, intensity: float) -> float:
        """FLOP per second under the roof, at an intensity in FLOP per byte."""
        return attainable(intensity, self.flops_per_second, self.bytes_per_second)


@dataclass(frozen=True)
class Point:
    """One operation: its intensity in FLOP per byte and, if it was measured, the FLOP per second it reached."""

    label: str
    intensity: float
    achieved: float | None = None
    concept: str = "measured"


_DASHES = ("-", "--", "-.", ":")
_GREYS = ("#111111", "#555555", "#777777", "#555555")


def roofline(roofs: Sequence[Roof] | Roof, points: Sequence[Point] = (), *, title: str = "") -> Picture:
    """Roofs of one or more machines with operations under the first; a point not measured is drawn hollow, on the roof.

    Raises LabError for no machine, or numbers that are not above zero.
    """
    roofs = [roofs] if isinstance(roofs, Roof) else list(roofs)
    _check(roofs, points)
    low, high = _span(roofs, points)
    with style.drawing():
        figure = style.figure(height=4.4)
        axes = figure.subplots()
        axes.set(xscale="log", yscale="log", xlim=(low, high), title=title)
        axes.set(xlabel="arithmetic intensity (FLOP per byte)", ylabel="FLOP per second")
        for index, roof in enumerate(roofs):
            _draw_roof(axes, roof, index, low, high)
        for point in points:
            _draw_point(axes, point, roofs[0])
        axes.set_ylim(bottom=_floor(roofs, points, low), top=max(roof.flops_per_second for roof in roofs) * 4)
        figure.legend(loc="outside lower left", ncols=2)
    return Picture(figure, _alt(roofs, points, title))


def _draw_roof(axes: "Axes", roof: Roof, index: int, low: float, high: float) -> None:
    colour, dash = _GREYS[index % len(_GREYS)], _DASHES[index % len(_DASHES)]
    at = [low, roof.ridge, high]
    label = f"{roof.name}: ridge {number(roof.ridge)} FLOP/byte"
    axes.plot(at, [roof.attainable(i) for i in at], color=colour, linestyle=dash, label=label)
    axes.plot([roof.ridge], [roof.flops_per_second], marker="|", markersize=14, color=colour)
    if index == 0:
        axes.axvspan(low, roof.ridge, color="#f0f4fa", zorder=0)
        for left, says in ((low, "waits for memory"), (roof.ridge, "computes")):
            axes.text(
                left * 1.15, 0.94, says, transform=axes.get_xaxis_transform(), fontsize=9.5, color="#444444"
            )


def _draw_point(axes: "Axes", point: Point, roof: Roof) -> None:
    look, reached = style.concept(point.concept), point.achieved or roof.attainable(point.intensity)
    axes.plot(
        [point.intensity],
        [reached],
        linestyle="",
        marker=look.marker,
        markersize=9,
        markeredgecolor=look.colour,
        markerfacecolor=look.colour if point.achieved else "white",
        markeredgewidth=2,
        zorder=5,
        label=_told(point, roof),
    )


def _told(point: Point, roof: Roof) -> str:
    if point.achieved is None:
        return f"{point.label} (at the limit)"
    return f"{point.label}: {point.achieved / roof.attainable(point.intensity):.0%} of its limit"


def _span(roofs: Sequence[Roof], points: Sequence[Point]) -> tuple[float, float]:
    marks = [roof.ridge for roof in roofs] + [point.intensity for point in points]
    return min(marks) / 6, max(marks) * 8


def _floor(roofs: Sequence[Roof], points: Sequence[Point], low: float) -> float:
    lowest = [roof.attainable(low) for roof in roofs] + [point.achieved for point in points if point.achieved]
    return min(lowest) / 2


def _check(roofs: Sequence[Roof], points: Sequence[Point]) -> None:
    if not roofs:
        raise LabError("a roofline needs at least one machine: give a Roof")
    for roof in roofs:
        if not (roof.flops_per_second > 0 and roof.bytes_per_second > 0):
            raise LabError(f"the roof of {roof.name!r} needs FLOP/s and bytes/s above zero, got {roof}")
    for point in points:
        if not point.intensity > 0 or (point.achieved is not None and not point.achieved > 0):
            raise LabError(
                f"the point {point.label!r} needs an intensity (and FLOP/s, if measured) above zero, got {point}"
            )


def _alt(roofs: Sequence[Roof], points: Sequence[Point], title: str) -> str:
    machines = "; ".join(f"{roof.name} has its ridge at {number(roof.ridge)} FLOP per byte" for roof in roofs)
    first = roofs[0]
    told = "; ".join(
        f"{_told(point, first)}, at {number(point.intensity)} FLOP per byte, "
        f"{'waiting for memory' if point.intensity < first.ridge else 'limited by compute'}"
        for point in points
    )
    below = f" On {first.name}: {told}." if told else ""
    return f"Roofline{': ' + title if title else ''}. {machines}.{below}"
