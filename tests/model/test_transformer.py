"""The model against transformers, and its parts against the plain way to compute the same."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import ConfigError
from labkit.model.attention import attention
from labkit.model.config import ModelConfig
from labkit.model.layers import FEW_ROWS, linear
from labkit.model.products import slab_product
from labkit.model.transformer import Transformer
from labkit.model.weights import load_folder
from labkit.training.batch import attend_within

TINY = ModelConfig(
    vocab_size=31, hidden_size=24, intermediate_size=40, num_layers=2, num_heads=6, num_kv_heads=2, head_dim=8,
    max_positions=128, qk_norm=True, family="qwen3",
)  # fmt: skip


@torch.no_grad()
def test_logits_agree_with_transformers(published: SimpleNamespace) -> None:
    ours = load_folder(published.folder)
    for length in (1, 2, 70, 130):
        tokens = torch.randint(
            ours.config.vocab_size, (length,), generator=torch.Generator().manual_seed(length)
        )
        logits = ours.logits(ours(tokens, torch.arange(length)))
        theirs = published.model(tokens[None]).logits[0]
        assert theirs.std() > 0.1, "the comparison says nothing if logits are all alike"
        torch.testing.assert_close(logits, theirs, atol=1e-4, rtol=0)


@torch.no_grad()
def test_positions_decide_not_the_place_in_the_step() -> None:
    """The same tokens further on in a text: rotation makes attention depend on distances only."""
    model = Transformer.random(TINY, seed=1)
    tokens = torch.arange(20)
    here, there = model(tokens, torch.arange(20)), model(tokens, torch.arange(20) + 77)
    torch.testing.assert_close(here, there, atol=1e-4, rtol=1e-4)
    shuffled = model(tokens, torch.arange(20).flip(0))
    assert (here - shuffled).abs().max() > 1e-2


@torch.no_grad()
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5).map(sorted))
def test_packed_sequences_do_not_see_each_other(lengths: list[int]) -> None:
    model = Transformer.random(TINY, seed=2)
    texts = [torch.arange(n) * 7 % 31 for n in lengths]
    positions = torch.cat([torch.arange(n) for n in lengths])
    together = model(torch.cat(texts), positions, attend_within(lengths))
    alone = torch.cat([model(text, torch.arange(len(text))) for text in texts])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


@given(st.integers(1, 6), st.integers(0, 7), st.sampled_from([(1, 1), (3, 1), (6, 2), (4, 4)]))
def test_attention_is_softmax_of_scaled_products(new: int, past: int, heads: tuple[int, int]) -> None:
    query_heads, kv_heads = heads
    generator = torch.Generator().manual_seed(new * 100 + past)
    q = torch.randn(new, query_heads, 8, generator=generator)
    keys, values = torch.randn(2, kv_heads, past + new, 8, generator=generator)
    out = attention(q, keys, values)
    for row in range(new):
        for head in range(query_heads):
            group = head // (query_heads // kv_heads)
            seen = past + row + 1
            weights = (keys[group, :seen] @ q[row, head] / 8**0.5).softmax(0)
            torch.testing.assert_close(out[row, head], weights @ values[group, :seen], atol=1e-5, rtol=1e-5)


@given(st.integers(1, FEW_ROWS + 3), st.integers(1, 70), st.integers(1, 130), st.booleans())
def test_every_product_is_the_same_product(rows: int, inputs: int, outputs: int, bias: bool) -> None:
    generator = torch.Generator().manual_seed(rows)
    x, weight = (
        torch.randn(rows, inputs, generator=generator),
        torch.randn(outputs, inputs, generator=generator),
    )
    offset = torch.randn(outputs, generator=generator) if bias else None
    torch.testing.assert_close(slab_product(x, weight), F.linear(x, weight), atol=1e-4, rtol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(
            linear(x, weight, offset), F.linear(x, weight, offset), atol=1e-4, rtol=1e-4
        )


def test_gradients_reach_every_weight() -> None:
    model = Transformer.random(TINY, seed=3).requires_grad_()
    model.logits(model(torch.arange(9), torch.arange(9))).logsumexp(-1).sum().backward()
    untouched = [
        name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()
    ]
    assert not untouched


def test_random_weights_are_reproducible_and_finite() -> None:
    one, same, other = (Transformer.random(TINY, seed=seed) for seed in (5, 5, 6))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.embedding, other.embedding)
    with torch.no_grad():
        assert one.logits(one(torch.arange(30), torch.arange(30))).isfinite().all()


def test_random_refuses_whole_number_types() -> None:
    with pytest.raises(ConfigError, match="int8"):
        Transformer.random(TINY, dtype=torch.int8)
