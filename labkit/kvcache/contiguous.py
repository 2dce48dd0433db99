"""The simplest KV cache: one strip of memory, as long as the sequence may become, filled from the left.

A token's keys and values never change once computed, so keeping them turns the work of step n from n tokens
into one. The price is memory that grows with the context, and here, memory reserved up front for tokens that
may never come: question 4 of the tree. Reading a strip is as fast as reading gets, which makes it the
yardstick for every other layout.
"""

import torch
from torch import Tensor

from labkit.errors import RequestError
from labkit.model.attention import attention
from labkit.model.config import ModelConfig


class ContiguousCache:
    """Keys and values of one sequence, L strips each of [K, capacity, D]; the first `length` slots of each
    are filled.

    Raises RequestError if a step would not fit in what is left.
    """

    def __init__(
        self,
        config: ModelConfig,
        capacity: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        if capacity < 1:
            raise RequestError(f"capacity {capacity}: a cache holds at least one token")
        shape = (config.num_layers, config.num_kv_heads, capacity, config.head_dim)
        # A list of layers: picking one out of a tensor at every step would be an operation of its own.
        self.keys = torch.empty(shape, dtype=dtype, device=device).unbind()
        self.values = torch.empty(shape, dtype=dtype, device=device).unbind()
        self.capacity = capacity
        self.length = 0

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Store the T new keys and values behind the past, then attend to all of it (see
        `labkit.model.attention`).
        """
        end = self.length + k.shape[0]
        if end > self.capacity:
            raise RequestError(
                f"the cache holds {self.capacity} tokens and {end} are needed: ask for a larger capacity"
            )
        keys, values = self.keys[layer], self.values[layer]
        keys.narrow(1, self.length, k.shape[0]).copy_(k.transpose(0, 1))
        values.narrow(1, self.length, v.shape[0]).copy_(v.transpose(0, 1))
        return attention(q, keys.narrow(1, 0, end), values.narrow(1, 0, end))

    def advance(self, tokens: int) -> None:
        """A step is over: its `tokens` tokens are now part of the past."""
        if not 0 <= tokens <= self.capacity - self.length:
            raise RequestError(
                f"cannot advance by {tokens}: {self.length} of {self.capacity} slots are filled"
            )
        self.length += tokens

    def rewind(self, tokens: int) -> None:
        """Forget the last `tokens` tokens; their slots will be overwritten."""
        if not 0 <= tokens <= self.length:
            raise RequestError(f"cannot rewind by {tokens}: {self.length} tokens are cached")
        self.length -= tokens

    @property
    def bytes(self) -> int:
        """Memory reserved, filled or not."""
        return sum(strip.numel() * strip.element_size() for strip in (*self.keys, *self.values))
