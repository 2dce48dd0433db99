"""Metrics follow their definitions, on runs worked out by hand."""

import math

import pytest

from labkit.engine import metrics
from labkit.engine.metrics import Slo
from labkit.engine.trace import RequestRecord, Step, Trace
from labkit.kvcache.manager import Usage


def run():
    """Two requests on two seats: a waits 1 s, computes 5 tokens in 2 s, then three steps of 1 s, 1 s and 2 s."""
    first = RequestRecord("a", 1.0, 5, [4.0, 5.0, 6.0, 8.0], "length", started=2.0)
    second = RequestRecord("b", 3.0, 4, [8.0], "length", started=6.0)
    refused = RequestRecord("c", 0.0, 900, finish_reason="refused")
    steps = [
        Step(2.0, 2.0, {"a": (5, 0)}, usage=Usage(5, 3, 2, 0, 10)),
        Step(4.0, 1.0, {"a": (0, 1)}, padding=1, usage=Usage(5, 3, 2, 0, 10)),
        Step(5.0, 1.0, {"a": (0, 1)}, padding=2, usage=Usage(5, 3, 2, 0, 10)),
        Step(6.0, 2.0, {"a": (0, 1), "b": (4, 0)}, usage=Usage(10, 0, 0, 10, 0)),
    ]
    return Trace(steps, [first, second, refused])


def test_latencies_of_all_requests():
    found = metrics.latencies(run())
    assert found["TTFT"].p50 == 3.0
    assert found["TTFT"].mean == 4.0
    assert found["queue"].p99 == 3.0
    assert found["ITL"].count == 3
    assert found["TPOT"].mean == pytest.approx(4 / 3)
    assert found["E2E"].p90 == 7.0


def test_throughput_counts_from_the_first_arrival():
    assert metrics.duration(run()) == 8.0
    assert metrics.output_throughput(run()) == 5 / 8
    assert metrics.input_throughput(run()) == 9 / 8
    assert metrics.busy_seconds(run()) == 6.0


def test_goodput_has_two_meanings():
    slo = Slo(ttft=4.0)
    assert metrics.attainment(run(), slo) == pytest.approx(1 / 3)
    assert metrics.goodput_at_this_rate(run(), slo) == 1 / 8
    assert metrics.attainment(run(), Slo(ttft=9, tpot=1.0)) == pytest.approx(1 / 3)

    def served(good):
        return Trace(requests=[RequestRecord("a", 0.0, 1, [1.0 if one < good else 9.0]) for one in range(10)])

    runs = {4.0: served(9), 1.0: served(10), 8.0: served(5), 16.0: served(10)}
    assert metrics.highest_good_rate(runs, Slo(ttft=2.0)) == 4.0
    assert metrics.highest_good_rate(runs, Slo(ttft=0.5)) is None


def test_how_full_the_machine_was():
    assert metrics.useful_share(run()) == 2 / 5
    assert metrics.mean_batch(run()) == pytest.approx((1 * 4 + 2 * 2) / 6)
    shares = metrics.kv_shares(run())
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["used"] == pytest.approx((5 / 20 * 4 + 10 / 20 * 2) / 6)
    assert metrics.kv_utilization(run()) == pytest.approx(shares["used"] / (1 - shares["free"]))


def test_percentiles_are_nearest_ranks():
    values = list(range(1, 101))
    assert [metrics.percentile(values, share) for share in (0, 0.5, 0.9, 0.99, 1)] == [1, 50, 90, 99, 100]
    assert metrics.percentile([7], 0.5) == 7


def test_an_empty_run_has_no_numbers():
    empty = Trace()
    assert set(metrics.latencies(empty).values()) == {None}
    assert metrics.attainment(empty, Slo()) is None
    for metric in (metrics.output_throughput, metrics.mean_batch, metrics.kv_shares, metrics.kv_utilization):
        assert metric(empty) is None
    assert metrics.goodput_at_this_rate(empty, Slo()) is None
    assert Slo().ttft == math.inf
