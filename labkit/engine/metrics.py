"""What users feel and operators pay for, computed from a trace. Seconds and tokens; None where undefined.

Tools disagree on some of these; each docstring says whose definition it is.
"""

from itertools import pairwise

from labkit.engine.trace import RequestRecord, Trace


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


def output_throughput(trace: Trace) -> float | None:
    """Output tokens per second, over all requests, from the first arrival to the last token (vLLM's benchmark: output
    tokens over the duration of the run).
    """
    times = [time for request in trace.requests for time in request.token_times]
    if not times:
        return None
    seconds = max(times) - min(request.arrival for request in trace.requests)
    return len(times) / seconds if seconds > 0 else None


def computed_tokens(trace: Trace) -> int:
    """Tokens that went through the model, recomputed ones as often as they did: the work that the run really
    took.
    """
    return sum(prefill + decode for step in trace.steps for prefill, decode in step.tokens.values())
