"""What every scheduler is: a queue of those who wait, a list of those who run, and the books of the KV cache.

A scheduler is plain Python and holds no tensors, so the same one drives a model or a cost model. Each step it
is asked for a batch (`schedule`) and told the tokens that came of it (`update`). The policies differ in when a
sequence may join the batch and when it leaves.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Many
from itertools import count

from labkit.engine.batch import Batch, Chunk
from labkit.engine.request import Sequence
from labkit.engine.trace import Event, EventKind, FinishReason
from labkit.engine.waiting import Order, WaitingQueue, first_come
from labkit.errors import ConfigError
from labkit.kvcache.manager import KVManager


def admit(waiting: WaitingQueue, seats: int, reserve: Callable[[Sequence], bool]) -> list[Sequence]:
    """Take sequences out of the queue, in its order, while there are `seats` and `reserve` finds memory for the next.

    Whoever does not fit stays first in the queue: nobody overtakes, so nobody waits forever.
    """
    admitted: list[Sequence] = []
    while len(admitted) < seats and (first := waiting.peek()) is not None and reserve(first):
        admitted.append(waiting.pop())
    return admitted


class Scheduler(ABC):
    """Base of all policies.

    `manager` keeps the books of the KV cache, `max_sequences` is the number of seats in a batch, `order` says who is
    next (see `labkit.engine.waiting`). `tokens_recomputed` counts what preemption cost. Raises ConfigError without
    a seat.
    """

    def __init__(self, manager: KVManager, max_sequences: int = 32, order: Order = first_come) -> None:
        if max_sequences < 1:
            raise ConfigError(f"max_sequences {max_sequences}: a batch needs at least one seat")
        self.manager, self.max_sequences, self.order = manager, max_sequences, order
        self.waiting = WaitingQueue()
        self.running: list[Sequence] = []  # by rank
        self.events: list[Event] = []  # since they were last taken
        self.tokens_recomputed = 0
        self._numbers = count()

    def add(self, samples: Many[Sequence]) -> None:
        """Line up a request's sequences."""
        for sequence in samples:
            self._enqueue(sequence)

    @abstractmethod
    def schedule(self, now: float) -> Batch:
        """The next step's work; without chunks if there is nothing to do at `now` seconds."""

    def update(self, batch: Batch, tokens: Many[int]) -> list[Sequence]:
        """The step is done: `tokens` has one for each chunk that emits, in order. Returns who got one."""
        emitted = []
        for chunk in batch.chunks:
            emits = chunk.emits
            chunk.sequence.num_computed = chunk.end
            if emits:
                emitted.append(chunk.sequence)
        for sequence, token in zip(emitted, tokens, strict=True):
            sequence.append(token)
            if sequence.finish_reason is not None:
                self._leave(sequence)
        return emitted

    def finish(self, sequence: Sequence, reason: FinishReason) -> None:
        """End a sequence early, wherever it is; nothing happens if it has ended."""
        if sequence.finish_reason is None:
            sequence.finish_reason = reason
            if not self.waiting.discard(sequence) and self._runs(sequence):
                self._leave(sequence)

    def wake(self, now: float) -> float | None:
        """When to ask again, if `schedule` had nothing to do although somebody waits; None: only when more arrive."""
        return None

    @property
    def has_work(self) -> bool:
        """Whether any sequence waits or runs."""
        return bool(self.running) or len(self.waiting) > 0

    def take_events(self) -> list[Event]:
        """What happened since the last call."""
        events, self.events = self.events, []
        return events

    def holders(self) -> Iterator[Sequence]:
        """All that may hold memory."""
        return iter(self.running)

    def check_invariants(self) -> None:
        """Raises CacheError if the books of the cache contradict who runs."""
        self.manager.check_invariants(self.holders())

    def _enqueue(self, sequence: Sequence) -> None:
        sequence.rank = (self.order(sequence.request), next(self._numbers))
        self.waiting.push(sequence)

    def _start(self, sequences: Many[Sequence]) -> None:
        for sequence in sequences:
            insort(self.running, sequence, key=_rank)
            self._note("admit", sequence, len(sequence.tokens))

    def _runs(self, sequence: Sequence) -> bool:
        index = bisect_left(self.running, sequence.rank, key=_rank)
        return index < len(self.running) and self.running[index] is sequence

    def _leave(self, sequence: Sequence) -> None:
        """A finished sequence gives back its seat and its memory."""
        del self.running[bisect_left(self.running, sequence.rank, key=_rank)]
        self.manager.free(sequence)
        self._note("finish", sequence, len(sequence.output))

    def _batch(self, shares: Iterable[tuple[Sequence, int]]) -> Batch:
        """The step in which each sequence computes its share of tokens; single tokens come first."""
        chunks = [
            Chunk(sequence, sequence.num_computed, share, self.manager.table(sequence))
            for sequence, share in shares
            if share
        ]
        chunks.sort(key=lambda chunk: chunk.count > 1)
        return Batch(chunks, self.manager.take_copies())

    def _note(self, kind: EventKind, sequence: Sequence, tokens: int) -> None:
        self.events.append(Event(kind, sequence.id, tokens))


def _rank(sequence: Sequence) -> tuple[float, int]:
    return sequence.rank
