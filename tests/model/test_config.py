"""Shapes: what they derive against what a model has, and `config.json` against transformers' reading of it."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM

from labkit.errors import ConfigError, LabkitError
from labkit.model.config import FAMILIES, ModelConfig, RopeScaling
from labkit.model.hf_config import from_hf, to_hf
from labkit.model.presets import PRESETS, preset
from labkit.model.transformer import Transformer

SHAPE = ModelConfig(
    vocab_size=50, hidden_size=24, intermediate_size=36, num_layers=2, num_heads=6, num_kv_heads=2, head_dim=8,
    max_positions=64,
)  # fmt: skip


@pytest.mark.parametrize("name", PRESETS)
def test_preset_has_as_many_parameters_as_the_model(name: str) -> None:
    config = preset(name)
    fields = to_hf(config)
    with torch.device("meta"):
        ours = Transformer(replace(config, max_positions=8))
        theirs = AutoModelForCausalLM.from_config(AutoConfig.for_model(**fields))
    assert config.parameters == sum(weight.numel() for weight in ours.parameters())
    assert config.parameters == theirs.num_parameters()


@pytest.mark.parametrize(
    ("name", "published"),
    [("smollm2-135m", 134_515_008), ("llama-3.2-1b", 1_235_814_400), ("llama-3.1-8b", 8_030_261_248),
     ("llama-3.1-70b", 70_553_706_496), ("qwen3-8b", 8_190_735_360)],
)  # fmt: skip
def test_preset_has_as_many_parameters_as_published(name: str, published: int) -> None:
    assert preset(name).parameters == published


def test_unknown_preset_lists_the_known() -> None:
    with pytest.raises(ConfigError, match=r"gpt-5.*smollm2-135m"):
        preset("gpt-5")


@torch.no_grad()
@pytest.mark.parametrize("changes", [{}, {"tie_embeddings": True}, {"num_kv_heads": 1, "head_dim": 16}])
def test_derived_numbers_are_what_a_step_does(changes: dict[str, Any]) -> None:
    """Count the floating-point operations and the bytes handed to the cache while a model runs."""
    config = replace(SHAPE, **changes)
    model, handed, context = Transformer.random(config), 0, 11

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        nonlocal handed
        handed += k.numel() + v.numel()
        past = torch.ones(config.num_heads, context, config.head_dim)
        scores = torch.bmm(q.transpose(0, 1), past.transpose(1, 2))
        return torch.bmm(scores, past).transpose(0, 1)

    with FlopCounterMode(display=False) as counter:
        model.logits(model(torch.tensor([3]), torch.tensor([0]), attend))
    assert counter.get_total_flops() == config.flops_per_token(context)
    assert handed * 4 == config.kv_bytes_per_token(4)
    assert sum(weight.numel() * 2 for weight in model.parameters()) == config.weight_bytes(2)


@pytest.mark.parametrize(
    "changes",
    [{"num_layers": 0}, {"num_heads": 5}, {"head_dim": 7}, {"rope_theta": -1.0}, {"family": "gpt2"},
     {"hidden_size": True}, {"vocab_size": 2.5}],
)  # fmt: skip
def test_impossible_shapes_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=str(next(iter(changes.values())))):
        replace(SHAPE, **changes)


def _configs() -> st.SearchStrategy[ModelConfig]:
    scaling = st.builds(
        RopeScaling, factor=st.floats(1, 64), low_freq_factor=st.floats(0.1, 1), high_freq_factor=st.floats(1.5, 8),
        original_max_positions=st.integers(1, 9000),
    )  # fmt: skip

    def build(family: Any, kv: int, group: int, hidden: int, bias: bool, **rest: Any) -> ModelConfig:
        return ModelConfig(
            num_kv_heads=kv, num_heads=kv * group, hidden_size=kv * group * hidden, family=family,
            qkv_bias=bias or family == "qwen2",
            output_bias=bias and family != "qwen2", qk_norm=family == "qwen3", **rest,
        )  # fmt: skip

    return st.builds(
        build, st.sampled_from(FAMILIES), st.integers(1, 8), st.integers(1, 8), st.integers(1, 99),
        st.booleans(), vocab_size=st.integers(3, 10**6), intermediate_size=st.integers(1, 9000),
        num_layers=st.integers(1, 200), head_dim=st.integers(1, 99).map(lambda n: 2 * n),
        max_positions=st.integers(9001, 10**6), rope_theta=st.floats(1, 1e7), rope_scaling=st.none() | scaling,
        norm_eps=st.floats(1e-9, 1e-2), tie_embeddings=st.booleans(),
    )  # fmt: skip


@given(_configs())
def test_config_json_round_trip(config: ModelConfig) -> None:
    assert from_hf(to_hf(config)) == config


@given(_configs())
def test_both_spellings_of_rope_mean_the_same(config: ModelConfig) -> None:
    """What transformers 5 makes of our `config.json`, written in its own spelling, is the same model."""
    theirs = AutoConfig.for_model(**to_hf(config)).to_dict()
    assert "rope_parameters" in theirs
    assert from_hf(theirs) == config


@pytest.mark.parametrize(
    ("field", "value"),
    [("model_type", "mixtral"), ("model_type", None), ("hidden_act", "gelu"), ("mlp_bias", True),
     ("use_sliding_window", True), ("layer_types", ["full_attention", "sliding_attention"]),
     ("rope_scaling", {"rope_type": "yarn", "factor": 4.0}), ("rope_scaling", {"type": "linear", "factor": 2.0}),
     ("quantization_config", {"quant_method": "gptq"}), ("partial_rotary_factor", 0.5), ("num_hidden_layers", -3),
     ("num_hidden_layers", 10**9), ("max_position_embeddings", 10**12), ("hidden_size", "large"),
     ("rms_norm_eps", float("nan")), ("vocab_size", None), ("rope_scaling", "yarn")],
)  # fmt: skip
def test_what_is_not_implemented_is_named(field: str, value: Any) -> None:
    name = str(next(iter(value.values()))) if isinstance(value, dict) else str(value)
    name = value[-1] if isinstance(value, list) else name
    with pytest.raises(ConfigError, match=f"(?s)here.*{name}") as caught:
        from_hf({**to_hf(SHAPE), field: value}, "here")
    if field != "rope_scaling":
        assert field in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(to_hf(SHAPE))), JSON, max_size=3))
def test_any_json_is_a_shape_or_a_clear_error(changes: dict[str, Any]) -> None:
    said = ""
    try:
        from_hf({**to_hf(SHAPE), **changes})
    except LabkitError as error:
        said = str(error)
    assert len(said) < 500


def test_a_shape_no_architecture_has_cannot_be_saved() -> None:
    with pytest.raises(ConfigError, match="qkv_bias=True"):
        to_hf(replace(SHAPE, qkv_bias=True))
