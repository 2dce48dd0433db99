"""A progress bar for long work: one line with the time left, rewritten in place on a terminal, a line now and
then elsewhere.
"""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 28
TERMINAL_INTERVAL, LOG_INTERVAL = 0.2, 15.0  # seconds between two drawings


class ProgressBar:
    """Shows how far long work has come. `update(share, note)` with a share from 0 to 1; use as a context
    manager.
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label, self.stream = label, stream or sys.stderr
        self.live = self.stream.isatty()
        self.start = time.monotonic()
        self.drawn = float("-inf")
        self.line = ""

    def update(self, share: float, note: str = "") -> None:
        """Draw the bar, at most as often as a reader can follow."""
        now = time.monotonic()
        share = min(max(share, 0.0), 1.0)
        elapsed = now - self.start
        left = clock(elapsed * (1 - share) / share) if share > 0 else "?"
        full = round(WIDTH * share)
        shown = f"{'#' * full}{'.' * (WIDTH - full)}"
        self.line = f"{self.label} [{shown}] {share:4.0%} {note} · {clock(elapsed)} gone, {left} left"
        if now - self.drawn >= (TERMINAL_INTERVAL if self.live else LOG_INTERVAL):
            self._draw()
            self.drawn = now

    def _draw(self) -> None:
        self.stream.write(f"\r{self.line}\x1b[K" if self.live else self.line + "\n")
        self.stream.flush()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.line:
            self._draw()
        if self.live:
            self.stream.write("\n")


def clock(seconds: float) -> str:
    """Minutes and seconds, `m:ss`, with hours in front where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
