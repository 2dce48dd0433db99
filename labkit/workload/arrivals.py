"""When requests come: arrival processes, in seconds from the start of a run.

Poisson arrivals are many users who know nothing of each other. Real traffic is burstier. Gaps drawn from a gamma
distribution cover both sides: their coefficient of variation (standard deviation over mean) is 0 for a metronome, 1 for
Poisson, larger for bursts with lulls between them. Serving benchmarks that speak of a "burstiness" b mean the gamma's
shape, which is 1 / variation².
"""

import math
import random
from itertools import accumulate

from labkit.errors import ConfigError


def together(n: int) -> list[float]:
    """All `n` at the start: an offline job, or the worst burst there is."""
    return [0.0] * _count(n)


def poisson(n: int, rate: float, seed: int = 0) -> list[float]:
    """Arrival times of `n` independent users, `rate` requests a second on average. Raises ConfigError for no rate."""
    return bursty(n, rate, variation=1.0, seed=seed)


def bursty(n: int, rate: float, variation: float = 2.0, seed: int = 0) -> list[float]:
    """Arrival times whose gaps have the mean 1 / `rate` seconds and this coefficient of variation (0: evenly spaced).

    Raises ConfigError for a rate that is not above zero, or a negative variation.
    """
    if not (rate > 0 and math.isfinite(rate)):
        raise ConfigError(f"rate {rate}: need requests per second, above zero")
    if not (variation >= 0 and math.isfinite(variation)):
        raise ConfigError(f"variation {variation}: need 0 (evenly spaced) or more; 1 is Poisson")
    draw = random.Random(f"arrivals:{seed}")
    return list(accumulate(_gap(draw, 1 / rate, variation) for _ in range(_count(n))))


def _gap(draw: random.Random, mean: float, variation: float) -> float:
    if variation == 0:
        return mean
    return draw.gammavariate(1 / variation**2, mean * variation**2)


def _count(n: int) -> int:
    if n < 0:
        raise ConfigError(f"{n} requests: must not be negative")
    return n
