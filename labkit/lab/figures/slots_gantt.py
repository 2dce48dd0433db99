"""The seats of a batch over time: who sat where, who read, who wrote, and what was computed for nobody.

A trace knows when a sequence joined and when it finished, but no seats. They are found again here: a newcomer takes the
lowest free seat. A finished sequence leaves it at once where the scheduler lets it go; where the batch still counts it
as running, the seat is held and its row is wasted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from labkit.lab import style
from labkit.lab.errors import LabError
from labkit.lab.figures.bars import number
from labkit.lab.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labkit.engine.trace import Event, Step, Trace

Use = Literal["prefill", "decode", "wasted", "held"]
"""What a seat does in a step: its sequence reads, or writes; its row is computed for nobody; its sequence computes
nothing this time.
"""
Over = Literal["step", "seconds"]
"""What the horizontal axis counts."""
LOOKS: dict[Use, tuple[str, str]] = {
    "prefill": ("prefill", "prefill"),
    "decode": ("decode", "decode"),
    "wasted": ("wasted", "wasted (computed for nobody)"),
    "held": ("draft", "held (waits for a turn)"),
}
MOST_SEATS = 16
"""More seats than this are not legible on one picture."""


@dataclass(frozen=True)
class Span:
    """A stretch of one use by one sequence, from step `first` up to and without step `end`."""

    seat: int
    id: str
    use: Use
    first: int
    end: int


def spans(steps: Sequence["Step"]) -> list[Span]:
    """What every seat did, as few stretches as possible, in order of their beginning."""
    seats: dict[str, int] = {}
    done: set[str] = set()
    open_: dict[int, Span] = {}
    closed: list[Span] = []
    for index, step in enumerate(steps):
        _reseat(step, seats, done)
        for id_, seat in seats.items():
            use, last = _use(step, id_, done), open_.get(seat)
            if last and (last.id, last.use, last.end) == (id_, use, index):
                open_[seat] = Span(seat, id_, use, last.first, index + 1)
            else:
                closed += [last] if last else []
                open_[seat] = Span(seat, id_, use, index, index + 1)
        done |= {event.id for event in _ends(step)}
    return sorted([*closed, *open_.values()], key=lambda span: (span.first, span.seat))


def slots_gantt(
    traces: "Trace | Mapping[str, Trace]", *, over: Over = "step", title: str = "", seats: int = 1
) -> Picture:
    """One row a seat, coloured by use, over the steps or over the time; a white line where a sequence takes over.

    Several traces, by label, are drawn one below the other on a common axis. Each has at least `seats` rows, and at
    most MOST_SEATS. Raises LabError on a trace without steps.
    """
    named = dict(traces) if isinstance(traces, Mapping) else {"": traces}
    if not named or not all(trace.steps for trace in named.values()):
        raise LabError("the trace has no steps to draw: run something first")
    found = {label: spans(trace.steps) for label, trace in named.items()}
    rows = {label: _rows(spans_, seats) for label, spans_ in found.items()}
    with style.drawing():
        figure = style.figure(height=0.9 + sum(0.55 + 0.24 * count for count in rows.values()))
        panels = figure.subplots(
            len(named), 1, sharex=True, squeeze=False, height_ratios=[count + 1 for count in rows.values()]
        )[:, 0]
        for axes, (label, trace) in zip(panels, named.items(), strict=True):
            for span in found[label]:
                if span.seat < rows[label]:
                    _draw(axes, span, *_edges(trace.steps, span, over))
            _frame(axes, label or title, rows[label])
        panels[0].set_xlim(0, max(_end(trace.steps, over) for trace in named.values()))
        panels[-1].set_xlabel("step of the engine" if over == "step" else "seconds")
        if title and "" not in named:
            figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        figure.legend(handles=_legend(found), loc="outside lower left", ncols=4)
    told = " ".join(_told(label, named[label].steps, found[label], rows[label]) for label in named)
    return Picture(figure, f"Seats over time{': ' + title if title else ''}. {told}")


def _rows(found: Sequence[Span], seats: int) -> int:
    return min(max(seats, 1 + max(span.seat for span in found)), MOST_SEATS)


def _frame(axes: "Axes", title: str, rows: int) -> None:
    axes.set_yticks(range(rows), [str(row + 1) for row in range(rows)])
    axes.tick_params(axis="y", labelsize=8.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.grid(visible=False)
    axes.set_ylabel("seat")
    axes.set_title(title, fontsize=11)


def _reseat(step: "Step", seats: dict[str, int], done: set[str]) -> None:
    """Seats at the beginning of a step: whoever left is gone, whoever joined has one."""
    joined = [event.id for event in step.events if event.kind == "admit"]
    left = {event.id for event in step.events if event.kind == "preempt"} | set(_left_before(step))
    staying = [id_ for id_ in seats if id_ not in done and id_ not in left]
    held = step.running > len(staying) + len(joined)
    for id_ in [id_ for id_ in seats if id_ in left or (id_ in done and not held)]:
        seats.pop(id_)
        done.discard(id_)
    for id_ in joined:
        taken = set(seats.values())
        seats[id_] = next(seat for seat in range(len(taken) + 1) if seat not in taken)


def _use(step: "Step", id_: str, done: set[str]) -> Use:
    if id_ in done:
        return "wasted"
    prefill, decode = step.tokens.get(id_, (0, 0))
    if prefill:
        return "prefill"
    return "decode" if decode else "held"


def _ends(step: "Step") -> list["Event"]:
    return [event for event in step.events if event.kind == "finish" and event.id in step.tokens]


def _left_before(step: "Step") -> list[str]:
    """Those who were cancelled since the last step."""
    return [event.id for event in step.events if event.kind == "finish" and event.id not in step.tokens]


def _edges(steps: Sequence["Step"], span: Span, over: Over) -> tuple[float, float]:
    if over == "step":
        return span.first, span.end
    return steps[span.first].start, _end(steps[: span.end], over)


def _end(steps: Sequence["Step"], over: Over) -> float:
    return len(steps) if over == "step" else steps[-1].start + steps[-1].seconds


def _draw(axes: "Axes", span: Span, left: float, right: float) -> None:
    look = style.concept(LOOKS[span.use][0])
    axes.broken_barh(
        [(left, right - left)], (span.seat - 0.4, 0.8), facecolor=look.colour, hatch=look.hatch,
        edgecolor="white", linewidth=0.5,
    )  # fmt: skip


def _legend(found: Mapping[str, Sequence[Span]]) -> list[Any]:
    from matplotlib.patches import Patch

    uses = {span.use for spans_ in found.values() for span in spans_}
    looks = {use: style.concept(name) for use, (name, _) in LOOKS.items() if use in uses}
    return [
        Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0.5, label=LOOKS[use][1])
        for use, look in looks.items()
    ]


def _told(label: str, steps: Sequence["Step"], found: Sequence[Span], rows: int) -> str:
    cells = dict.fromkeys(LOOKS, 0)
    for span in found:
        cells[span.use] += span.end - span.first
    used, total = 1 + max(span.seat for span in found), sum(cells.values())
    shares = ", ".join(f"{count / total:.0%} {use}" for use, count in cells.items() if count)
    cut = f" Shown: {rows} of {used} seats." if used > rows else ""
    return (
        f"{label + ': ' if label else ''}{used} seats, {len(steps)} steps, {number(_end(steps, 'seconds'))} seconds; "
        f"taken seats are {shares}; {1 - total / (used * len(steps)):.0%} of all places are empty.{cut}"
    )
