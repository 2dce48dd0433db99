"""Notebook 04: one engine under five schedulers, the rows a batch wastes, and the time users wait."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from labkit.bench.timing import Timing, interleaved
from labkit.engine.metrics import busy_seconds, gaps, waits
from labkit.engine.request import Request
from labkit.engine.trace import Trace
from labkit.lab.experiments.serving import MEAN_TOKENS, SEATS, requests, serve
from labkit.lab.figures.bars import bars
from labkit.lab.figures.histogram import histogram
from labkit.lab.figures.lines import lines
from labkit.lab.figures.slots_gantt import slots_gantt
from labkit.lab.picture import Picture
from labkit.lab.widgets.job import Report, unheard
from labkit.model.load import LanguageModel
from labkit.model.presets import preset
from labkit.simulate.hardware import hardware
from labkit.simulate.roofline import decode_work, floor_seconds
from labkit.workload import lengths

CONCEPTS = {
    "sequential": "draft",
    "static": "wasted",
    "dynamic": "cached",
    "continuous": "decode",
    "chunked": "prefill",
}


def draw_seats(traces: Mapping[str, Trace]) -> Picture:
    """The seats over the time."""
    return slots_gantt(traces, over="seconds")


def draw_ttft(traces: Mapping[str, Trace]) -> Picture:
    """How long users waited for their first token, by scheduler."""
    series = {name: [1000 * wait for wait in waits(trace)] for name, trace in traces.items()}
    return histogram(
        series, x_label="TTFT, milliseconds", y_label="requests", concepts=_concepts(series),
        title="Time to first token",
    )  # fmt: skip


def draw_itl(traces: Mapping[str, Trace]) -> Picture:
    """The gaps between the tokens that users saw, by scheduler."""
    series = {name: [1000 * gap for gap in gaps(trace)] for name, trace in traces.items()}
    return histogram(
        series, x_label="ITL, milliseconds", y_label="gaps", concepts=_concepts(series),
        title="Time between tokens",
    )  # fmt: skip


def static_share(outputs: Sequence[int], seats: int = SEATS) -> float:
    """The same share for static batches of these outputs in this order, from the lengths alone: mean over maximum.

    An output's first token comes out of its prompt, so a length of n takes n − 1 decode rows.
    """
    rows = [tokens - 1 for tokens in outputs]
    batches = [rows[first : first + seats] for first in range(0, len(rows), seats)]
    computed = sum(len(batch) * max(batch) for batch in batches)
    return sum(rows) / computed if computed else 1.0


def race(
    lm: LanguageModel,
    asked: Sequence[Request],
    runners: Mapping[str, Mapping[str, Any]],
    seats: int = SEATS,
    repeats: int = 3,
) -> dict[str, Timing]:
    """Computing time of the same requests under several schedulers, in turns; a runner is options of `serve`."""

    def run(options: Mapping[str, Any]) -> Callable[[], float]:
        return lambda: busy_seconds(serve(lm, asked, seats=seats, **options))

    return interleaved({name: run(options) for name, options in runners.items()}, repeats)


def draw_race(timings: Mapping[str, Timing], title: str) -> Picture:
    """Computing time of each runner, median."""
    values = {name: timing.median * 1000 for name, timing in timings.items()}
    return bars(values, unit="ms", title=title, concepts=_concepts(values))


@dataclass(frozen=True)
class Limit:
    """Tokens a second: `full` with every row of every step useful, `static_share` of it what static can reach; and what
    both made of the same requests.
    """

    seats: int
    full: float
    static_share: float
    static: float
    continuous: float


def step_seconds(lm: LanguageModel, seats: int, tokens: int = MEAN_TOKENS) -> float:
    """Median time of a decode step with `seats` useful rows, in the engine."""
    trace = serve(lm, requests(lm, lengths.fixed(seats, tokens)), seats=seats)
    return median(step.seconds for step in trace.steps[1:])


def limit(lm: LanguageModel, outputs: Sequence[int], seats: int = SEATS) -> Limit:
    """The ceiling from the time of a full step, then both schedulers on a backlog of these outputs, in turns."""
    full = seats / median(step_seconds(lm, seats) for _ in range(3))
    runners = {name: {"scheduler": name} for name in ("static", "continuous")}
    timings = race(lm, requests(lm, outputs), runners, seats)
    rates = {name: sum(outputs) / timing.median for name, timing in timings.items()}
    return Limit(seats, full, static_share(outputs, seats), rates["static"], rates["continuous"])


def draw_limit(found: Limit) -> Picture:
    """Both schedulers under the ceiling."""
    values = {
        "static, at most": found.full * found.static_share,
        "static, measured": found.static,
        "continuous, measured": found.continuous,
    }
    continuous, static = (rate / found.full for rate in (found.continuous, found.static))
    return bars(
        values, unit="tokens/s", limit=found.full, limit_label=f"all {found.seats} rows useful",
        title=f"Continuous reaches {continuous:.0%} of the ceiling, static {static:.0%}",
        concepts={"static, at most": "predicted", "static, measured": "wasted", "continuous, measured": "decode"},
    )  # fmt: skip


def batch_sizes(lm: LanguageModel, sizes: Sequence[int], progress: Report = unheard) -> dict[int, float]:
    """Median time of a decode step by the number of its rows, seconds."""
    found = {}
    for done, seats in enumerate(sizes, start=1):
        found[seats] = step_seconds(lm, seats)
        progress(done, len(sizes), f"{seats} rows")
    return found


def draw_batch_sizes(found: Mapping[int, float]) -> Picture:
    """Tokens a second over the rows of a step."""
    return lines(
        {"every row useful": [rows / seconds for rows, seconds in found.items()]}, x=list(found), scale="log",
        x_label="seats (rows of a decode step)", y_label="output tokens per second",
        title="What a full batch can give", concepts={"every row useful": "limit"},
    )  # fmt: skip


def on_gpu(outputs: Sequence[int], shape: str, gpu: str, seats: int, context: int) -> dict[str, float]:
    """The most tokens a second from a GPU's specification: each scheduler's useful share of a full decode step."""
    device = hardware(gpu)
    seconds = floor_seconds(
        decode_work(preset(shape), seats, context), device.peak(), device.bytes_per_second
    )
    share = 1 / lengths.waste_ratio(outputs, seats)
    return {"static": share * seats / seconds, "continuous": seats / seconds}


def draw_on_gpu(found: Mapping[str, float], title: str) -> Picture:
    """Both ceilings on a GPU."""
    return bars(found, unit="tokens/s", title=title, concepts=dict.fromkeys(found, "predicted"))


@dataclass(frozen=True)
class Decision:
    """The answer to the tree's question for a workload: what static batching wastes, and whether requests overlap."""

    outputs: Sequence[int]
    seats: int
    waste: float
    overlap: float
    text: str


