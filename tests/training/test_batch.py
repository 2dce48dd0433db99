"""Packing changes nothing: loss and gradients are those of every document on its own."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.model.config import ModelConfig
from labkit.model.transformer import Transformer
from labkit.training.batch import deal, pack, steps
from labkit.training.loop import Gradients, next_token_loss

V = 37
SHAPE = ModelConfig(
    V, 24, 40, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=6, max_positions=64, tie_embeddings=True
)
DOCUMENTS = st.lists(st.lists(st.integers(0, V - 1), min_size=2, max_size=14), min_size=1, max_size=7)


@pytest.fixture(scope="module")
def model() -> Transformer:
    model = Transformer.random(SHAPE, seed=5)
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.data.mul_(8)
    return model


def one_by_one(model: Transformer, documents: list[list[int]]) -> torch.Tensor:
    """The summed loss by plain causal attention over each document alone."""
    total = torch.zeros(())
    for document in documents:
        tokens = torch.tensor(document)
        hidden = model(tokens[:-1], torch.arange(len(document) - 1))
        total = total + F.cross_entropy(model.logits(hidden), tokens[1:], reduction="sum")
    return total


@settings(max_examples=40)
@given(documents=DOCUMENTS)
def test_the_packed_loss_is_the_sum_of_the_documents_losses(
    model: Transformer, documents: list[list[int]]
) -> None:
    torch.testing.assert_close(next_token_loss(model, pack(documents)), one_by_one(model, documents))


@settings(max_examples=15)
@given(documents=DOCUMENTS, workers=st.integers(1, 3))
def test_gradients_are_those_of_the_documents_whatever_the_workers(
    model: Transformer, documents: list[list[int]], workers: int
) -> None:
    targets = sum(len(document) - 1 for document in documents)
    expected = torch.autograd.grad(one_by_one(model, documents) / targets, list(model.parameters()))
    with Gradients(model, next_token_loss, workers) as gradients:
        total, tokens = gradients.compute(documents)
    assert tokens == targets
    assert total == pytest.approx(one_by_one(model, documents).item(), rel=1e-4)
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-3, atol=1e-6)


@given(DOCUMENTS)
def test_a_batch_holds_every_next_token_once(documents: list[list[int]]) -> None:
    batch = pack(documents)
    pairs = sorted(zip(batch.positions.tolist(), batch.tokens.tolist(), batch.targets.tolist(), strict=True))
    assert pairs == sorted((i, d[i], d[i + 1]) for d in documents for i in range(len(d) - 1))
    assert list(batch.lengths) == sorted(len(d) - 1 for d in documents)


@given(DOCUMENTS, st.integers(1, 9))
def test_dealing_loses_nothing_and_leaves_no_hand_empty(documents: list[list[int]], hands: int) -> None:
    dealt = deal(documents, hands)
    assert sorted(d for hand in dealt for d in hand) == sorted(documents)
    assert all(dealt)
    assert len(dealt) == min(hands, len(documents))


@given(DOCUMENTS, st.integers(1, 40))
def test_steps_are_full_and_in_order(documents: list[list[int]], tokens: int) -> None:
    groups = list(steps(iter(documents), tokens))
    assert [d for group in groups for d in group] == documents[: sum(map(len, groups))]
    for group in groups:
        assert sum(map(len, group[:-1])) < tokens <= sum(map(len, group))
