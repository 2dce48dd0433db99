"""Continuous batching (Orca, OSDI 2022, §3.1): the batch is chosen anew at every step.

A sequence joins as soon as there is a seat and memory, and leaves with its last token. Whole prompts are computed in
the same step as everybody's next token, each row useful: no padding. The price is that a long prompt makes that step
long, and all who decode wait for it (see `chunked`). It gains nothing for one request at a time, nor when all
requests arrive together and all outputs have one length.

Memory is taken as sequences grow, so it can run out half-way. Then the last in rank is preempted: it gives up its
memory and lines up again in its old place, keeping its tokens, whose keys and values are computed anew when it
returns (recomputation, PagedAttention §4.5). The first in rank is never preempted, so there is always progress.
"""

from collections.abc import Sequence as Many

from labkit.engine.batch import Batch
from labkit.engine.request import Sequence
from labkit.engine.schedulers import base
from labkit.engine.schedulers.base import Scheduler
from labkit.engine.waiting import Order, first_come
from labkit.kvcache.manager import KVManager

WATERMARK = 0.01
"""Share of the pool that a newcomer must leave free, so that those who run can grow for a while."""


class ContinuousScheduler(Scheduler):
    """Iteration-level scheduling with preemption by recomputation."""

    def __init__(self, manager: KVManager, max_sequences: int = 32, order: Order = first_come) -> None:
        super().__init__(manager, max_sequences, order)
        self.spare = int(WATERMARK * manager.slots)

    def add(self, samples: Many[Sequence]) -> None:
        """Line up the first sample; the others wait on it, to share its prompt's memory."""
        parent, *parent.children = samples
        self._enqueue(parent)

    def schedule(self, now: float) -> Batch:
        """Everybody who runs, and as many newcomers as fit."""
        if self._make_room() or not self.running:  # after a preemption memory is short: nobody is let in
            self._start(base.admit(self.waiting, self._seats(), self._reserve))
        shares = self._shares([sequence.remaining for sequence in self.running])
        return self._batch(zip(self.running, shares, strict=True))

    def update(self, batch: Batch, tokens: Many[int]) -> list[Sequence]:
        """See `Scheduler.update`; where a prompt has now been computed, its other samples start."""
        parents = [chunk.sequence for chunk in batch.chunks if chunk.emits and chunk.sequence.children]
        for parent in parents:
            parent.num_computed = parent.prompt_tokens
            self._start_children(parent)
        return super().update(batch, tokens)

    def _shares(self, remaining: list[int]) -> list[int]:
        """How many of its remaining tokens each running sequence computes in this step."""
        return remaining

    def _seats(self) -> int:
        return self.max_sequences - len(self.running)

    def _reserve(self, sequence: Sequence) -> bool:
        busy = self.manager.free_slots < self.manager.slots
        return self.manager.grow(sequence, len(sequence.tokens), self.spare if busy else 0)

    def _make_room(self) -> bool:
        """Give everybody who runs the memory for all its tokens; False if somebody had to be preempted for it."""
        index, before = 0, len(self.running)
        while index < len(self.running):
            if self.manager.grow(self.running[index], len(self.running[index].tokens)):
                index += 1
            else:
                self._preempt(self.running[-1])
        return len(self.running) == before

    def _preempt(self, sequence: Sequence) -> None:
        self.running.pop()
        self.manager.free(sequence)
        self.tokens_recomputed += sequence.num_computed
        self._note("preempt", sequence, sequence.num_computed)
        sequence.num_computed = 0
        self.waiting.push(sequence)

    def _start_children(self, parent: Sequence) -> None:
        """The prompt is computed: the other samples take seats beside their parent, or line up."""
        children, parent.children = parent.children, []
        for child in children:
            if child.finish_reason is None:
                self._enqueue(child)
                if self._seats() > 0 and self._fork(parent, child):
                    self.waiting.discard(child)

    def _fork(self, parent: Sequence, child: Sequence) -> bool:
        """Let `child` share all of the prompt but its last token, which it computes itself to get its own scores."""
        shared = parent.prompt_tokens - 1
        if not self.manager.fork(parent, child, shared):
            return False
        child.num_computed = shared
        self._start([child])
        self._note("fork", child, shared)
        return True
