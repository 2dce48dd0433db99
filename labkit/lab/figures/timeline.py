"""Requests on a time axis: when each arrived, waited, read its prompt, and wrote each token.

Everything is read from a Trace: the bar from arrival to the first token is the TTFT, the gaps between ticks are the
ITL.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labkit.lab import style
from labkit.lab.errors import LabError
from labkit.lab.figures.bars import number
from labkit.lab.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labkit.engine.trace import RequestRecord, Step, Trace

MOST_ROWS = 24
"""More requests than this are not legible on one picture."""


def timeline(trace: "Trace", *, title: str = "", most: int = MOST_ROWS) -> Picture:
    """One row a request, at most `most` of them: waiting, prefill, then a tick a token. Raises LabError on an empty
    trace.
    """
    requests = list(trace.requests)[:most]
    if not requests:
        raise LabError("the trace has no requests to draw: run something first")
    zero = min(request.arrival for request in requests)
    with style.drawing():
        figure = style.figure(height=1.5 + 0.42 * len(requests) + (0.2 if title else 0))
        axes = figure.subplots()
        for row, request in enumerate(requests):
            _draw_request(axes, row, request, _prefill(trace.steps, request), zero)
        axes.set_yticks(
            range(len(requests)),
            [f"request {r.id}\n{r.prompt_tokens} in, {len(r.token_times)} out" for r in requests],
        )
        axes.tick_params(axis="y", labelsize=8.5)
        axes.set_ylim(len(requests) - 0.5, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set(xlabel="seconds", title=title)
        axes.set_xlim(left=0)
        figure.legend(handles=_legend(), loc="outside lower left", ncols=4)
    return Picture(figure, _alt(requests, len(trace.requests), zero, title))


def _prefill(steps: Sequence["Step"], request: "RequestRecord") -> list[tuple[float, float]]:
    """Spans (start, seconds) in which the request's prompt was read; without step records, all of its TTFT."""
    spans = [(step.start, step.seconds) for step in steps if step.tokens.get(request.id, (0, 0))[0] > 0]
    if not spans and request.token_times:
        spans = [(request.arrival, request.token_times[0] - request.arrival)]
    return spans


def _draw_request(
    axes: "Axes", row: int, request: "RequestRecord", prefill: list[tuple[float, float]], zero: float
) -> None:
    waiting, reading, writing = (style.concept(name) for name in ("wasted", "prefill", "decode"))
    if prefill and prefill[0][0] > request.arrival:
        axes.broken_barh(
            [(request.arrival - zero, prefill[0][0] - request.arrival)],
            (row - 0.12, 0.24),
            facecolor=waiting.colour,
            hatch=waiting.hatch,
        )
    axes.broken_barh(
        [(start - zero, seconds) for start, seconds in prefill], (row - 0.3, 0.6), facecolor=reading.colour
    )
    times = [time - zero for time in request.token_times]
    if times:
        axes.hlines(row, times[0], times[-1], color=writing.colour, linewidth=1.2)
        axes.vlines(times, row - 0.24, row + 0.24, color=writing.colour, linewidth=1.4)
        axes.annotate(
            f"TTFT {_time(request.token_times[0] - request.arrival)}",
            (times[0], row - 0.3),
            xytext=(3, 1),
            textcoords="offset points",
            fontsize=8.5,
            va="bottom",
        )


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    waiting, reading, writing = (style.concept(name) for name in ("wasted", "prefill", "decode"))
    return [
        Patch(facecolor=waiting.colour, hatch=waiting.hatch, label="waiting"),
        Patch(facecolor=reading.colour, label="prefill (reads the prompt)"),
        Line2D([], [], color=writing.colour, marker="|", markersize=9, label="decode (one tick a token)"),
    ]


def _time(seconds: float) -> str:
    return f"{number(seconds * 1000)} ms" if seconds < 1 else f"{number(seconds)} s"


def _alt(requests: Sequence["RequestRecord"], total: int, zero: float, title: str) -> str:
    told = "; ".join(_story(request, zero) for request in requests[:6])
    more = f" Shown: {len(requests)} of {total} requests." if total > len(requests) else ""
    rest = f"; and {len(requests) - 6} more" if len(requests) > 6 else ""
    return f"Timeline{': ' + title if title else ''}. {told}{rest}.{more}"


def _story(request: "RequestRecord", zero: float) -> str:
    times = request.token_times
    if not times:
        return f"request {request.id} arrives at {_time(request.arrival - zero)} and writes nothing"
    tpot = f", then {_time((times[-1] - times[0]) / (len(times) - 1))} per token" if len(times) > 1 else ""
    return (
        f"request {request.id} arrives at {_time(request.arrival - zero)}, reads {request.prompt_tokens} tokens, "
        f"writes its first after {_time(times[0] - request.arrival)}{tpot}, {len(times)} in all"
    )
