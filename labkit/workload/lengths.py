"""How long outputs get, in tokens, and what that means for a batch that waits for its longest.

Nobody knows an output's length before it ends. Lengths of one service usually lie around a middle with a long tail to
the right, which a lognormal distribution describes well enough for planning; the tail is what static batching pays for.
"""

import math
import random
from collections.abc import Sequence

from labkit.errors import ConfigError


def fixed(n: int, tokens: int) -> list[int]:
    """`n` outputs of one length."""
    return [_whole(tokens)] * _count(n)


def uniform(n: int, low: int, high: int, seed: int = 0) -> list[int]:
    """`n` lengths, each from `low` to `high` tokens equally likely. Raises ConfigError unless 1 <= low <= high."""
    if not 1 <= low <= high:
        raise ConfigError(f"lengths from {low} to {high}: need 1 <= low <= high")
    draw = random.Random(f"lengths:{seed}")
    return [draw.randint(low, high) for _ in range(_count(n))]


def lognormal(n: int, mean: float, variation: float, longest: int | None = None, seed: int = 0) -> list[int]:
    """`n` lengths with a long tail: `mean` tokens, and a coefficient of variation (standard deviation over mean).

    Each is at least 1 and at most `longest`, a server's limit, which lowers the mean a little. Raises ConfigError for a
    mean below 1 or a negative variation.
    """
    if not (mean >= 1 and variation >= 0):
        raise ConfigError(
            f"mean {mean} and variation {variation}: need a mean of 1 or more, a variation of 0 or more"
        )
    sigma = math.sqrt(math.log(1 + variation**2))
    draw = random.Random(f"lengths:{seed}")
    drawn = (math.exp(draw.gauss(math.log(mean) - sigma**2 / 2, sigma)) for _ in range(_count(n)))
    return [max(1, min(round(tokens), longest or round(tokens))) for tokens in drawn]


def expected_longest(lengths: Sequence[float], batch: int) -> float:
    """E[max]: the mean length of the longest of `batch` outputs drawn from these (with replacement), exactly.

    The k-th smallest of n is the longest with the probability (k/n)^B − ((k − 1)/n)^B. Raises ConfigError without
    lengths or for an empty batch.
    """
    if not lengths or batch < 1:
        raise ConfigError(f"{len(lengths)} lengths in batches of {batch}: need at least one of each")
    n = len(lengths)
    return sum(
        length * ((k / n) ** batch - ((k - 1) / n) ** batch)
        for k, length in enumerate(sorted(lengths), start=1)
    )


def waste_ratio(lengths: Sequence[float], batch: int) -> float:
    """E[max] / mean: rows that a static batch of this size computes for each useful one; 1 where nothing is wasted.

    Raises ConfigError like `expected_longest`.
    """
    return expected_longest(lengths, batch) * len(lengths) / sum(lengths)


def _whole(tokens: int) -> int:
    if tokens < 1:
        raise ConfigError(f"outputs of {tokens} tokens: need at least 1")
    return tokens


def _count(n: int) -> int:
    if n < 0:
        raise ConfigError(f"{n} outputs: must not be negative")
    return n
