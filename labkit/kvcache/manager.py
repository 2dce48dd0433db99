"""What a scheduler asks of a KV manager: pure bookkeeping, in plain integers; no manager ever holds a tensor.

The memory is a row of slots, one token's keys and values each. A manager decides which slots a sequence may
write and read, and counts what is wasted while it does. Two answers live beside this page: a strip of
consecutive slots for each sequence (`strips`), and blocks from anywhere (`paged`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from labkit.errors import LabkitError


class Holder(Protocol):
    """A sequence, as far as its memory is concerned."""

    @property
    def id(self) -> str:
        """Its name: the key of its memory."""

    @property
    def num_computed(self) -> int:
        """Tokens whose keys and values are in the cache."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens that it came with."""

    @property
    def final_tokens(self) -> int:
        """Tokens it will have in the end, as far as is known; at least the bound its request set."""


@dataclass(frozen=True)
class Usage:
    """Slots of the pool at one moment, by what they are good for; the five add up to the pool.

    The three kinds of waste are those of the PagedAttention paper (arXiv 2309.06180, §3.1): `reserved` slots
    are held for tokens that will still come, `internal` ones are held and will never be filled, `external`
    ones are free but cut off from the largest free piece. `free` is what a newcomer can really get in one
    piece. Shared slots count once.
    """

    used: int
    reserved: int
    internal: int
    external: int
    free: int

    @property
    def pool(self) -> int:
        """All slots."""
        return self.used + self.reserved + self.internal + self.external + self.free

    @property
    def utilization(self) -> float:
        """Share of the held or cut-off slots that holds a token: 1 minus the waste, and 1 if nothing is held."""
        taken = self.pool - self.free
        return self.used / taken if taken else 1.0


class KVManager(Protocol):
    """Decides where keys and values live."""

    block_size: int
    slots: int

    @property
    def free_slots(self) -> int:
        """Slots that nobody holds."""

    def largest(self) -> int:
        """Tokens of the longest sequence that fits when it is alone."""

    def grow(self, holder: Holder, tokens: int, spare: int = 0) -> bool:
        """Give `holder` room for its first `tokens` tokens, the ones from num_computed on to be written next.

        False, and nothing changed, if that would leave fewer than `spare` free slots.
        """

    def fork(self, parent: Holder, child: Holder, tokens: int) -> bool:
        """Let `child` read the parent's first `tokens` tokens without a copy; False if this manager cannot."""

    def free(self, holder: Holder) -> None:
        """Take back all that `holder` has; nothing if it has none."""

    def table(self, holder: Holder) -> Sequence[int]:
        """The blocks of `holder`, in order: its token p is in slot `table[p // block_size] * block_size + p %
        block_size`.
        """

    def take_copies(self) -> list[tuple[int, int]]:
        """Blocks to copy, (from, to) in this order, before the next step writes anything; each is told once."""

    def usage(self, holders: Iterable[Holder]) -> Usage:
        """What the pool's slots are good for, `holders` being all that hold any."""

    def check_invariants(self, holders: Iterable[Holder]) -> None:
        """Raises CacheError if the books are wrong, `holders` being all that may hold memory."""


class CacheError(LabkitError):
    """The books of a KV manager contradict each other: a bug in it or in its caller."""


def require(holds: bool, message: str) -> None:
    """Raises CacheError with `message` unless `holds`."""
    if not holds:
        raise CacheError(message)
