"""Work counted by formula equals work counted by hooks on a real forward pass, and published figures come
out.
"""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from labkit.errors import ConfigError
from labkit.model.config import ModelConfig
from labkit.model.presets import PRESETS, preset
from labkit.model.transformer import Transformer
from labkit.simulate.hardware import hardware, known
from labkit.simulate.roofline import attainable, decode_work, floor_seconds, prefill_work, ridge


def shapes() -> st.SearchStrategy[ModelConfig]:
    return st.builds(
        lambda groups, kv, layers, tied: ModelConfig(
            64, 40, 72, layers, groups * kv, kv, 8, max_positions=64, tie_embeddings=tied
        ),
        st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.booleans(),
    )  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(config=shapes(), tokens=st.integers(1, 30))
def test_prefill_flops_are_those_torch_counts(config, tokens):
    """Torch counts the full T×T square of attention; the causal half is what is needed, so that part is
    compared apart.
    """
    model = Transformer.random(config)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        hidden = model(torch.arange(tokens), torch.arange(tokens), lambda layer, q, k, v: q)
        model.logits(hidden[-1:])
    attention = 4 * config.num_layers * config.num_heads * config.head_dim * tokens * (tokens + 1) / 2
    assert prefill_work(config, tokens).flops - attention == counter.get_total_flops()


@settings(max_examples=15, deadline=None)
@given(config=shapes(), batch=st.integers(1, 8), context=st.integers(0, 50))
def test_a_decode_step_is_its_sequences_tokens(config, batch, context):
    work = decode_work(config, batch, context)
    assert work.flops == pytest.approx(batch * config.flops_per_token(context + 1))
    more = decode_work(config, batch + 1, context)
    assert more.bytes - work.bytes == pytest.approx((context + 2) * config.kv_bytes_per_token())


def test_ridges_match_the_published_ones():
    expected = {
        "a100-80gb": 153,
        "h100": 295,
        "h200": 206,
        "l4": 403,
        "a10g": 117,
        "rtx-4090": 164,
        "b200": 292,
    }
    for key, value in expected.items():
        device = hardware(key)
        assert ridge(device.peak("bf16"), device.bytes_per_second) == pytest.approx(value, abs=0.6)


def test_the_roof_bends_at_the_ridge():
    for device in known().values():
        peak, bandwidth = device.peak(), device.bytes_per_second
        at = ridge(peak, bandwidth)
        assert attainable(at * 2, peak, bandwidth) == peak
        assert attainable(at / 2, peak, bandwidth) == pytest.approx(peak / 2)


def test_known_sizes():
    """KV bytes a token of Llama 3 8B and 70B, and a 7B-class decode floor on an A100: weights over bandwidth."""
    assert preset("llama-3.1-8b").kv_bytes_per_token() == 131_072
    assert preset("llama-3.1-70b").kv_bytes_per_token() == 327_680
    a100 = hardware("a100-80gb")
    floor = floor_seconds(decode_work(preset("llama-3.1-8b"), 1, 0), a100.peak(), a100.bytes_per_second)
    assert floor == pytest.approx(15.0e9 / 2039e9, rel=0.01)


def test_every_preset_is_memory_bound_at_batch_one_and_compute_bound_in_a_long_prefill():
    for config in PRESETS.values():
        for device in known().values():
            at = ridge(device.peak(), device.bytes_per_second)
            assert decode_work(config, 1, 1000).intensity < at < prefill_work(config, 4096).intensity


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="h100"):
        hardware("h9000")
    with pytest.raises(ConfigError, match="no fp8 units"):
        hardware("a100-80gb").peak("fp8")
    with pytest.raises(ConfigError, match="tokens = 0"):
        prefill_work(preset("smollm2-135m"), 0)
