"""A trace survives being saved, a broken one is refused by line, and metrics follow their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.engine.metrics import computed_tokens, e2e, itl, output_throughput, tpot, ttft
from labkit.engine.trace import RequestRecord, Step, Trace
from labkit.errors import LabkitError

seconds = st.floats(0, 1e6)
steps = st.builds(
    Step,
    seconds,
    seconds,
    st.dictionaries(st.text(max_size=5), st.tuples(st.integers(0, 9), st.integers(0, 9))),
)
requests = st.builds(
    RequestRecord,
    st.text(max_size=5),
    seconds,
    st.integers(1, 99),
    st.lists(seconds),
    st.sampled_from(["stop", None]),
)


@given(trace=st.builds(Trace, st.lists(steps, max_size=5), st.lists(requests, max_size=5)))
def test_a_saved_trace_is_read_back(trace, tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "run.jsonl"
    trace.save(path)
    assert Trace.load(path) == trace


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "empty"),
        ('{"trace": "labkit", "version": 9}\n', "line 1"),
        ('{"trace": "labkit", "version": 2}\n{"step": {"start": 0}}\n', "line 2"),
        ('{"trace": "labkit", "version": 2}\n{"nonsense": 1}\n', "line 2"),
        ("not json\n", "line 1"),
    ],
)
def test_a_broken_trace_is_refused_with_its_line(tmp_path, content, line):
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(LabkitError, match=line):
        Trace.load(path)


def test_metrics_of_a_known_run():
    first = RequestRecord("a", arrival=1.0, prompt_tokens=5, token_times=[3.0, 3.5, 4.5])
    second = RequestRecord("b", arrival=2.0, prompt_tokens=5, token_times=[5.0])
    trace = Trace(
        [Step(1.0, 2.0, {"a": (5, 0)}), Step(3.0, 0.5, {"a": (0, 1), "b": (5, 0)})], [first, second]
    )
    assert (ttft(first), e2e(first), tpot(first), itl(first)) == (2.0, 3.5, 0.75, [0.5, 1.0])
    assert (ttft(second), e2e(second), tpot(second), itl(second)) == (3.0, 3.0, None, [])
    assert output_throughput(trace) == 4 / 4.0
    assert computed_tokens(trace) == 11


def test_metrics_of_a_run_without_tokens_are_undefined():
    request = RequestRecord("a", 0.0, 3)
    assert (ttft(request), e2e(request), tpot(request), itl(request)) == (None, None, None, [])
    assert output_throughput(Trace([], [request])) is None