def decide(outputs: Sequence[int], seats: int, per_second: float, seconds: float) -> Decision:
    """Waste ratio of these output lengths at this batch size, and how many requests are under way at a time: their rate
    times the `seconds` each takes (Little's law).
    """
    waste, overlap = lengths.waste_ratio(outputs, seats), per_second * seconds
    return Decision(outputs, seats, waste, overlap, _verdict(waste, overlap, seats, fmean(outputs)))


def _verdict(waste: float, overlap: float, seats: int, mean: float) -> str:
    measured = (
        f"Outputs have {mean:.0f} tokens on average; the longest of {seats} has {waste:.1f} times as many. About "
        f"{overlap:.1f} requests are under way at a time."
    )
    if overlap < MOSTLY_ALONE:
        return f"{measured} There is nobody to batch with: go on to question 5, the time per token."
    if waste < HARDLY_WASTED:
        return (
            f"{measured} Static batches waste little; continuous ones still let newcomers in without a wait."
        )
    return (
        f"{measured} A static batch computes {waste:.1f} rows for each useful one, so batching at every step gives up "
        f"to {waste:.1f} times the throughput: turn it on, then see whether memory caps the batch (question 4)."
    )


MOSTLY_ALONE = 1.5
"""With fewer requests than this under way at a time, a batch is mostly one request (our choice)."""
HARDLY_WASTED = 1.2
"""Up to this waste ratio the gain in throughput is hardly worth a change (our choice)."""


def draw_decision(found: Decision) -> Picture:
    """Rows computed for each useful one, by batch size."""
    sizes = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    series = {
        "static, your lengths": [lengths.waste_ratio(found.outputs, size) for size in sizes],
        "continuous": [1.0] * len(sizes),
    }
    return lines(
        series, x=sizes, x_label="batch (seats)", y_label="rows computed for each useful one", scale="log",
        title=f"Waste at {found.seats} seats: {found.waste:.2f}",
        concepts={"static, your lengths": "wasted", "continuous": "decode"},
    )  # fmt: skip


def _concepts(series: Mapping[str, Any]) -> dict[str, str]:
    return {name: CONCEPTS[kind] for name in series for kind in CONCEPTS if name.startswith(kind)}
