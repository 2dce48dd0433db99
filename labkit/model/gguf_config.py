"""A model's shape from GGUF metadata."""

import math
from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from labkit.errors import ConfigError
from labkit.model.config import FAMILIES, Family, ModelConfig, RopeScaling
from labkit.model.hf_config import MOST_LAYERS, MOST_POSITIONS
from labkit.model.rope import inverse_frequencies


def config_from(metadata: Mapping[str, Any], tensors: Container[str], where: str) -> ModelConfig:
    """The shape that a GGUF file describes; `tensors` tells by its names which optional ones there are.

    Raises ConfigError naming the key for an architecture or a setting labkit does not implement.
    """
    family = _family(metadata, where)
    _refuse_what_is_not_computed(metadata, family, where)

    def count(key: str, default: int | None = None, most: int = 2**40) -> int:
        value = metadata.get(f"{family}.{key}", default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ConfigError(
                f"{where}: {family}.{key} = {str(value)[:80]!r} must be a whole number from 1 to {most}"
            )
        return value

    heads, hidden = count("attention.head_count"), count("embedding_length")
    vocabulary = metadata.get("tokenizer.ggml.tokens")
    return ModelConfig(
        vocab_size=count("vocab_size", len(vocabulary) if isinstance(vocabulary, list) else None),
        hidden_size=hidden,
        intermediate_size=count("feed_forward_length"),
        num_layers=count("block_count", most=MOST_LAYERS),
        num_heads=heads,
        num_kv_heads=count("attention.head_count_kv", heads),
        head_dim=count("attention.key_length", max(hidden // heads, 1)),
        max_positions=count("context_length", most=MOST_POSITIONS),
        rope_theta=_decimal(metadata, f"{family}.rope.freq_base", where, 10_000.0),
        norm_eps=_decimal(metadata, f"{family}.attention.layer_norm_rms_epsilon", where),
        tie_embeddings="output.weight" not in tensors,
        qkv_bias="blk.0.attn_q.bias" in tensors,
        output_bias="blk.0.attn_output.bias" in tensors,
        qk_norm=family == "qwen3",
        family=family,
    )


def with_rope_factors(config: ModelConfig, factors: Tensor, where: str) -> ModelConfig:
    """The shape with Llama 3's rope scaling, from what llama.cpp's converter made of it: `factors` [D/2].

    GGUF holds by how much each pair's frequency was divided, not the rule. Llama 3 models share all of the rule but the
    largest factor; a file that this rule does not explain is refused with a ConfigError.
    """
    plain = inverse_frequencies(config)
    if factors.shape == plain.shape and factors.max() >= 1:
        rule = RopeScaling(round(float(factors.max()), 3), 1.0, 4.0, original_max_positions=8192)
        scaled = replace(config, rope_scaling=rule)
        if torch.allclose(plain / factors, inverse_frequencies(scaled), rtol=1e-4, atol=0):
            return scaled
    raise ConfigError(
        f"{where}: rope_freqs.weight stretches positions in a way labkit does not implement: "
        "load the model's Hugging Face folder"
    )


def _family(metadata: Mapping[str, Any], where: str) -> Family:
    found = metadata.get("general.architecture")
    for family in FAMILIES:
        if family == found:
            return family
    raise ConfigError(
        f"{where}: general.architecture {str(found)[:80]!r} is not supported: labkit runs {', '.join(FAMILIES)} models"
    )


def _refuse_what_is_not_computed(metadata: Mapping[str, Any], family: Family, where: str) -> None:
    for key, accepted in (("expert_count", (None, 0)), ("rope.scaling.type", (None, "none"))):
        value = metadata.get(f"{family}.{key}")
        if value not in accepted:
            raise ConfigError(
                f"{where}: {family}.{key} = {str(value)[:80]!r} is not implemented: use another model"
            )
    head = metadata.get(f"{family}.attention.key_length")
    for key in ("attention.value_length", "rope.dimension_count"):
        value = metadata.get(f"{family}.{key}")
        if head is not None and value not in (None, head):
            raise ConfigError(
                f"{where}: {family}.{key} = {value!r} differs from the head size {head}: not implemented"
            )


def _decimal(metadata: Mapping[str, Any], key: str, where: str, default: float | None = None) -> float:
    """A number stored as fp32, as the shortest decimal that it can have come from (1e-05, not 9.99999974e-06)."""
    value = metadata.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ConfigError(f"{where}: {key} = {str(value)[:80]!r} must be a positive number")
    return float(str(np.float32(value)))
