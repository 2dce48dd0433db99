"""Dynamic batching: static batching that waits a little for the batch to fill.

A batch starts when it is full, or when its first request has waited for `window` seconds. Under light load that
trades latency for fuller batches; once a batch runs it is as rigid as a static one.
"""

from labkit.engine.schedulers.static import StaticScheduler
from labkit.engine.waiting import Order, first_come
from labkit.errors import ConfigError
from labkit.kvcache.manager import KVManager


class DynamicScheduler(StaticScheduler):
    """Static batches that start when they are full or `window` seconds after the first arrival.

    Raises ConfigError for a negative window.
    """

    def __init__(
        self, manager: KVManager, max_sequences: int = 32, order: Order = first_come, window: float = 0.1
    ) -> None:
        if window < 0:
            raise ConfigError(f"window {window}: need seconds, 0 or more")
        super().__init__(manager, max_sequences, order)
        self.window = window

    def wake(self, now: float) -> float | None:
        """When the window of the first arrival closes."""
        if not len(self.waiting):
            return None
        return min(sequence.request.arrival for sequence in self.waiting) + self.window

    def _ready(self, now: float) -> bool:
        closes = self.wake(now)
        return closes is not None and (len(self.waiting) >= self.max_sequences or now >= closes)
