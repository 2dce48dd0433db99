"""A run as a timeline that Perfetto (ui.perfetto.dev) and chrome://tracing open: the Trace Event format.

Process 1 is the engine, with a row of steps and counters for queue, batch and KV slots; process 2 has a row for every
output, from its arrival to its last token. Times in the file are microseconds.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.engine.trace import RequestRecord, Step, Trace

ENGINE, REQUESTS = 1, 2
TraceEvent = dict[str, Any]


def save_chrome_trace(trace: Trace, path: str | Path) -> None:
    """Write `trace` as a JSON object with a list of trace events."""
    content = {"traceEvents": list(trace_events(trace)), "displayTimeUnit": "ms"}
    Path(path).write_text(json.dumps(content), encoding="utf-8")


def trace_events(trace: Trace) -> Iterator[TraceEvent]:
    """The events, in no particular order; the viewers sort them."""
    for process, name in ((ENGINE, "engine"), (REQUESTS, "requests")):
        yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}}
    for number, step in enumerate(trace.steps):
        yield from _of_step(number, step)
    for row, request in enumerate(trace.requests):
        yield from _of_request(row, request)


def _of_step(number: int, step: Step) -> Iterator[TraceEvent]:
    prefill, decode = (sum(work[kind] for work in step.tokens.values()) for kind in (0, 1))
    work = {"prefill tokens": prefill, "decode tokens": decode, "padding": step.padding}
    yield _slice(f"step {number}", ENGINE, 0, step.start, step.seconds, work)
    yield _counter("sequences", step, {"running": step.running, "waiting": step.waiting})
    if step.usage is not None:
        yield _counter("KV slots", step, asdict(step.usage))
    for event in step.events:
        end = step.start + step.seconds
        yield {
            "ph": "i", "name": f"{event.kind} {event.id}", "s": "t", "pid": ENGINE, "tid": 0,
            "ts": _microseconds(end if event.kind == "finish" else step.start), "args": {"tokens": event.tokens},
        }  # fmt: skip


def _of_request(row: int, request: RequestRecord) -> Iterator[TraceEvent]:
    name = {"name": f"request {request.id}"}
    yield {"ph": "M", "name": "thread_name", "pid": REQUESTS, "tid": row, "args": name}
    times = request.token_times
    if request.started is None or not times:
        return
    told = {
        "prompt tokens": request.prompt_tokens,
        "output tokens": len(times),
        "ended": request.finish_reason,
    }
    phases = {
        "queue": (request.arrival, request.started), "prefill": (request.started, times[0]),
        "decode": (times[0], times[-1]),
    }  # fmt: skip
    for phase, (start, end) in phases.items():
        yield _slice(phase, REQUESTS, row, start, end - start, told)


def _slice(name: str, process: int, row: int, start: float, seconds: float, args: TraceEvent) -> TraceEvent:
    return {
        "ph": "X", "name": name, "pid": process, "tid": row, "ts": _microseconds(start),
        "dur": _microseconds(seconds), "args": args,
    }  # fmt: skip


def _counter(name: str, step: Step, values: TraceEvent) -> TraceEvent:
    return {"ph": "C", "name": name, "pid": ENGINE, "tid": 0, "ts": _microseconds(step.start), "args": values}


def _microseconds(seconds: float) -> float:
    return round(seconds * 1e6, 3)
