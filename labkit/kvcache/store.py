"""The memory itself: a row of slots in every layer, one token's keys and values each. Which slot is whose, a KV manager
decides (`labkit.kvcache.manager`).
"""

import torch
from torch import Tensor

from labkit.errors import ConfigError
from labkit.model.config import ModelConfig


class KVStore:
    """Keys and values of all sequences: for each of the L layers [slots, K, D]. `bytes_copied` counts block copies.

    Raises ConfigError if the slots are not whole blocks.
    """

    def __init__(
        self,
        config: ModelConfig,
        slots: int,
        block_size: int = 1,
        *,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        if slots < 1 or slots % block_size:
            raise ConfigError(f"{slots} slots in blocks of {block_size}: need whole blocks, at least one")
        shape = (config.num_layers, slots, config.num_kv_heads, config.head_dim)
        # Zeros: what nobody wrote is masked by a weight of 0, and 0 times a leftover NaN would be NaN.
        self.keys = torch.zeros(shape, dtype=dtype, device=device).unbind()
        self.values = torch.zeros(shape, dtype=dtype, device=device).unbind()
        self.slots, self.block_size = slots, block_size
        self.bytes_copied = 0

    def write(self, layer: int, slots: Tensor, k: Tensor, v: Tensor) -> None:
        """Store T new tokens: `slots` [T], `k`, `v` [T, K, D]."""
        self.keys[layer].index_copy_(0, slots, k)
        self.values[layer].index_copy_(0, slots, v)

    def copy_blocks(self, copies: list[tuple[int, int]]) -> None:
        """Copy whole blocks, (from, to), in every layer; all are read before any is written."""
        if not copies:
            return
        sources, targets = torch.tensor(copies, device=self.keys[0].device).unbind(1)
        for strip in (*self.keys, *self.values):
            blocks = strip.view(-1, self.block_size * strip.shape[1] * strip.shape[2])
            blocks[targets] = blocks[sources]
        self.bytes_copied += len(copies) * self.block_size * self.bytes // self.slots

    @property
    def bytes(self) -> int:
        """Memory reserved, filled or not."""
        return sum(strip.numel() * strip.element_size() for strip in (*self.keys, *self.values))
