"""What users feel and operators pay for, computed from a trace. Seconds and tokens; None where undefined.

Tools disagree on some of these; each docstring says whose definition it is.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from labkit.engine.trace import RequestRecord, Trace

# Of one request


def ttft(request: RequestRecord) -> float | None:
    """Time to first token, seconds: from arrival (queueing included) to the first output token; the same in vLLM's,
    SGLang's and genai-perf's benchmarks.
    """
    return request.token_times[0] - request.arrival if request.token_times else None


def e2e(request: RequestRecord) -> float | None:
    """End-to-end latency, seconds: from arrival to the last output token, as vLLM's and SGLang's benchmarks do."""
    return request.token_times[-1] - request.arrival if request.token_times else None


def tpot(request: RequestRecord) -> float | None:
    """Time per output token after the first, seconds: (E2E − TTFT) / (n − 1), as vLLM's and SGLang's
    benchmarks do.
    """
    times = request.token_times
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None


def itl(request: RequestRecord) -> list[float]:
    """Inter-token latencies, seconds: the n − 1 gaps between output tokens (pool them over requests, as vLLM
    does).
    """
    times = request.token_times
    return [later - earlier for earlier, later in pairwise(times)]


def queue_time(request: RequestRecord) -> float | None:
    """Seconds from arrival to the beginning of the first step that computed any of it."""
    return None if request.started is None else request.started - request.arrival


# Of a run


@dataclass(frozen=True)
class Summary:
    """A latency over all requests, seconds: its mean, and what 50, 90 and 99 % of the requests do not exceed."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summary(values: Sequence[float]) -> Summary | None:
    """Mean and percentiles; None without values."""
    if not values:
        return None
    return Summary(len(values), fmean(values), *(percentile(values, share) for share in (0.5, 0.9, 0.99)))


def latencies(trace: Trace) -> dict[str, Summary | None]:
    """TTFT, TPOT, ITL, E2E and queue time of a run's requests."""
    return {
        "TTFT": summary(waits(trace)),
        "TPOT": summary(_over(trace, tpot)),
        "ITL": summary(gaps(trace)),
        "E2E": summary(_over(trace, e2e)),
        "queue": summary(_over(trace, queue_time)),
    }


def waits(trace: Trace) -> list[float]:
    """Every request's TTFT, of those that got a token, seconds."""
    return _over(trace, ttft)


def gaps(trace: Trace) -> list[float]:
    """All inter-token latencies of a run, seconds."""
    return [gap for request in trace.requests for gap in itl(request)]


def _over(trace: Trace, metric: Callable[[RequestRecord], float | None]) -> list[float]:
    return [value for request in trace.requests if (value := metric(request)) is not None]


def duration(trace: Trace) -> float:
    """Seconds from the first arrival to the last token; 0 without a token."""
    times = [request.token_times[-1] for request in trace.requests if request.token_times]
    return max(times) - min(request.arrival for request in trace.requests) if times else 0.0


def busy_seconds(trace: Trace) -> float:
    """Time in which a step was computed, seconds."""
    return sum(step.seconds for step in trace.steps)


def output_throughput(trace: Trace) -> float | None:
    """Output tokens per second, over all requests, from the first arrival to the last token (vLLM's benchmark: output
    tokens over the duration of the run).
    """
    return _per_second(trace, sum(len(request.token_times) for request in trace.requests))


def input_throughput(trace: Trace) -> float | None:
    """Prompt tokens per second of the requests that got a token, over the same time."""
    return _per_second(trace, sum(request.prompt_tokens for request in trace.requests if request.token_times))


def _per_second(trace: Trace, count: int) -> float | None:
    seconds = duration(trace)
    return count / seconds if seconds > 0 else None


def computed_tokens(trace: Trace) -> int:
    """Tokens that went through the model, recomputed ones as often as they did: the work that the run really
    took.
    """
    return sum(prefill + decode for step in trace.steps for prefill, decode in step.tokens.values())


# Goodput: two things have this name


@dataclass(frozen=True)
class Slo:
    """A service-level objective, seconds: a request meets it if neither its TTFT nor its TPOT is longer."""

    ttft: float = math.inf
    tpot: float = math.inf

    def met_by(self, request: RequestRecord) -> bool:
        """Whether the request was served, and fast enough. One without a second token has no TPOT to miss."""
        first = ttft(request)
        return first is not None and first <= self.ttft and (tpot(request) or 0.0) <= self.tpot


def attainment(trace: Trace, slo: Slo) -> float | None:
    """Share of all requests, refused ones included, that met the objective."""
    met = [slo.met_by(request) for request in trace.requests]
    return fmean(met) if met else None


def goodput_at_this_rate(trace: Trace, slo: Slo) -> float | None:
    """Goodput, first meaning: requests per second of this run that met the objective (vLLM's benchmark)."""
    return _per_second(trace, sum(slo.met_by(request) for request in trace.requests))


def highest_good_rate(runs: Mapping[float, Trace], slo: Slo, share: float = 0.9) -> float | None:
    """Goodput, second meaning: the highest rate at which at least `share` of the requests meet the objective, and do at
    every lower one that was tried (DistServe, arXiv 2401.09670, §1). `runs`: traces by their rate.
    """
    best = None
    for rate in sorted(runs):
        if (attainment(runs[rate], slo) or 0.0) < share:
            break
        best = rate
    return best


# How full the machine was: means over the computing time


def useful_share(trace: Trace) -> float:
    """Useful rows over computed rows, in the steps in which nobody reads a prompt."""
    steps = [step for step in trace.steps if not any(prefill for prefill, _ in step.tokens.values())]
    useful = sum(decode for step in steps for _, decode in step.tokens.values())
    return useful / (useful + sum(step.padding for step in steps)) if useful else 1.0


def mean_batch(trace: Trace) -> float | None:
    """Sequences that compute something, in the average moment in which anything is computed: the batch's occupancy."""
    return _over_time(trace, [len(step.tokens) for step in trace.steps])


def kv_shares(trace: Trace) -> dict[str, float] | None:
    """Shares of the KV pool by what it is good for (see `labkit.kvcache.manager.Usage`); None without a pool."""
    usages = [step.usage for step in trace.steps if step.usage is not None]
    if len(usages) != len(trace.steps):
        return None
    kinds = ("used", "reserved", "internal", "external", "free")
    shares = {kind: _over_time(trace, [getattr(one, kind) / one.pool for one in usages]) for kind in kinds}
    return {kind: share for kind, share in shares.items() if share is not None} or None


def kv_utilization(trace: Trace) -> float | None:
    """Share of the held or cut-off KV slots that holds a token (PagedAttention, Fig. 2); None without a pool."""
    shares = kv_shares(trace)
    return shares["used"] / (1 - shares["free"]) if shares and shares["free"] < 1 else None


def _over_time(trace: Trace, values: Sequence[float]) -> float | None:
    seconds = busy_seconds(trace)
    if seconds <= 0:
        return None
    return sum(value * step.seconds for value, step in zip(values, trace.steps, strict=True)) / seconds
