"""The two loops emit the same tokens, outputs end when they should, and nothing wrong is accepted."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.engine.generation import cached, generate, naive, stream
from labkit.engine.metrics import computed_tokens
from labkit.engine.sampling import SamplingParams
from labkit.errors import RequestError

prompts = st.lists(st.integers(0, 257), min_size=1, max_size=40)


@settings(max_examples=40, deadline=None)
@given(prompt=prompts, count=st.integers(1, 20))
def test_cached_and_naive_emit_the_same_greedy_tokens(lm, prompt, count):
    params = SamplingParams(max_tokens=count, ignore_eos=True)
    assert generate(lm, prompt, params, loop=cached).tokens == generate(lm, prompt, params, loop=naive).tokens


@settings(max_examples=20, deadline=None)
@given(prompt=prompts, seed=st.integers(0, 2**31))
def test_a_seed_makes_sampling_repeatable_in_both_loops(lm, prompt, seed):
    params = SamplingParams(max_tokens=12, temperature=1.0, top_p=0.9, seed=seed, ignore_eos=True)
    first = generate(lm, prompt, params, loop=cached).tokens
    assert (
        first
        == generate(lm, prompt, params, loop=cached).tokens
        == generate(lm, prompt, params, loop=naive).tokens
    )


def test_unseeded_sampling_varies(lm):
    params = SamplingParams(max_tokens=12, temperature=5.0, ignore_eos=True)
    outputs = {tuple(generate(lm, "abc", params).tokens) for _ in range(4)}
    assert len(outputs) > 1


def test_each_greedy_token_is_the_argmax_of_a_plain_forward_pass(lm):
    completion = generate(lm, "hello", SamplingParams(max_tokens=16, ignore_eos=True))
    tokens = [*b"hello", *completion.tokens]
    with torch.no_grad():
        hidden = lm.model(torch.tensor(tokens), torch.arange(len(tokens)))
    assert lm.model.logits(hidden).argmax(-1)[4:-1].tolist() == completion.tokens


def test_the_trace_counts_the_work_of_each_loop(lm):
    params = SamplingParams(max_tokens=5, ignore_eos=True)
    kept, recomputed = (
        generate(lm, b"1234567".decode(), params, loop=loop).trace for loop in (cached, naive)
    )
    assert [step.tokens["0"] for step in kept.steps] == [(7, 0), (0, 1), (0, 1), (0, 1), (0, 1)]
    assert computed_tokens(kept) == 7 + 4
    assert computed_tokens(recomputed) == 7 + 8 + 9 + 10 + 11
    times = kept.requests[0].token_times
    assert times == sorted(times)
    assert len(times) == 5


def test_an_end_token_ends_the_output_unless_ignored(lm):
    plain = generate(lm, "hello", SamplingParams(max_tokens=12, ignore_eos=True)).tokens
    ending = SamplingParams(max_tokens=12, ignore_eos=True, stop_token_ids=(plain[3],))
    stopped = generate(lm, "hello", ending)
    assert stopped.tokens == plain[: plain.index(plain[3]) + 1]
    assert stopped.finish_reason == "stop"
    assert generate(lm, "hello", SamplingParams(max_tokens=12, ignore_eos=True)).finish_reason == "length"


def test_a_stop_string_is_cut_off_and_ends_the_output(lm):
    whole = generate(lm, "xy", SamplingParams(max_tokens=40, ignore_eos=True, temperature=1.0, seed=1))
    stop = whole.text[5:7]
    cut = generate(
        lm, "xy", SamplingParams(max_tokens=40, ignore_eos=True, temperature=1.0, seed=1, stop=(stop,))
    )
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.finish_reason == "stop"
    assert len(cut.tokens) < len(whole.tokens)


def test_the_streamed_pieces_are_the_text(lm):
    params = SamplingParams(max_tokens=30, temperature=1.0, seed=5, ignore_eos=True)
    generation = stream(lm, "abc", params)
    assert "".join(generation) == generation.completion.text == generate(lm, "abc", params).text


def test_the_output_ends_at_the_model_s_context(lm):
    completion = generate(lm, [1] * 90, SamplingParams(max_tokens=50, ignore_eos=True))
    assert (len(completion.tokens), completion.finish_reason) == (6, "length")


def test_logprobs_are_the_model_s_own(lm):
    completion = generate(
        lm, "abc", SamplingParams(max_tokens=4, temperature=2.0, seed=0, logprobs=3, ignore_eos=True)
    )
    with torch.no_grad():
        logs = lm.model.logits(lm.model(torch.tensor([*b"abc"]), torch.arange(3))[-1:])[0].log_softmax(-1)
    first = completion.logprobs[0]
    assert first.token == completion.tokens[0]
    assert first.logprob == pytest.approx(float(logs[first.token]), abs=1e-5)
    assert list(first.top) == logs.topk(3).indices.tolist()


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("", "empty"),
        ([], "empty"),
        ([258], "258 is not in the vocabulary"),
        ([-1], "-1 is not in the vocabulary"),
        ([1] * 96, "96 tokens"),
    ],
)
def test_an_impossible_prompt_is_refused_before_anything_runs(lm, prompt, message):
    with pytest.raises(RequestError, match=message):
        stream(lm, prompt)
