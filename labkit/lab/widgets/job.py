"""Long work beside the notebook: one thread, a progress report, and a way to stop it.

A blocking callback could never be cancelled, since the click would wait behind it. The worker must not print (output
capture is global, so the text would land in whichever cell runs); it reports through callbacks, which set widget values
only.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from labkit.lab.errors import Cancelled

Report = Callable[..., None]
"""`report(done, total, text="")`: how far the work is. Raises Cancelled once Cancel was pressed."""


def unheard(done: float, total: float, text: str = "") -> None:
    """Progress that nobody watches: a plain call, or work too quick for a bar."""


SECONDS_BETWEEN_REPORTS = 0.05
"""Progress is shown no more often than this: a browser drawn into by every token would fall behind."""


class Job:
    """At most one run at a time; `start` returns False while one is going.

    `on_progress(done, total, text)`, then exactly one of `on_done(result)`, `on_error(error)`, `on_cancel()`, all on
    the worker.
    """

    def __init__(
        self,
        on_progress: Callable[[float, float, str], None],
        on_done: Callable[[Any], None],
        on_error: Callable[[Exception], None],
        on_cancel: Callable[[], None],
    ) -> None:
        self._on_progress, self._on_done, self._on_error, self._on_cancel = (
            on_progress,
            on_done,
            on_error,
            on_cancel,
        )
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._busy = False
        self._reported = 0.0

    @property
    def busy(self) -> bool:
        return self._busy

    def start(self, work: Callable[[Report], Any]) -> bool:
        """Begin `work(report)` on a thread; False if a run is still going."""
        with self._guard:
            if self._busy:
                return False
            self._busy = True
            self._stop.clear()
            self._thread = threading.Thread(
                target=self._run, args=(work,), name="labkit-experiment", daemon=True
            )
            self._thread.start()
            return True

    def cancel(self) -> None:
        """Ask the run to stop at its next report."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the run to end; False if it still goes on after `seconds`."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return not self._busy

    def _run(self, work: Callable[[Report], Any]) -> None:
        try:
            self._finish(work)
        finally:
            self._busy = False

    def _finish(self, work: Callable[[Report], Any]) -> None:
        try:
            self._on_done(work(self._report))
        except Cancelled:
            self._on_cancel()
        except Exception as error:
            self._on_error(error)

    def _report(self, done: float, total: float, text: str = "") -> None:
        if self._stop.is_set():
            raise Cancelled
        now = time.monotonic()
        if done >= total or now - self._reported >= SECONDS_BETWEEN_REPORTS:
            self._reported = now
            self._on_progress(done, total, text)
