"""Traffic, and an engine that serves it: what the notebooks on batching and on paging have in common.

Rates are given as a load, the share of what this machine can serve at best, so that the same knobs mean the same on a
laptop and on a GPU.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.engine.batch import Batch, Result
from labkit.engine.build import build_engine
from labkit.engine.executor import Executor
from labkit.engine.metrics import gaps, output_throughput, summary, useful_share, waits
from labkit.engine.request import Request
from labkit.engine.sampling import SamplingParams
from labkit.engine.trace import Trace
from labkit.lab.experiments.answers import milliseconds
from labkit.lab.widgets.job import Report, unheard
from labkit.model.load import LanguageModel
from labkit.workload import arrivals, lengths
from labkit.workload.prompts import random_tokens

SEATS, PROMPT_TOKENS, MEAN_TOKENS, REQUESTS = 8, 16, 24, 32
LONGEST = 8 * MEAN_TOKENS


class _Heard:
    """An executor that reports the tokens it has made; a report is where a cancelled run ends."""

    def __init__(self, executor: Executor, total: int, report: Report) -> None:
        self.executor, self.total, self.report, self.done = executor, total, report, 0

    def execute(self, batch: Batch) -> Result:
        """The batch, computed, after a report."""
        self.report(self.done, self.total, f"{self.done} of {self.total} tokens")
        result = self.executor.execute(batch)
        self.done += len(result.tokens)
        return result


def requests(
    lm: LanguageModel,
    outputs: Sequence[int],
    times: Sequence[float] | None = None,
    prompt_tokens: int = PROMPT_TOKENS,
) -> list[Request]:
    """Requests for outputs of exactly these lengths, at these times (default: all at the start); random prompts."""
    prompts = random_tokens([prompt_tokens] * len(outputs), lm.config.vocab_size)
    times = times or arrivals.together(len(outputs))
    return [
        Request(prompt, SamplingParams(max_tokens=tokens, ignore_eos=True), time, expected=tokens)
        for prompt, tokens, time in zip(prompts, outputs, times, strict=True)
    ]


def serve(
    lm: LanguageModel,
    asked: Sequence[Request],
    scheduler: str = "continuous",
    seats: int = SEATS,
    progress: Report = unheard,
    **options: Any,
) -> Trace:
    """The trace of these requests under a scheduler, with memory to spare for `seats` of them."""
    longest = max(len(request.prompt) + request.params.max_tokens for request in asked)
    engine = build_engine(
        lm, scheduler=scheduler, max_sequences=seats, pool_tokens=2 * seats * (longest + 16), **options
    )
    total = sum(request.params.max_tokens for request in asked)
    engine.executor = _Heard(engine.executor, total, progress)
    engine.run(asked)
    return engine.trace


def best_rate(lm: LanguageModel, seats: int = SEATS) -> float:
    """Output tokens a second when every seat is taken and all outputs have one length; the better of two runs."""
    asked = requests(lm, lengths.fixed(2 * seats, MEAN_TOKENS))
    return max(output_throughput(serve(lm, asked, seats=seats)) or 0.0 for _ in range(2))


@dataclass(frozen=True)
class Traffic:
    """What users do: `load` as a share of `best_rate` tokens a second, burstiness of arrivals and spread of output
    lengths as coefficients of variation.
    """

    best_rate: float
    load: float = 1.0
    burstiness: float = 1.0
    spread: float = 1.0
    count: int = REQUESTS

    @property
    def outputs(self) -> list[int]:
        """Output lengths, tokens."""
        return lengths.lognormal(self.count, MEAN_TOKENS, self.spread, LONGEST)

    @property
    def times(self) -> list[float]:
        """Arrival times, seconds."""
        return arrivals.bursty(self.count, self.load * self.best_rate / MEAN_TOKENS, self.burstiness)


def under_load(
    lm: LanguageModel,
    traffic: Traffic,
    schedulers: Sequence[str],
    seats: int = SEATS,
    budget: int = 64,
    progress: Report = unheard,
) -> dict[str, Trace]:
    """The same traffic under each scheduler; `budget` is that of the chunked one, in tokens a step."""
    asked = requests(lm, traffic.outputs, traffic.times)
    return {
        name: serve(
            lm, asked, name, seats, progress, **({"token_budget": budget} if name == "chunked" else {})
        )
        for name in schedulers
    }


def told(traces: Mapping[str, Trace]) -> str:
    """Throughput, useful rows, and the two latencies of each run in a sentence."""
    return "\n".join(f"{name}: {_told(trace)}" for name, trace in traces.items())


def _told(trace: Trace) -> str:
    return (
        f"{output_throughput(trace) or 0:,.0f} tokens a second; {useful_share(trace):.0%} of the decode rows useful; "
        f"TTFT {_spread(waits(trace))}; ITL {_spread(gaps(trace))}."
    )


def _spread(seconds: Sequence[float]) -> str:
    found = summary(seconds)
    if found is None:
        return "undefined"
    return f"median {milliseconds(found.p50)}, 99 % within {milliseconds(found.p99)}"
