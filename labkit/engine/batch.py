"""What a scheduler asks an executor to compute in one step, and what comes back."""

from collections.abc import Sequence as Many
from dataclasses import dataclass, field

from labkit.engine.request import Sequence
from labkit.engine.sampling import TokenLogprobs


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tokens `start` to `start + count` of one sequence, to be computed in this step.

    `table` is the sequence's block table. The chunk that reaches the last known token yields the next one.
    """

    sequence: Sequence
    start: int
    count: int
    table: Many[int]

    @property
    def end(self) -> int:
        """The context's length once the chunk is computed, S."""
        return self.start + self.count

    @property
    def emits(self) -> bool:
        """Whether the next token is chosen after this chunk."""
        return self.end == len(self.sequence.tokens)

    @property
    def work(self) -> tuple[int, int]:
        """(prefill, decode) tokens: those that fill the context, and one that had just been generated."""
        decode = self.count == 1 and self.emits and self.start >= self.sequence.prompt_tokens
        return (0, 1) if decode else (self.count, 0)


@dataclass(slots=True)
class Batch:
    """One step: chunks in the order of their rows, decodes first.

    `copies` are blocks to copy, (from, to), before anything is written. `padding` counts rows that are computed
    and thrown away, which is what static batching does to fill its rectangle.
    """

    chunks: list[Chunk] = field(default_factory=list)
    copies: list[tuple[int, int]] = field(default_factory=list)
    padding: int = 0

    @property
    def tokens(self) -> int:
        """Rows that do useful work, T."""
        return sum(chunk.count for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class Result:
    """One new token for each chunk that emits, in order; with their log-probabilities where they were asked for.

    `seconds` is what the step took: measured, or said by a cost model.
    """

    tokens: list[int]
    seconds: float
    logprobs: list[TokenLogprobs | None]
