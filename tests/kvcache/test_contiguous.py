"""A cache filled in any pieces, with rewinds between, attends as if everything had been computed at once."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import RequestError
from labkit.kvcache.contiguous import ContiguousCache
from labkit.model.config import ModelConfig
from labkit.model.transformer import Transformer

SHAPE = ModelConfig(50, 24, 48, num_layers=2, num_heads=6, num_kv_heads=2, head_dim=4, max_positions=64)


@pytest.fixture(scope="module")
def model():
    return Transformer.random(SHAPE, seed=1)


@settings(max_examples=40, deadline=None)
@given(pieces=st.lists(st.tuples(st.integers(1, 8), st.integers(0, 8)), min_size=1, max_size=6))
def test_pieces_and_rewinds_change_nothing(model, pieces):
    cache, kept = ContiguousCache(SHAPE, capacity=64), []
    for number, (length, back) in enumerate(pieces):
        new = [(7 * number + 3 * i) % 50 for i in range(length)]
        with torch.inference_mode():
            positions = torch.arange(cache.length, cache.length + length)
            hidden = model(torch.tensor(new), positions, cache.attend)
            cache.advance(length)
            kept += new
            whole = model(torch.tensor(kept), torch.arange(len(kept)))
        torch.testing.assert_close(hidden, whole[-length:], atol=1e-5, rtol=1e-4)
        back = min(back, len(kept) - 1)
        cache.rewind(back)
        kept = kept[: len(kept) - back]
        assert cache.length == len(kept)


def test_the_strip_has_an_end(model):
    cache = ContiguousCache(SHAPE, capacity=4)
    with pytest.raises(RequestError, match="holds 4 tokens and 5 are needed"), torch.inference_mode():
        model(torch.arange(5), torch.arange(5), cache.attend)
    assert cache.length == 0


def test_advance_and_rewind_stay_inside():
    cache = ContiguousCache(SHAPE, capacity=4)
    cache.advance(3)
    with pytest.raises(RequestError, match="cannot advance by 2"):
        cache.advance(2)
    with pytest.raises(RequestError, match="cannot rewind by 4"):
        cache.rewind(4)
    with pytest.raises(RequestError, match="capacity 0"):
        ContiguousCache(SHAPE, capacity=0)


def test_its_memory_is_the_shape_s_bytes_per_token():
    cache = ContiguousCache(SHAPE, capacity=10, dtype=torch.float16)
    assert cache.bytes == 10 * SHAPE.kv_bytes_per_token(2)
