"""From GGUF's quantized blocks back to numbers.

A block of 32 weights shares one fp16 scale d (and, in the asymmetric kinds, one fp16 minimum m); each weight
is a small whole number q, two to a byte where 4 bits do: w = d·q + m. The three kinds most small files use
are expanded here, with torch's threads and without temporaries in fp64; every other kind by the gguf package.
"""

from collections.abc import Callable
from typing import Any

import gguf
import numpy as np
import torch
from torch import Tensor

from labkit.errors import WeightsError

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_PLAIN = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def dequantize(data: Bytes, kind: gguf.GGMLQuantizationType, shape: tuple[int, ...], where: str) -> Tensor:
    """The numbers in a tensor's bytes, `shape`; fp32 unless the file has them in another floating-point type.

    Raises WeightsError, beginning with `where`, for a kind that nothing here expands.
    """
    raw = torch.from_numpy(data)
    if kind.name in _PLAIN:
        return raw.view(_PLAIN[kind.name]).view(shape)
    if kind.name in _BLOCKS:
        return _BLOCKS[kind.name](raw).view(shape)
    try:
        return torch.from_numpy(gguf.dequantize(data, kind)).view(shape)
    except Exception as error:  # a package that says NotImplementedError, or trips over the content
        raise WeightsError(
            f"{where} is of kind {kind.name}, which cannot be expanded: choose another file"
        ) from error


def _q8_0(raw: Tensor) -> Tensor:
    """Blocks of 34 bytes: d, then 32 signed bytes."""
    blocks = raw.view(-1, 34)
    return blocks[:, 2:].view(torch.int8) * _halves(blocks, 0)


def _q4_0(raw: Tensor) -> Tensor:
    """Blocks of 18 bytes: d, then 16 bytes of two weights each; q counts from -8."""
    blocks = raw.view(-1, 18)
    return _nibbles(blocks[:, 2:]).sub_(8).mul_(_halves(blocks, 0))


def _q4_1(raw: Tensor) -> Tensor:
    """Blocks of 20 bytes: d, m, then 16 bytes of two weights each."""
    blocks = raw.view(-1, 20)
    return _nibbles(blocks[:, 4:]).mul_(_halves(blocks, 0)).add_(_halves(blocks, 1))


_BLOCKS: dict[str, Callable[[Tensor], Tensor]] = {"Q8_0": _q8_0, "Q4_0": _q4_0, "Q4_1": _q4_1}


def _halves(blocks: Tensor, index: int) -> Tensor:
    """The fp16 number at a place in each block, as fp32: [blocks, 1]."""
    return blocks[:, 2 * index : 2 * index + 2].contiguous().view(torch.float16).float()


def _nibbles(packed: Tensor) -> Tensor:
    """16 bytes a block → 32 numbers from 0 to 15, as fp32: the low halves of all bytes first, then the high ones."""
    out = torch.empty(packed.shape[0], 32)
    out[:, :16] = packed & 15
    out[:, 16:] = packed >> 4
    return out
