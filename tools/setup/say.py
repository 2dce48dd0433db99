"""What set-up prints: each step as it begins, and how long it took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


def say(text: str) -> None:
    """Print a line at once, also into a pipe."""
    print(f"labkit: {text}", flush=True)


def duration(seconds: float) -> str:
    """Seconds in words a person reads: "0.4 s", "12 s", "3 min 20 s"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextmanager
def step(doing: str) -> Iterator[None]:
    """Announce a step, and say how long it took once it is through (nothing if it raised)."""
    say(f"{doing} ...")
    started = time.monotonic()
    yield
    say(f"  done in {duration(time.monotonic() - started)}")
