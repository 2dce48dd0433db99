"""Rotary position embedding: turn each pair of a head's dimensions by an angle proportional to the token's
position.

The dot product of a turned query and a turned key depends only on their distance (RoFormer, arXiv
2104.09864). Pairs are (i, i + D/2), the layout of Hugging Face checkpoints. Llama 3 stretches the long
wavelengths to reach longer contexts.
"""

import math

import torch
from torch import Tensor

from labkit.model.config import ModelConfig, RopeScaling


def inverse_frequencies(config: ModelConfig) -> Tensor:
    """Radians per position of each pair, [D/2], in fp32."""
    exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    frequencies = 1.0 / config.rope_theta**exponents
    return frequencies if config.rope_scaling is None else _stretch(frequencies, config.rope_scaling)


def _stretch(frequencies: Tensor, scaling: RopeScaling) -> Tensor:
    """Divide the slow pairs' frequencies by the factor, keep the fast ones, blend in between (Llama 3.1)."""
    turns = scaling.original_max_positions * frequencies / (2 * math.pi)
    span = scaling.high_freq_factor - scaling.low_freq_factor
    keep = ((turns - scaling.low_freq_factor) / span).clamp(0, 1)
    return frequencies * (keep + (1 - keep) / scaling.factor)


def rotation_table(config: ModelConfig) -> tuple[Tensor, Tensor]:
    """Cosines, and sines signed for `rotate`, of every position: two of [max_positions, D], in fp32."""
    angles = torch.outer(torch.arange(config.max_positions, dtype=torch.float32), inverse_frequencies(config))
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)


def rotate(x: Tensor, cos: Tensor, signed_sin: Tensor) -> Tensor:
    """Turn `x` [T, heads, D] by its positions' angles; `cos`, `signed_sin` [T, 1, D].

    For the pair (a, b): (a·cos − b·sin, b·cos + a·sin). Rolling by half a head puts each partner in place.
    """
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, dims=-1), signed_sin)
