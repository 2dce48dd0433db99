"""Measurements are taken in turns, warm-up is thrown away, and ratios are of the same round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.bench.timing import Timing, interleaved, timed

seconds = st.floats(1e-6, 1e3)


def test_candidates_take_turns_and_the_warm_up_is_not_counted():
    calls = []

    def candidate(name):
        def measure():
            calls.append(name)
            return float(len(calls))

        return measure

    timings = interleaved({"a": candidate("a"), "b": candidate("b")}, repeats=3, warmup=2)
    assert calls == ["a", "b"] * 5
    assert timings["a"].seconds == (5.0, 7.0, 9.0)
    assert timings["b"].seconds == (6.0, 8.0, 10.0)


@given(times=st.lists(seconds, min_size=1, max_size=9), factor=st.floats(0.1, 10))
def test_a_ratio_survives_a_machine_that_drifts(times, factor):
    slow, fast = Timing(tuple(factor * one for one in times)), Timing(tuple(times))
    assert fast.times_faster_than(slow) == pytest.approx(factor)
    assert slow.times_faster_than(fast) == pytest.approx(1 / factor)


@given(times=st.lists(seconds, min_size=1, max_size=9))
def test_best_and_median_are_among_the_rounds(times):
    timing = Timing(tuple(times))
    assert timing.best == min(times)
    assert min(times) <= timing.median <= max(times)


def test_work_is_run_once_a_measurement():
    done = []
    assert timed(lambda: done.append(1))() >= 0
    assert done == [1]
