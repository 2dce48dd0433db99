"""One strip of consecutive slots for each sequence: how memory was managed before paging.

A strip cannot grow, so it must be reserved at the start for all tokens that may come. How long that is, is the
policy; the three here are those that the PagedAttention paper compares with (arXiv 2309.06180, §6.1): the longest
sequence the model allows; the output's length rounded up to a power of two; and an oracle that knows the
output's length. Strips of different lengths come and go, so the free memory falls apart into holes (external
fragmentation).
"""

from bisect import insort
from collections.abc import Callable, Iterable

from labkit.errors import ConfigError
from labkit.kvcache.manager import Holder, Usage, require

Reserve = Callable[[int, int, int], int]
"""`reserve(prompt, output, longest)`: slots for a prompt and an output of so many tokens, at most `longest`."""


def maximum(prompt: int, output: int, longest: int) -> int:
    """As long as any sequence may become ("Orca (Max)")."""
    return longest


def power_of_two(prompt: int, output: int, longest: int) -> int:
    """The prompt, and the output's length rounded up to a power of two ("Orca (Pow2)")."""
    return min(longest, prompt + (1 << max(0, output - 1).bit_length()))


def exact(prompt: int, output: int, longest: int) -> int:
    """What an oracle would reserve, who knows how long the output gets ("Orca (Oracle)")."""
    return min(longest, prompt + output)


RESERVES: dict[str, Reserve] = {"max": maximum, "pow2": power_of_two, "oracle": exact}


class StripManager:
    """Strips in one pool of `slots` slots, each placed in the first hole that is long enough.

    `longest` is the length of the longest sequence. Raises ConfigError if that does not fit in the pool. A
    sequence that outgrows a strip cut by a wrong forecast gets none (`grow` says no); once it has been freed, its
    next strip is of the longest kind.
    """

    block_size = 1  # a strip's "blocks" are its slots

    def __init__(self, slots: int, longest: int, reserve: Reserve = maximum) -> None:
        if not 1 <= longest <= slots:
            raise ConfigError(f"strips of {longest} slots in a pool of {slots}: choose 1 to {slots}")
        self.slots, self.longest, self.reserve = slots, longest, reserve
        self._strips: dict[str, tuple[int, int]] = {}  # id → (start, length)
        self._holes: list[tuple[int, int]] = [(0, slots)]  # (start, length), by start, never two adjacent

    @property
    def free_slots(self) -> int:
        """Slots in all holes together."""
        return sum(length for _, length in self._holes)

    def largest(self) -> int:
        """A lone sequence gets the longest strip."""
        return self.longest

    def table(self, holder: Holder) -> range:
        """The slots of the strip of `holder`."""
        start, length = self.strip(holder)
        return range(start, start + length)

    def strip(self, holder: Holder) -> tuple[int, int]:
        """(start, length) of the strip of `holder`; the length is 0 if it has none."""
        return self._strips.get(holder.id, (0, 0))

    def grow(self, holder: Holder, tokens: int, spare: int = 0) -> bool:
        """Reserve the strip when the first tokens come; later ones are in it, or there is no room for them."""
        if holder.id in self._strips:
            return tokens <= self._strips[holder.id][1]
        length = self._length(holder, tokens)
        if self.free_slots - length < spare:
            return False
        for index, (start, hole) in enumerate(self._holes):
            if hole >= length:
                self._holes[index : index + 1] = [(start + length, hole - length)] if hole > length else []
                self._strips[holder.id] = (start, length)
                return True
        return False

    def _length(self, holder: Holder, tokens: int) -> int:
        output = holder.final_tokens - holder.prompt_tokens
        forecast = self.reserve(holder.prompt_tokens, output, self.longest)
        return forecast if forecast >= tokens and holder.final_tokens > tokens else self.longest

    def fork(self, parent: Holder, child: Holder, tokens: int) -> bool:
        """Strips cannot be shared."""
        return False

    def free(self, holder: Holder) -> None:
        """Give the strip of `holder` back, and join it with the holes beside it."""
        start, length = self._strips.pop(holder.id, (0, 0))
        if not length:
            return
        insort(self._holes, (start, length))
        joined: list[tuple[int, int]] = []
        for hole in self._holes:
            if joined and sum(joined[-1]) == hole[0]:
                joined[-1] = (joined[-1][0], joined[-1][1] + hole[1])
            else:
                joined.append(hole)
        self._holes = joined

    def take_copies(self) -> list[tuple[int, int]]:
        """Strips are never shared, so nothing is ever copied."""
        return []

    def usage(self, holders: Iterable[Holder]) -> Usage:
        """A strip is used up to its last token, reserved up to the final one, and wasted beyond."""
        used = reserved = 0
        for holder in holders:
            length = self._strips.get(holder.id, (0, 0))[1]
            used += min(length, holder.num_computed)
            reserved += max(0, min(length, holder.final_tokens) - holder.num_computed)
        held = sum(length for _, length in self._strips.values())
        largest = max((length for _, length in self._holes), default=0)
        return Usage(used, reserved, held - used - reserved, self.free_slots - largest, largest)

    def check_invariants(self, holders: Iterable[Holder]) -> None:
        """Strips and holes tile the pool; every strip has a holder and room for what was computed."""
        holders = list(holders)
        ids = {holder.id for holder in holders}
        require(self._strips.keys() <= ids, f"strips leaked by {self._strips.keys() - ids}")
        end = 0
        for start, length in sorted([*self._strips.values(), *self._holes]):
            require(start == end and length > 0, f"slot {end}: the next piece starts at {start}")
            end = start + length
        require(end == self.slots, f"the pieces end at {end}, not at {self.slots}")
        for holder in holders:
            length = self._strips.get(holder.id, (0, 0))[1]
            require(
                holder.num_computed <= length, f"{holder.id}: {holder.num_computed} tokens in {length} slots"
            )
