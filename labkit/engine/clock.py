"""What time it is for a run: on the wall, on the wall without the idle times, or nowhere but in the run."""

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since the start of a run."""

    def now(self) -> float:
        """The time."""

    def advance(self, seconds: float) -> None:
        """A step took `seconds`."""

    def sleep_until(self, moment: float) -> None:
        """There is nothing to do before `moment`."""


class WallClock:
    """Real time: a recorded arrival pattern is replayed as it was."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def now(self) -> float:
        """Seconds since the clock was made."""
        return time.perf_counter() - self._start

    def advance(self, seconds: float) -> None:
        """Real time advances by itself."""

    def sleep_until(self, moment: float) -> None:
        """Wait."""
        time.sleep(max(0.0, moment - self.now()))


class SkippingClock(WallClock):
    """Real time, but idle time is skipped: work takes as long as it takes, waiting for arrivals takes nothing."""

    def sleep_until(self, moment: float) -> None:
        """Jump ahead."""
        self._start -= max(0.0, moment - self.now())


class VirtualClock:
    """The time is the sum of the steps: what a simulated executor says they take."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """Seconds of all steps so far, and of the idle times."""
        return self.time

    def advance(self, seconds: float) -> None:
        """A step is over."""
        self.time += seconds

    def sleep_until(self, moment: float) -> None:
        """Jump ahead."""
        self.time = max(self.time, moment)
