"""The exported timeline has the fields that the Trace Event format demands, and adds up to the trace."""

import json
from itertools import pairwise

import pytest

from labkit.engine.build import build_engine
from labkit.engine.chrome_trace import save_chrome_trace
from labkit.engine.metrics import busy_seconds
from labkit.engine.request import Request
from labkit.engine.sampling import SamplingParams


@pytest.fixture
def events(lm, tmp_path):
    engine = build_engine(lm, pool_tokens=48, block_size=4, max_sequences=3)
    asked = [
        Request((1,) * n, SamplingParams(max_tokens=12, ignore_eos=True), id=f"r{n}") for n in (9, 5, 60, 7)
    ]
    engine.run(asked)
    save_chrome_trace(engine.trace, tmp_path / "run.json")
    return engine.trace, json.loads((tmp_path / "run.json").read_text())["traceEvents"]


def test_every_event_has_its_fields(events):
    needed = {"X": {"ts", "dur"}, "C": {"ts", "args"}, "i": {"ts", "s"}, "M": {"args"}}
    for event in events[1]:
        assert {"name", "pid", "tid", *needed[event["ph"]]} <= event.keys()
        assert event.get("ts", 0) >= 0 <= event.get("dur", 0)


def test_the_timeline_adds_up_to_the_trace(events):
    trace, found = events
    steps = [event for event in found if event["ph"] == "X" and event["pid"] == 1]
    assert sum(step["dur"] for step in steps) == pytest.approx(1e6 * busy_seconds(trace), rel=1e-3)
    prefill = sum(step["args"]["prefill tokens"] for step in steps)
    assert prefill == sum(work[0] for step in trace.steps for work in step.tokens.values()) >= 9 + 5 + 7
    pool = [sum(event["args"].values()) for event in found if event["name"] == "KV slots"]
    assert set(pool) == {48}
    assert len(pool) == len(trace.steps)


def test_a_request_is_a_row_of_phases_without_gaps(events):
    trace, found = events
    names = {e["tid"]: e["args"]["name"] for e in found if e["ph"] == "M" and e["name"] == "thread_name"}
    assert list(names.values()) == ["request r9", "request r5", "request r60", "request r7"]
    for row, request in enumerate(trace.requests):
        phases = [event for event in found if event["ph"] == "X" and (event["pid"], event["tid"]) == (2, row)]
        if request.finish_reason == "refused":
            assert phases == []
            continue
        assert [phase["name"] for phase in phases] == ["queue", "prefill", "decode"]
        for one, following in pairwise(phases):
            assert one["ts"] + one["dur"] == pytest.approx(following["ts"], abs=0.01)
