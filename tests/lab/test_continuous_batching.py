"""Notebook 04's runs: what is predicted from lengths is what the engine does, and the words fit the numbers."""

import pytest

import labkit
from labkit.engine.metrics import useful_share
from labkit.engine.trace import Event, RequestRecord, Step, Trace
from labkit.lab.errors import LabError
from labkit.lab.experiments import continuous_batching as batching
from labkit.lab.experiments import serving
from labkit.lab.figures.histogram import histogram
from labkit.lab.figures.slots_gantt import spans
from labkit.workload import lengths


@pytest.fixture(scope="module")
def tiny():
    return labkit.load("tiny-draft", device="cpu")


@pytest.mark.parametrize("outputs", [[2, 9, 4, 4, 3, 12], [5] * 6])
def test_the_share_of_static_batches_follows_from_the_lengths(tiny, outputs):
    trace = serving.serve(tiny, serving.requests(tiny, outputs), "static", seats=3)
    assert useful_share(trace) == pytest.approx(batching.static_share(outputs, 3))
    continuous = serving.serve(tiny, serving.requests(tiny, outputs), "continuous", seats=3)
    assert useful_share(continuous) == 1


def test_traffic_is_served_in_full_by_every_scheduler_and_told(tiny):
    traffic = serving.Traffic(best_rate=500.0, load=0.8, spread=1.0, count=6)
    heard = []
    traces = serving.under_load(
        tiny, traffic, ("static", "chunked"), seats=3, progress=lambda *report: heard.append(report)
    )
    for trace in traces.values():
        assert [len(request.token_times) for request in trace.requests] == traffic.outputs
    assert heard[-1][1] == sum(traffic.outputs)
    assert "static: " in serving.told(traces)
    for draw in (batching.draw_seats, batching.draw_ttft, batching.draw_itl):
        assert "chunked" in draw(traces).alt


def test_a_run_without_tokens_can_be_told():
    trace = Trace([], [RequestRecord("a", 0.0, 3, finish_reason="refused")])
    assert "TTFT undefined" in serving.told({"static": trace})


def test_the_decision_follows_the_numbers():
    varied, alike = lengths.lognormal(200, 100, 1.0), lengths.fixed(200, 100)
    assert "nobody to batch with" in batching.decide(varied, 16, 0.1, 5.0).text
    assert "waste little" in batching.decide(alike, 16, 10.0, 5.0).text
    found = batching.decide(varied, 16, 10.0, 5.0)
    assert "turn it on" in found.text
    assert found.waste == pytest.approx(lengths.waste_ratio(varied, 16))
    assert found.overlap == 50
    assert "static" in batching.draw_decision(found).alt


def step(start, tokens, running, *events, padding=0):
    named = [Event(kind, name, 1) for kind, name in events]
    return Step(start, 1.0, tokens, padding, running=running, events=named)


def test_a_seat_is_wasted_while_a_static_batch_waits_and_taken_over_by_the_next():
    steps = [
        step(0.0, {"a": (4, 0), "b": (4, 0)}, 2, ("admit", "a"), ("admit", "b"), ("finish", "b")),
        step(1.0, {"a": (0, 1)}, 2, ("finish", "a"), padding=1),
        step(2.0, {"c": (2, 0)}, 1, ("admit", "c")),
    ]
    found = [(span.seat, span.id, span.use, span.first, span.end) for span in spans(steps)]
    assert found == [
        (0, "a", "prefill", 0, 1), (1, "b", "prefill", 0, 1), (0, "a", "decode", 1, 2), (1, "b", "wasted", 1, 2),
        (0, "c", "prefill", 2, 3),
    ]  # fmt: skip


def test_a_preempted_sequence_leaves_its_seat_to_a_newcomer():
    steps = [
        step(0.0, {"a": (4, 0), "b": (4, 0)}, 2, ("admit", "a"), ("admit", "b")),
        step(1.0, {"a": (0, 1)}, 1, ("preempt", "b")),
        step(2.0, {"a": (0, 1), "c": (2, 0)}, 2, ("admit", "c")),
    ]
    assert [(span.seat, span.id) for span in spans(steps)] == [(0, "a"), (1, "b"), (0, "a"), (1, "c")]


@pytest.mark.parametrize(
    ("values", "message"), [([], "no values"), ([-1.0], "-1.0"), ([float("nan")], "nan")]
)
def test_histograms_of_nonsense_are_refused(values, message):
    with pytest.raises(LabError, match=message):
        histogram({"a": values})
