"""The roofline: a step takes at least its arithmetic over the peak, and at least its bytes over the
bandwidth.

Which of the two binds depends on one ratio, the arithmetic intensity (operations per byte), against the
machine's ridge (Williams, Waterman and Patterson 2009). The floor assumes perfect overlap and no overhead;
real steps take longer.
"""

from dataclasses import dataclass

from labkit.errors import ConfigError
from labkit.model.config import ModelConfig


@dataclass(frozen=True)
class Work:
    """What one forward pass must do: floating-point operations, and bytes moved between memory and processor."""

    flops: float
    bytes: float

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.bytes


def ridge(flops_per_second: float, bytes_per_second: float) -> float:
    """The intensity, in operations per byte, above which arithmetic binds and below which memory does."""
    return flops_per_second / bytes_per_second


def attainable(intensity: float, flops_per_second: float, bytes_per_second: float) -> float:
    """The most operations per second that work of this intensity can reach: the lower of the two roofs."""
    return min(flops_per_second, intensity * bytes_per_second)


def floor_seconds(work: Work, flops_per_second: float, bytes_per_second: float) -> float:
    """The least time the work can take, seconds: the slower of arithmetic and memory, perfectly overlapped."""
    return max(work.flops / flops_per_second, work.bytes / bytes_per_second)


def prefill_work(config: ModelConfig, tokens: int, dtype_bytes: float = 2) -> Work:
    """Work of a prompt of `tokens` tokens, up to the scores of the next one.

    Each token attends to itself and all before it: tokens·(tokens + 1)/2 pairs. Only the last row meets the
    LM head. Bytes: all matrices once, the new keys and values written and read once; activations stay in
    caches and are left out.
    """
    _require_positive(tokens=tokens)
    pairs = tokens * (tokens + 1) / 2
    flops = (
        2 * _layer_parameters(config) * tokens
        + 2 * _head_parameters(config)
        + _attention_flops(config, pairs)
    )
    moved = config.matmul_parameters * dtype_bytes + 2 * tokens * config.kv_bytes_per_token(dtype_bytes)
    return Work(flops, moved)


def decode_work(config: ModelConfig, batch: int, context: int, dtype_bytes: float = 2) -> Work:
    """Work of one decode step: `batch` sequences, each with `context` tokens before the new one.

    Bytes: all matrices once, however many sequences share them; every sequence's cache read, its new entry
    written.
    """
    _require_positive(batch=batch)
    pairs = batch * (context + 1)
    flops = 2 * config.matmul_parameters * batch + _attention_flops(config, pairs)
    moved = config.matmul_parameters * dtype_bytes + (pairs + batch) * config.kv_bytes_per_token(dtype_bytes)
    return Work(flops, moved)


def _attention_flops(config: ModelConfig, pairs: float) -> float:
    return 4 * config.num_layers * config.num_heads * config.head_dim * pairs


def _head_parameters(config: ModelConfig) -> int:
    return config.vocab_size * config.hidden_size


def _layer_parameters(config: ModelConfig) -> int:
    return config.matmul_parameters - _head_parameters(config)


def _require_positive(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise ConfigError(f"{name} = {value}: must be at least 1")
