"""PagedAttention (arXiv 2309.06180, §4.3): attention whose keys and values lie in blocks, wherever there was room.

Here is the torch reference, fast enough to be the CPU's way. What is the same for all layers, where every
token of every context lies, is worked out once a step; a layer then reads the pool in place or gathers what
it needs. The price is that look-up; it is lost where a sequence could have lain in one piece anyway.

Rows of a step come packed, without padding: the chunks of all sequences one behind the other, decodes (one row
each) first.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Layout:
    """Where the contexts of a step's B chunks lie.

    - `counts`: each chunk's new tokens; they are the last of its context.
    - `contexts`: each chunk's context length S, new tokens included.
    - `tables`: each context's blocks, in order; token p is in slot `table[p // P] * P + p % P`.
    - `block_size`: P.
    - `heads`, `kv_heads`: H and K.
    """

    counts: Sequence[int]
    contexts: Sequence[int]
    tables: Sequence[Sequence[int]]
    block_size: int
    heads: int
    kv_heads: int

    def only(self, chosen: Sequence[int]) -> "Layout":
        """The layout of some of the chunks."""
        return Layout(
            [self.counts[i] for i in chosen], [self.contexts[i] for i in chosen],
            [self.tables[i] for i in chosen], self.block_size, self.heads, self.kv_heads,
        )  # fmt: skip

    def slots(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The slots of every context, [B, longest S], padded with some slot; and which count, the same shape."""
        size, longest = self.block_size, max(self.contexts)
        width = -(-longest // size)
        tables = [list(table[:width]) for table in self.tables]
        padded = torch.tensor([table + [0] * (width - len(table)) for table in tables], device=device)
        positions = torch.arange(longest, device=device)
        lengths = torch.tensor(self.contexts, device=device).unsqueeze(1)
        return padded[:, positions // size] * size + positions % size, positions < lengths


class Attended(Protocol):
    """The attention of a step, for any layer."""

    def __call__(self, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """One layer's output: `q` [T, H, D], `keys` and `values` [slots, K, D] → [T, H, D]."""


def paged_attention(layout: Layout, device: torch.device, dtype: torch.dtype) -> Attended:
    """The torch reference for one step."""
    sparse = device.type == "cpu" and dtype == torch.float32
    decodes = sum(1 for count in layout.counts if count == 1) if sparse else 0
    parts: list[tuple[Attended, Tensor]] = []
    if decodes:
        parts.append((SparseDecode(layout.only(range(decodes)), device), torch.arange(decodes)))
    starts = torch.tensor([0, *layout.counts]).cumsum(0).tolist()
    for chosen in _alike(layout.contexts, decodes):
        rows = torch.cat([torch.arange(starts[i], starts[i + 1]) for i in chosen]).to(device)
        parts.append((GatheredContexts(layout.only(chosen), device), rows))
    return parts[0][0] if len(parts) == 1 else _Parts(parts)


def _alike(contexts: Sequence[int], first: int) -> list[list[int]]:
    """Chunks from `first` on in groups of like length: padding at most doubles a group's work."""
    groups: dict[int, list[int]] = {}
    for index in range(first, len(contexts)):
        groups.setdefault((contexts[index] - 1).bit_length(), []).append(index)
    return list(groups.values())


class _Parts:
    """Each part computes its own rows of the step."""

    def __init__(self, parts: list[tuple[Attended, Tensor]]) -> None:
        self.parts = parts

    def __call__(self, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        out = torch.empty_like(q)
        for attend, rows in self.parts:
            out[rows] = attend(q[rows], keys, values)
        return out


class GatheredContexts:
    """Chunks of any length, by copying their contexts out of the pool into a padded rectangle."""

    def __init__(self, layout: Layout, device: torch.device) -> None:
        self.slots, _ = layout.slots(device)
        self.shape = (len(layout.counts), max(layout.counts))
        counts, contexts = (
            torch.tensor(lengths, device=device).unsqueeze(1) for lengths in (layout.counts, layout.contexts)
        )
        rows = torch.arange(self.shape[1], device=device)
        self.filled = rows < counts  # [B, longest count]: the rectangle's rows that are real
        own = contexts - counts + rows  # the position of each row
        positions = torch.arange(self.slots.shape[1], device=device)
        self.mask = (positions <= own.unsqueeze(2)).unsqueeze(1)  # [B, 1, longest count, longest S]
        self.grouped = layout.heads != layout.kv_heads

    def __call__(self, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """These chunks' rows of a layer."""
        padded = q.new_zeros(*self.shape, *q.shape[1:])
        padded[self.filled] = q
        out = F.scaled_dot_product_attention(
            padded.transpose(1, 2), keys[self.slots].transpose(1, 2), values[self.slots].transpose(1, 2),
            attn_mask=self.mask, enable_gqa=self.grouped,
        )  # fmt: skip
        return out.transpose(1, 2)[self.filled]


class SparseDecode:
    """One row a sequence, reading the pool in place: no key or value is copied.

    The block tables are the pattern of a sparse matrix: row (b, h) has an entry for every token of b's context, in
    the column of that token's slot and KV head. The scores are the product of queries and keys sampled at these
    entries; the output is a weighted sum of value rows, which is what an embedding bag is.
    """

    def __init__(self, layout: Layout, device: torch.device) -> None:
        slots, there = layout.slots(device)
        batch, heads, longest = len(layout.counts), layout.heads, slots.shape[1]
        kv_head = torch.arange(heads, device=device) // (heads // layout.kv_heads)
        columns = slots.unsqueeze(1) * layout.kv_heads + kv_head.view(1, heads, 1)  # [B, H, longest S]
        there = there.unsqueeze(1).expand(batch, heads, longest)
        self.columns = columns[there]
        self.entries = there.reshape(-1).nonzero().squeeze(1)
        lengths = torch.tensor(layout.contexts, device=device).repeat_interleave(heads)
        self.starts = F.pad(lengths.cumsum(0), (1, 0))
        self.zeros = torch.zeros(len(self.columns), device=device)
        self.scores = torch.full((batch * heads, longest), float("-inf"), device=device)

    def __call__(self, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """These sequences' rows of a layer."""
        width = q.shape[-1]
        queries = q.reshape(-1, width) * width**-0.5
        scores = _sampled_product(self.starts, self.columns, self.zeros, queries, keys.view(-1, width))
        self.scores.view(-1).index_copy_(0, self.entries, scores)
        weights = torch.softmax(self.scores, dim=-1).view(-1).index_select(0, self.entries)
        out = F.embedding_bag(
            self.columns, values.view(-1, width), self.starts, mode="sum", per_sample_weights=weights,
            include_last_offset=True,
        )  # fmt: skip
        return out.view(q.shape)


def _sampled_product(starts: Tensor, columns: Tensor, zeros: Tensor, q: Tensor, keys: Tensor) -> Tensor:
    """`q @ keys.T` at the entries of a CSR pattern only, as a flat list: `q` [rows, D], `keys` [columns, D]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its compressed-row layout a beta, once
        shape = (q.shape[0], keys.shape[0])
        pattern = torch.sparse_csr_tensor(starts, columns, zeros, shape, check_invariants=False)
    product: Tensor = torch.sparse.sampled_addmm(pattern, q, keys.t(), beta=0.0)
    return product.values()
