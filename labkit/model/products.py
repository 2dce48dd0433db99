"""Two ways to multiply a few rows with a weight on a CPU, and a race that says which is the faster on this machine.

With few rows a product does nothing but read the weight, and a good one reads at the speed of memory. Which one does,
depends on the BLAS that torch found its way to. On an AMD machine `F.linear` drew a third of the bandwidth, since one
core multiplied alone, and the same product in slabs nine tenths; on an Intel machine it was the other way round, by a
factor of two. So it is measured, once a process, not believed.
"""

from collections.abc import Callable
from functools import cache
from math import gcd
from time import perf_counter

import torch
import torch.nn.functional as F
from torch import Tensor

Product = Callable[[Tensor, Tensor], Tensor]
"""`x @ weight.T`: `x` [T, in], `weight` [out, in] → [T, out]."""

MOST_SLABS = 32
"""Slabs a weight is cut into at most: enough for the threads of a common CPU, and each still long."""

SEVERAL = 16
"""Rows in the race for more than one row."""

_WEIGHTS, _SHAPE, _LAPS = 24, (1536, 576), 4  # 85 MB a lap: more than most caches hold


def slab_product(x: Tensor, weight: Tensor) -> Tensor:
    """`x @ weight.T` for few rows: `x` [T, in], `weight` [out, in] → [T, out].

    Cut into slabs of rows, the weight becomes a batch of independent products, which torch spreads over its threads;
    each thread then streams its slabs from memory once.
    """
    out_features, in_features = weight.shape
    rows, slabs = x.shape[0], gcd(out_features, MOST_SLABS)
    # A single row may come with any strides; reshaped it has those for which the BLAS takes its fast path.
    columns = x.reshape(rows, in_features).t().expand(slabs, in_features, rows)
    product = torch.bmm(weight.view(slabs, out_features // slabs, in_features), columns)
    return product.view(1, out_features) if rows == 1 else product.view(out_features, rows).t().contiguous()


def whole_product(x: Tensor, weight: Tensor) -> Tensor:
    """`x @ weight.T` as torch does it: `x` [T, in], `weight` [out, in] → [T, out]."""
    return F.linear(x, weight)


@cache
def fastest(alone: bool, dtype: torch.dtype) -> Product:
    """The faster product here, for one row (`alone`) or several; the first call takes some 50 ms to find out."""
    x = torch.ones(1 if alone else SEVERAL, _SHAPE[1], dtype=dtype)
    weights = torch.ones(_WEIGHTS, *_SHAPE, dtype=dtype).unbind()
    laps: dict[Product, list[float]] = {slab_product: [], whole_product: []}
    for _ in range(_LAPS):  # in turns, and the best counts: neighbours only ever slow a lap down
        for product, seconds in laps.items():
            seconds.append(_lap(product, x, weights))
    return min(laps, key=lambda product: min(laps[product]))


def _lap(product: Product, x: Tensor, weights: tuple[Tensor, ...]) -> float:
    begin = perf_counter()
    for weight in weights:
        product(x, weight)
    return perf_counter() - begin
