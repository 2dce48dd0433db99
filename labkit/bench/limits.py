"""The two ceilings of a machine: bytes read per second and floating-point operations per second, measured.

Every speed of the course is set against one of them. Both are measured with the plainest code that reaches
them, on data larger than any cache.
"""

from dataclasses import dataclass

import torch

from labkit.bench.timing import Measurement, Timing, interleaved, timed
from labkit.model.load import LanguageModel
from labkit.model.transformer import Transformer
from labkit.report import Row

READ_BYTES = 2**29
"""Bytes read per measurement: half a GiB, beyond any cache."""


def reading(buffer: torch.Tensor) -> Measurement:
    """Seconds to read `buffer` once, by summing it."""
    return timed(buffer.sum)


def weight_bytes(model: Transformer) -> int:
    """Bytes of weights that every decode step must read: all, but for an embedding table that is not the LM head."""
    table = 0 if model.lm_head is None else model.embedding.nbytes
    return sum(weight.nbytes for weight in model.parameters()) - table


def described(lm: LanguageModel) -> Row:
    """What was measured, and on how much of which device: the facts that every report on a model needs."""
    return {
        "model": lm.name,
        "dtype": str(lm.model.dtype).removeprefix("torch."),
        "device": str(lm.model.device),
        "threads": torch.get_num_threads(),
    }


def reading_weights(model: Transformer) -> Measurement:
    """Seconds to read once as many bytes as the model's weights are, on its device: the floor of a decode step."""
    return reading(torch.ones(weight_bytes(model) // 4, device=model.device))


def multiplying(size: int, device: str | torch.device, dtype: torch.dtype) -> Measurement:
    """Seconds of one product of two `size`-square matrices: 2·size³ floating-point operations."""
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return timed(lambda: torch.mm(a, b))


@dataclass(frozen=True)
class Limits:
    """What a device reached: bytes per second read, and floating-point operations per second in matrix
    products.
    """

    device: str
    dtype: str
    bytes_per_second: float
    flops_per_second: float
    reading: Timing
    multiplying: Timing


def measure_limits(
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    repeats: int = 7,
    size: int | None = None,
) -> Limits:
    """Measure both ceilings, best of `repeats` rounds in turns; about a second on two cores."""
    on_cpu = torch.device(device).type == "cpu"
    size = size or (1024 if on_cpu else 8192)
    buffer = torch.ones(READ_BYTES // 4, device=device)
    timings = interleaved({"read": reading(buffer), "multiply": multiplying(size, device, dtype)}, repeats)
    read, multiply = timings["read"], timings["multiply"]
    return Limits(
        str(device),
        str(dtype).removeprefix("torch."),
        READ_BYTES / read.best,
        2 * size**3 / multiply.best,
        read,
        multiply,
    )
