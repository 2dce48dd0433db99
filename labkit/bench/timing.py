"""How to time things on a machine that is never quiet: in turns, many times, best and median.

A shared machine drifts by tens of percent within seconds. Candidates measured one after the other compare the
machine's moods; measured in turns, A B C A B C …, each round compares them under the same mood. The best
round says what the code can do, the median what it usually does, and a ratio is taken round by round.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import torch

from labkit.progress import ProgressBar


@dataclass(frozen=True)
class Timing:
    """Seconds of one candidate, a number per round."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The fastest round, seconds."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The middle round, seconds."""
        return median(self.seconds)

    def times_faster_than(self, other: "Timing") -> float:
        """Median over the rounds of how many times less this took than `other` did in the same round."""
        return median(theirs / ours for ours, theirs in zip(self.seconds, other.seconds, strict=True))


Measurement = Callable[[], float]
"""Runs one short measurement and returns its seconds."""


def rounds(candidates: dict[str, Measurement], repeats: int, warmup: int = 1) -> Iterator[dict[str, float]]:
    """Measure all candidates in turns; yields each counted round's seconds (for a progress bar or an early
    stop).
    """
    for number in range(warmup + repeats):
        measured = {name: measure() for name, measure in candidates.items()}
        if number >= warmup:
            yield measured


def interleaved(candidates: dict[str, Measurement], repeats: int, warmup: int = 1) -> dict[str, Timing]:
    """Measure all candidates in turns, `repeats` times after `warmup` rounds that are thrown away."""
    return collect(list(rounds(candidates, repeats, warmup)))


def watched(label: str, candidates: dict[str, Measurement], repeats: int) -> dict[str, Timing]:
    """`interleaved`, with a progress bar."""
    measured = []
    with ProgressBar(label) as bar:
        for one in rounds(candidates, repeats):
            measured.append(one)
            bar.update(len(measured) / repeats)
    return collect(measured)


def collect(measured: list[dict[str, float]]) -> dict[str, Timing]:
    """Rounds of all candidates → one Timing per candidate."""
    return {name: Timing(tuple(one[name] for one in measured)) for name in measured[0]}


def timed(work: Callable[[], object]) -> Measurement:
    """A measurement of the wall time of `work`, with the GPU's queue empty before and after."""

    def measure() -> float:
        synchronize()
        begin = perf_counter()
        work()
        synchronize()
        return perf_counter() - begin

    return measure


def synchronize() -> None:
    """Wait for the GPU, if there is one: its work is queued, and a clock read before it ends measures the
    queueing.
    """
    if torch.cuda.is_available():
        torch.cuda.synchronize()
