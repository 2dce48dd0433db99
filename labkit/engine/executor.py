"""From a batch to tokens: pack the rows of all sequences, run the model once, draw every next token.

Rows are packed without padding, so a step costs what its tokens cost, whoever they belong to. Only rows whose next
token is wanted go through the LM head. The step reads the device once, for the drawn tokens.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Protocol

import torch
from torch import Tensor

from labkit.engine import sampling
from labkit.engine.batch import Batch, Chunk, Result
from labkit.engine.sampling import TokenLogprobs, token_logprobs
from labkit.kernels.paged_attention import Attended, Layout, paged_attention
from labkit.kvcache import paged
from labkit.kvcache.store import KVStore
from labkit.model.transformer import Transformer

Backend = Callable[[Layout, torch.device, torch.dtype], Attended]
"""Prepares a step's attention: `labkit.kernels.paged_attention.paged_attention` is the reference."""


class Executor(Protocol):
    """Computes batches, or pretends to."""

    def execute(self, batch: Batch) -> Result:
        """The next token of each chunk that emits, and how long the step took."""


class TorchExecutor:
    """Runs a transformer over a `KVStore`; `backend` computes the attention."""

    def __init__(self, model: Transformer, store: KVStore, backend: Backend = paged_attention) -> None:
        self.model, self.store, self.backend = model, store, backend

    @torch.inference_mode()
    def execute(self, batch: Batch) -> Result:
        """One forward pass over all chunks."""
        begin = perf_counter()
        self.store.copy_blocks(batch.copies)
        hidden = self._forward(batch)
        emitting = [chunk for chunk in batch.chunks if chunk.emits]
        if not emitting:
            return Result([], perf_counter() - begin, [])
        logits = self.model.logits(hidden[self._last_rows(batch.chunks)])
        params = [chunk.sequence.request.params for chunk in emitting]
        tokens = sampling.draw(logits, params, [chunk.sequence.random for chunk in emitting])
        return Result(tokens, perf_counter() - begin, _logprobs(logits, emitting, tokens))

    def _forward(self, batch: Batch) -> Tensor:
        chunks, device = batch.chunks, self.model.device
        tokens = [token for chunk in chunks for token in chunk.sequence.tokens[chunk.start : chunk.end]]
        positions = [position for chunk in chunks for position in range(chunk.start, chunk.end)]
        padding = [0] * batch.padding
        hidden: Tensor = self.model(
            torch.tensor(tokens + padding, device=device),
            torch.tensor(positions + padding, device=device),
            _StepAttention(self.store, self._layout(chunks), self._slots(chunks), self.backend),
        )
        return hidden

    def _layout(self, chunks: Sequence[Chunk]) -> Layout:
        config = self.model.config
        return Layout(
            [chunk.count for chunk in chunks], [chunk.end for chunk in chunks], [chunk.table for chunk in chunks],
            self.store.block_size, config.num_heads, config.num_kv_heads,
        )  # fmt: skip

    def _slots(self, chunks: Sequence[Chunk]) -> Tensor:
        """The slot mapping: where each new token's keys and values go, [T]."""
        size = self.store.block_size
        slots = [
            paged.slot_of(chunk.table, p, size) for chunk in chunks for p in range(chunk.start, chunk.end)
        ]
        return torch.tensor(slots, device=self.model.device)

    def _last_rows(self, chunks: Sequence[Chunk]) -> Tensor:
        rows, end = [], 0
        for chunk in chunks:
            end += chunk.count
            if chunk.emits:
                rows.append(end - 1)
        return torch.tensor(rows, device=self.model.device)


class _StepAttention:
    """`attend` for one step: store the new keys and values in their slots, then read through the tables."""

    def __init__(self, store: KVStore, layout: Layout, slots: Tensor, backend: Backend) -> None:
        self.store, self.slots = store, slots
        self.attended = backend(layout, slots.device, store.keys[0].dtype)

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        tokens = len(self.slots)
        self.store.write(layer, self.slots, k[:tokens], v[:tokens])
        out = self.attended(q[:tokens], self.store.keys[layer], self.store.values[layer])
        if tokens == len(q):
            return out
        # Padding rows belong to nobody: they have no past to attend to, and nobody looks at what they become.
        return torch.cat((out, torch.zeros_like(q[tokens:])))


def _logprobs(logits: Tensor, emitting: list[Chunk], tokens: list[int]) -> list[TokenLogprobs | None]:
    counts = [chunk.sequence.request.params.logprobs for chunk in emitting]
    return [
        None if count is None else token_logprobs(logits[row], tokens[row], count)
        for row, count in enumerate(counts)
    ]
