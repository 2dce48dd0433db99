"""`config.json` of a Hugging Face checkpoint ↔ `ModelConfig`.

What labkit does not compute (sliding windows, mixtures of experts, other activations or rotary variants,
quantized weights) is refused by name: a model that loads is the model its authors published. Both spellings
of the rotary settings are read: `rope_theta` + `rope_scaling`, and `rope_parameters` as transformers 5 writes
it.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.errors import ConfigError
from labkit.model.config import FAMILIES, Family, ModelConfig, RopeScaling

MOST_LAYERS = 1024
MOST_POSITIONS = 2**21
"""Limits on what a `config.json` may ask for before any weight proves it: positions cost a rotation table in memory."""

_ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
_DEFAULT_POSITIONS = {"llama": 2048, "qwen2": 32_768, "qwen3": 32_768}
_MUST_BE = {
    "hidden_act": "silu",
    "mlp_bias": False,
    "partial_rotary_factor": 1.0,
    "use_sliding_window": False,
    "quantization_config": None,
}


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises ConfigError, with the file's name, if there is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist: is this a Hugging Face model folder?") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not readable JSON ({error}): download it again") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} holds a JSON {type(data).__name__}, not an object: download it again")
    return data


def from_hf(data: Mapping[str, Any], where: str = "config.json") -> ModelConfig:
    """The shape that a `config.json` describes. `where` names it in errors.

    Raises ConfigError naming field, value and remedy for whatever labkit does not implement.
    """
    family = _family(data, where)
    _refuse_what_is_not_computed(data, where)
    heads, hidden = _count(data, "num_attention_heads", where), _count(data, "hidden_size", where)
    default_head = 128 if family == "qwen3" else max(hidden // heads, 1)
    bias = bool(data.get("attention_bias", False)) and family != "qwen2"
    theta, scaling = _rope(data, where)
    return ModelConfig(
        vocab_size=_count(data, "vocab_size", where),
        hidden_size=hidden,
        intermediate_size=_count(data, "intermediate_size", where),
        num_layers=_count(data, "num_hidden_layers", where, most=MOST_LAYERS),
        num_heads=heads,
        num_kv_heads=_count(data, "num_key_value_heads", where, default=heads),
        head_dim=_count(data, "head_dim", where, default=default_head),
        max_positions=_count(
            data, "max_position_embeddings", where, _DEFAULT_POSITIONS[family], MOST_POSITIONS
        ),
        rope_theta=theta,
        rope_scaling=scaling,
        norm_eps=_number(data, "rms_norm_eps", where, default=1e-6),
        tie_embeddings=bool(data.get("tie_word_embeddings", False)),
        qkv_bias=bias or family == "qwen2",
        output_bias=bias,
        qk_norm=family == "qwen3",
        family=family,
    )


def to_hf(config: ModelConfig) -> dict[str, Any]:
    """The `config.json` content for a shape. Raises ConfigError if no supported architecture has that shape."""
    biases = (config.qkv_bias, config.output_bias)
    possible = [(True, False)] if config.family == "qwen2" else [(False, False), (True, True)]
    if biases not in possible or config.qk_norm != (config.family == "qwen3"):
        raise ConfigError(
            f"no Hugging Face {config.family} model has qkv_bias={config.qkv_bias}, "
            f"output_bias={config.output_bias}, qk_norm={config.qk_norm}: change the family or the biases"
        )
    data = {
        "architectures": [_ARCHITECTURES[config.family]],
        "model_type": config.family,
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": config.max_positions,
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rope_theta,
        "rope_scaling": _rope_scaling_to_hf(config.rope_scaling),
        "tie_word_embeddings": config.tie_embeddings,
    }
    return data if config.family == "qwen2" else data | {"attention_bias": config.output_bias}


def _rope_scaling_to_hf(scaling: RopeScaling | None) -> dict[str, Any] | None:
    if scaling is None:
        return None
    return {
        "rope_type": "llama3",
        "factor": scaling.factor,
        "low_freq_factor": scaling.low_freq_factor,
        "high_freq_factor": scaling.high_freq_factor,
        "original_max_position_embeddings": scaling.original_max_positions,
    }


def _family(data: Mapping[str, Any], where: str) -> Family:
    found = data.get("model_type")
    for family in FAMILIES:
        if family == found:
            return family
    raise ConfigError(
        f"{where}: model_type {str(found)[:80]!r} is not supported: labkit runs {', '.join(FAMILIES)} models"
    )


def _refuse_what_is_not_computed(data: Mapping[str, Any], where: str) -> None:
    for field, only in _MUST_BE.items():
        value = data.get(field)
        if value is not None and value != only:
            raise ConfigError(
                f"{where}: {field} = {str(value)[:80]!r} is not implemented (labkit needs {only!r}): "
                "choose a checkpoint without it"
            )
    kinds = data.get("layer_types") or []
    odd = [kind for kind in kinds if kind != "full_attention"] if isinstance(kinds, list) else [kinds]
    if odd:
        raise ConfigError(
            f"{where}: layer_types contains {str(odd[0])[:80]!r}, which is not implemented (only full_attention): "
            "choose a checkpoint without it"
        )


def _rope(data: Mapping[str, Any], where: str) -> tuple[float, RopeScaling | None]:
    settings = data.get("rope_parameters") or data.get("rope_scaling") or {}
    if not isinstance(settings, Mapping):
        raise ConfigError(
            f"{where}: rope settings {str(settings)[:80]!r} are not an object: download it again"
        )
    theta = _number(settings if "rope_theta" in settings else data, "rope_theta", where, default=10_000.0)
    kind = settings.get("rope_type", settings.get("type", "default"))
    if kind == "default":
        return theta, None
    if kind != "llama3":
        raise ConfigError(
            f"{where}: rope type {str(kind)[:80]!r} is not implemented (default and llama3 are): "
            "choose a checkpoint without it"
        )
    return theta, RopeScaling(
        factor=_number(settings, "factor", where),
        low_freq_factor=_number(settings, "low_freq_factor", where),
        high_freq_factor=_number(settings, "high_freq_factor", where),
        original_max_positions=_count(settings, "original_max_position_embeddings", where),
    )


def _count(
    data: Mapping[str, Any], field: str, where: str, default: int | None = None, most: int = 2**40
) -> int:
    value = data.get(field)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ConfigError(f"{where}: {field} = {str(value)[:80]!r} must be a whole number from 1 to {most}")
    return value


def _number(data: Mapping[str, Any], field: str, where: str, default: float | None = None) -> float:
    value = data.get(field)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ConfigError(f"{where}: {field} = {str(value)[:80]!r} must be a positive number")
    return float(value)
