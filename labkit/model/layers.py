"""The two layers a transformer is made of: a matrix product and a norm.

The matrix product is where a decode step spends its time, and at one token a step it does nothing but read
the weights. `linear` keeps one layout, `[out, in]`, and picks the product by device and by the number of rows:
`F.linear` on an accelerator and for many rows; for few rows on a CPU, the one that is faster there (`products`).
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from labkit.errors import ConfigError
from labkit.model.products import fastest

FEW_ROWS = 64
"""Up to this many rows a CPU product is limited by reading the weights."""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x @ weight.T + bias` by the fastest product for this device and this many rows: `x` [T, in] → [T,
    out].
    """
    if not x.is_cpu or x.shape[0] > FEW_ROWS or torch.is_grad_enabled():
        return F.linear(x, weight, bias)
    product = fastest(x.shape[0] == 1, x.dtype)(x, weight)
    return product if bias is None else product + bias


class Layer(nn.Module):
    """A module that is called directly, without nn.Module's machinery for hooks.

    A decode step calls ten modules a layer, and on a CPU that machinery takes a twentieth of its time. To watch or
    change what a layer does, replace it by another; a hook is refused, since it would never run.
    """

    def __call__(self, *inputs: Any) -> Any:
        """The same as `forward`."""
        return self.forward(*inputs)

    def register_forward_hook(self, *_: Any, **__: Any) -> RemovableHandle:
        """Always raises ConfigError."""
        raise ConfigError(f"{type(self).__name__} runs no hooks: put another layer in its place")

    register_forward_pre_hook = register_forward_hook


class Linear(Layer):
    """`x @ weight.T + bias`: `x` [T, in] → [T, out], `weight` [out, in]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """`x` [T, in] → [T, out]."""
        return linear(x, self.weight, self.bias)


class RMSNorm(Layer):
    """Scale to unit root mean square, then by a learned weight (arXiv 1910.07467): `x` [..., size] → [..., size]."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps
        self._eps, self._inverse_size = torch.tensor(eps, device="cpu"), 1 / size

    def forward(self, x: Tensor) -> Tensor:
        """`x` [..., size] → [..., size]; computed in fp32 whatever the type of `x`."""
        if not x.is_cpu or x.dtype != torch.float32 or torch.is_grad_enabled():
            return F.rms_norm(x, self.weight.shape, self.weight, self.eps)
        # The same in five operations: on a CPU F.rms_norm is a chain of ten, and in a decode step, where every
        # layer's weights push the code out of the caches, their overhead is a twentieth of the time.
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        mean_square = torch.addcmul(self._eps, norm, norm, value=self._inverse_size)
        return x * mean_square.rsqrt_() * self.weight
