"""Static batching: fill a batch, run it until the last of it is done, then fill the next.

Everybody waits for the slowest. A sequence that ends early leaves its row behind, computed and thrown away, and
prompts are padded to the longest: the useful share of the rows falls to mean over maximum of the lengths. It
loses nothing when all lengths are equal and all requests are there at the start.
"""

from labkit.engine.batch import Batch
from labkit.engine.request import Sequence
from labkit.engine.schedulers import base
from labkit.engine.schedulers.base import Scheduler


class StaticScheduler(Scheduler):
    """Batches of up to `max_sequences`, of whoever waits when the last batch is done.

    A batch cannot preempt, so each of its sequences reserves memory for all it may ever need.
    """

    def schedule(self, now: float) -> Batch:
        """A step of the batch; of a new one if none runs."""
        if not self.running and self._ready(now):
            self._start(base.admit(self.waiting, self.max_sequences, self._reserve))
        batch = self._batch((one, one.remaining) for one in self.running if one.finish_reason is None)
        height = max((chunk.count for chunk in batch.chunks), default=0)
        batch.padding = height * len(self.running) - batch.tokens
        return batch

    def _ready(self, now: float) -> bool:
        """Whether to start a batch with those who wait."""
        return True

    def _reserve(self, sequence: Sequence) -> bool:
        return self.manager.grow(sequence, sequence.longest - 1)

    def _leave(self, sequence: Sequence) -> None:
        """A finished sequence keeps its seat and its memory until all are finished."""
        self._note("finish", sequence, len(sequence.output))
        if all(one.finish_reason is not None for one in self.running):
            for one in self.running:
                self.manager.free(one)
            self.running.clear()
