"""Cuts agree with transformers' own, draws follow the distribution, and values out of range are refused."""

from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from labkit.engine.sampling import Sampler, SamplingParams, distribution, distributions, draw
from labkit.errors import RequestError

params = st.builds(
    SamplingParams,
    temperature=st.floats(0.1, 4),
    top_k=st.integers(0, 40),
    top_p=st.floats(0.05, 1),
    min_p=st.floats(0, 0.9),
)


@settings(max_examples=150, deadline=None)
@given(params=params, seed=st.integers(0, 10_000))
def test_the_distribution_is_that_of_transformers_warpers(params, seed):
    logits = torch.randn(1, 32, generator=torch.Generator().manual_seed(seed)) * 3
    scores = TemperatureLogitsWarper(params.temperature)(None, logits)
    if params.top_k:
        scores = TopKLogitsWarper(min(params.top_k, 32))(None, scores)
    if params.top_p < 1:
        scores = TopPLogitsWarper(params.top_p)(None, scores)
    if params.min_p:
        scores = MinPLogitsWarper(params.min_p)(None, scores)
    ours, theirs = distribution(logits[0], params), scores[0].softmax(-1)
    boundary = (ours > 0) != (theirs > 0)  # a token exactly on a cut may fall either way in floating point
    assert boundary.sum() <= 1
    if not boundary.any():
        torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=1e-4)


def test_draws_follow_the_distribution():
    """Chi-squared over 12 tokens and 20,000 draws from a fixed seed; a true sampler fails one seed in ten
    thousand.
    """
    logits = torch.randn(12, generator=torch.Generator().manual_seed(0)) * 1.5
    params = SamplingParams(temperature=0.8, top_k=9, seed=7)
    expected = distribution(logits, params) * 20_000
    sampler = Sampler(params)
    counts = torch.bincount(torch.tensor([sampler(logits) for _ in range(20_000)]), minlength=12)
    kept = expected > 0
    assert counts[~kept].sum() == 0
    statistic = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    assert statistic < 31.83  # the 0.9999 quantile with 8 degrees of freedom


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(params | st.just(SamplingParams()), min_size=1, max_size=6), seed=st.integers(0, 10_000))
def test_a_row_of_a_batch_is_drawn_as_if_it_were_alone(rows, seed):
    logits = torch.randn(len(rows), 40, generator=torch.Generator().manual_seed(seed)) * 3
    together = distributions(logits, rows)
    for row, one in enumerate(rows):
        torch.testing.assert_close(together[row], distribution(logits[row], one))
    drawn = draw(logits, rows, [Random(seed + row) for row in range(len(rows))])
    alone = [draw(logits[row : row + 1], [rows[row]], [Random(seed + row)])[0] for row in range(len(rows))]
    assert drawn == alone


def test_greedy_is_the_limit_of_low_temperature():
    logits = torch.randn(100, generator=torch.Generator().manual_seed(1))
    cold, greedy = (distribution(logits, SamplingParams(temperature=t)) for t in (1e-4, 0.0))
    torch.testing.assert_close(cold, greedy)


@pytest.mark.parametrize("temperature", [1e-30, 1e30])
def test_extreme_temperatures_stay_finite(temperature):
    probabilities = distribution(torch.tensor([5.0, -5.0, 1e4]), SamplingParams(temperature=temperature))
    assert probabilities.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens": 0},
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"min_p": 1.5},
        {"stop": ("",)},
        {"logprobs": -1},
        {"n": 0},
    ],
)
def test_a_value_out_of_range_is_refused_by_name(wrong):
    with pytest.raises(RequestError, match=next(iter(wrong))):
        SamplingParams(**wrong)


def test_one_stop_string_may_be_given_bare():
    assert SamplingParams(stop="end").stop_strings == ("end",)
