"""One request at a time, in order of arrival: what a loop around `generate` does.

Each has the whole machine, so its tokens come as fast as they ever will; a decode step reads all weights for one
token, and everybody else waits.
"""

from labkit.engine.schedulers.static import StaticScheduler
from labkit.engine.waiting import Order, first_come
from labkit.kvcache.manager import KVManager


class SequentialScheduler(StaticScheduler):
    """A static batch of one, which has nobody to wait for."""

    def __init__(self, manager: KVManager, order: Order = first_come) -> None:
        super().__init__(manager, max_sequences=1, order=order)
