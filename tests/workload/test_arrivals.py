"""Arrivals and lengths have the moments they are asked for, repeat with their seed, and refuse nonsense."""

from itertools import pairwise
from random import Random
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import ConfigError
from labkit.workload import arrivals, lengths

MANY = 20_000


def gaps(times):
    return [later - earlier for earlier, later in pairwise([0.0, *times])]


@pytest.mark.parametrize("variation", [0.0, 0.5, 1.0, 2.0])
def test_gaps_have_the_mean_and_variation_asked_for(variation):
    found = gaps(arrivals.bursty(MANY, rate=4.0, variation=variation))
    assert fmean(found) == pytest.approx(
        0.25, rel=0.06
    )  # over four standard errors for the largest variation
    assert pstdev(found) / fmean(found) == pytest.approx(variation, rel=0.1, abs=1e-9)


def test_poisson_counts_vary_as_much_as_they_are_large():
    times = arrivals.poisson(MANY, rate=10.0)
    counts = [0] * int(times[-1])
    for time in times:
        if time < len(counts):
            counts[int(time)] += 1
    assert pstdev(counts) ** 2 / fmean(counts) == pytest.approx(1, rel=0.15)


def test_bursts_are_the_same_number_of_requests_in_clumps():
    calm, wild = (arrivals.bursty(MANY, 1.0, variation) for variation in (0.5, 3.0))
    close = [sum(gap < 0.1 for gap in gaps(times)) for times in (calm, wild)]
    assert close[1] > 5 * close[0]


def test_together_is_now():
    assert arrivals.together(3) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("make", [lambda seed: arrivals.poisson(9, 2.0, seed),
                                  lambda seed: lengths.uniform(9, 1, 99, seed),
                                  lambda seed: lengths.lognormal(9, 50, 1, seed=seed)])  # fmt: skip
def test_a_seed_repeats_itself_and_another_does_not(make):
    assert make(1) == make(1)
    assert make(1) != make(2)


def test_uniform_lengths_reach_both_ends_and_no_further():
    found = lengths.uniform(2000, 3, 9)
    assert set(found) == set(range(3, 10))


@pytest.mark.parametrize("variation", [0.0, 0.5, 1.0])
def test_lognormal_lengths_have_the_mean_and_variation_asked_for(variation):
    found = lengths.lognormal(MANY, 200, variation)
    assert fmean(found) == pytest.approx(200, rel=0.04)
    assert pstdev(found) / fmean(found) == pytest.approx(variation, rel=0.15, abs=1e-9)


def test_a_limit_cuts_the_tail_and_nothing_else():
    free, cut = lengths.lognormal(500, 100, 1), lengths.lognormal(500, 100, 1, longest=150)
    assert cut == [min(150, length) for length in free]
    assert min(lengths.lognormal(500, 1, 3)) == 1


@given(found=st.lists(st.integers(1, 50), min_size=1, max_size=12), batch=st.integers(1, 4))
def test_the_expected_longest_is_that_of_all_possible_batches(found, batch):
    from itertools import product

    if len(found) ** batch > 3000:
        found = found[:6]
    every = [max(drawn) for drawn in product(found, repeat=batch)]
    assert lengths.expected_longest(found, batch) == pytest.approx(fmean(every))


@given(found=st.lists(st.integers(1, 500), min_size=1, max_size=50), batch=st.integers(1, 64))
def test_the_waste_ratio_starts_at_one_and_grows_with_the_batch(found, batch):
    assert lengths.waste_ratio(found, 1) == pytest.approx(1)
    assert lengths.waste_ratio(found, batch) <= lengths.waste_ratio(found, batch + 1) * (1 + 1e-12)
    assert lengths.waste_ratio(found, 10**6) == pytest.approx(max(found) / fmean(found), rel=1e-3)
    assert lengths.waste_ratio(lengths.fixed(5, 7), batch) == pytest.approx(1)


def test_the_order_of_lengths_does_not_matter():
    found = lengths.lognormal(100, 50, 1)
    shuffled = Random(0).sample(found, len(found))
    assert lengths.waste_ratio(found, 8) == pytest.approx(lengths.waste_ratio(shuffled, 8))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: arrivals.poisson(3, 0), lambda: arrivals.poisson(3, float("inf")), lambda: arrivals.bursty(3, 1, -1),
        lambda: arrivals.together(-1), lambda: arrivals.poisson(-1, 1), lambda: lengths.fixed(3, 0),
        lambda: lengths.fixed(-3, 1), lambda: lengths.uniform(3, 0, 5), lambda: lengths.uniform(3, 6, 5),
        lambda: lengths.lognormal(3, 0.5, 1), lambda: lengths.lognormal(3, 5, -1),
        lambda: lengths.expected_longest([], 3), lambda: lengths.expected_longest([1], 0),
    ],
)  # fmt: skip
def test_nonsense_is_refused(wrong):
    with pytest.raises(ConfigError):
        wrong()
