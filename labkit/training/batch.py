"""Documents packed end to end into one step of T tokens, with no padding: attention never crosses a document.

The model's layout makes this cheap. It takes T tokens of any number of sequences, so every matrix product
runs over all of them at once; only `attend` has to know where one document ends. Documents of equal length
share one attention call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import Tensor

from labkit.model.attention import Attend


@dataclass(frozen=True)
class Batch:
    """`tokens`, `positions`, `targets` [T] int64, `lengths` of the documents in order; every token has a
    target.
    """

    tokens: Tensor
    positions: Tensor
    targets: Tensor
    lengths: tuple[int, ...]

    def to(self, device: torch.device) -> Batch:
        """The same batch on `device`."""
        return Batch(self.tokens.to(device), self.positions.to(device), self.targets.to(device), self.lengths)


def pack(documents: Sequence[Sequence[int]]) -> Batch:
    """One batch of `documents`, each at least two tokens: every token but a document's last predicts the one
    after it.
    """
    ordered = sorted(documents, key=len)
    lengths = tuple(len(document) - 1 for document in ordered)
    tokens = [token for document in ordered for token in document[:-1]]
    targets = [token for document in ordered for token in document[1:]]
    positions = torch.cat([torch.arange(length) for length in lengths])
    return Batch(torch.tensor(tokens), positions, torch.tensor(targets), lengths)


def attend_within(lengths: Sequence[int]) -> Attend:
    """Causal attention inside each of several documents packed one after another: `lengths`, ascending, sum
    to T.
    """
    groups = [(length, len(list(same))) for length, same in groupby(lengths)]
    sizes = [length * count for length, count in groups]

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        parts = []
        for (length, count), *qkv in zip(groups, q.split(sizes), k.split(sizes), v.split(sizes), strict=True):
            queries, keys, values = (x.view(count, length, *x.shape[1:]).transpose(1, 2) for x in qkv)
            out = F.scaled_dot_product_attention(
                queries, keys, values, is_causal=True, enable_gqa=q.shape[1] != k.shape[1]
            )
            parts.append(out.transpose(1, 2).reshape(count * length, *q.shape[1:]))
        return torch.cat(parts)

    return attend


def steps(documents: Iterator[Sequence[int]], tokens_per_step: int) -> Iterator[list[Sequence[int]]]:
    """Group documents so that every group has at least `tokens_per_step` tokens; a rest that is too short is
    dropped.
    """
    group: list[Sequence[int]] = []
    for document in documents:
        group.append(document)
        if sum(map(len, group)) >= tokens_per_step:
            yield group
            group = []


def deal(documents: Sequence[Sequence[int]], hands: int) -> list[list[Sequence[int]]]:
    """Deal documents to `hands` workers, longest first, always to the one with the fewest tokens; no hand is
    empty.
    """
    dealt: list[list[Sequence[int]]] = [[] for _ in range(min(hands, len(documents)))]
    for document in sorted(documents, key=len, reverse=True):
        min(dealt, key=lambda hand: sum(map(len, hand))).append(document)
    return dealt
