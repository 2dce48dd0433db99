"""The paged KV cache: equal blocks from anywhere, found through a block table (PagedAttention, arXiv 2309.06180).

The idea is virtual memory's. A sequence sees consecutive positions; its block table says which physical
block holds each piece of them. Memory is taken a block at a time, when it is needed, so nothing is reserved for
tokens that may never come and every free block fits every sequence. What is left of the waste is the unfilled
end of a sequence's last block, (P - 1) / 2 slots on average. Two sequences may point at the same block; one
that wants to write to a shared block gets a copy of its own first (copy-on-write, §4.4).

The price is a look-up inside attention. It loses where there is nothing to win: when compute, not memory,
caps the batch, or when all sequences have one length that is known beforehand.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from labkit.errors import ConfigError
from labkit.kvcache.blocks import BlockPool
from labkit.kvcache.manager import Holder, Usage, require


def blocks_for(tokens: int, block_size: int) -> int:
    """Blocks that `tokens` tokens take."""
    return -(-tokens // block_size)


def slot_of(table: Sequence[int], position: int, block_size: int) -> int:
    """The slot of the token at `position`: its block's first slot, and the offset in the block."""
    return table[position // block_size] * block_size + position % block_size


class PagedManager:
    """Block tables over one pool of `slots` slots in blocks of `block_size`.

    Raises ConfigError if not even one block fits. `blocks_copied` counts what copy-on-write cost.
    """

    def __init__(self, slots: int, block_size: int = 16) -> None:
        if not 1 <= block_size <= slots:
            raise ConfigError(f"block size {block_size} in a pool of {slots} slots: choose 1 to {slots}")
        self.block_size = block_size
        self.pool = BlockPool(slots // block_size)
        self.slots = len(self.pool) * block_size
        self.blocks_copied = 0
        self._tables: dict[str, list[int]] = {}
        self._copies: list[tuple[int, int]] = []

    @property
    def free_slots(self) -> int:
        """Slots in free blocks."""
        return self.pool.free * self.block_size

    def largest(self) -> int:
        """A lone sequence may fill the whole pool."""
        return self.slots

    def table(self, holder: Holder) -> list[int]:
        """The blocks of `holder`, in the order of its positions."""
        return self._tables.get(holder.id, [])

    def grow(self, holder: Holder, tokens: int, spare: int = 0) -> bool:
        """Append blocks until `tokens` tokens fit, and copy those about to be written that others hold too."""
        table = self._tables.get(holder.id, [])
        missing = max(0, blocks_for(tokens, self.block_size) - len(table))
        shared = self._shared_from(table, holder.num_computed // self.block_size)
        needed = missing + len(shared)
        if needed and self.pool.free - needed < blocks_for(spare, self.block_size):
            return False
        for index in shared:
            self._copy_on_write(table, index)
        if missing:
            self._tables[holder.id] = table
            table.extend(self.pool.take(missing))
        return True

    def _shared_from(self, table: list[int], first: int) -> list[int]:
        references = self.pool.references
        return [index for index in range(first, len(table)) if references[table[index]] > 1]

    def _copy_on_write(self, table: list[int], index: int) -> None:
        source, (target,) = table[index], self.pool.take(1)
        self._copies.append((source, target))
        self.blocks_copied += 1
        self.pool.release([source])
        table[index] = target

    def fork(self, parent: Holder, child: Holder, tokens: int) -> bool:
        """Point the child's table at the parent's first blocks; no memory is taken and nothing is copied yet."""
        shared = self.table(parent)[: blocks_for(tokens, self.block_size)]
        self.pool.share(shared)
        self._tables[child.id] = list(shared)
        return True

    def free(self, holder: Holder) -> None:
        """Give up the table of `holder`; blocks that others share stay."""
        self.pool.release(self._tables.pop(holder.id, ()))

    def take_copies(self) -> list[tuple[int, int]]:
        """The copies that copy-on-write has made necessary since the last call.

        A target can have been freed and taken anew meanwhile; only the last copy into it counts.
        """
        copies, self._copies = {target: source for source, target in self._copies}, []
        return [(source, target) for target, source in copies.items()]

    def usage(self, holders: Iterable[Holder]) -> Usage:
        """A block's waste is what its holders will not fill; a shared block is full or counts for its fullest."""
        holders = list(holders)
        held = len(self.pool) - self.pool.free
        shared = sum(len(self.table(holder)) for holder in holders) != held
        used, wanted = self._fill_of_blocks(holders) if shared else self._fill_of_tables(holders)
        held *= self.block_size
        return Usage(used, wanted - used, held - wanted, 0, self.free_slots)

    def _fill_of_tables(self, holders: list[Holder]) -> tuple[int, int]:
        """Slots filled, and slots that will be, where no block has two holders."""
        used = wanted = 0
        for holder in holders:
            room = len(self.table(holder)) * self.block_size
            used += holder.num_computed
            wanted += max(holder.num_computed, min(room, holder.final_tokens))
        return used, wanted

    def _fill_of_blocks(self, holders: list[Holder]) -> tuple[int, int]:
        """The same, each block counted once."""
        size, filled, wanted = self.block_size, Counter[int](), Counter[int]()
        for holder in holders:
            for index, block in enumerate(self.table(holder)):
                first = index * size
                filled[block] = max(filled[block], min(size, holder.num_computed - first))
                wanted[block] = max(wanted[block], filled[block], min(size, holder.final_tokens - first))
        return filled.total(), wanted.total()

    def check_invariants(self, holders: Iterable[Holder]) -> None:
        """Free + held = all; reference counts equal the tables that point there; no slot has two writers."""
        self.pool.check_invariants()
        holders = list(holders)
        ids = {holder.id for holder in holders}
        require(self._tables.keys() <= ids, f"blocks leaked by {self._tables.keys() - ids}")
        pointers = Counter(block for table in self._tables.values() for block in table)
        counts = {block: count for block, count in enumerate(self.pool.references) if count}
        require(pointers == counts, f"reference counts {counts} but tables point {dict(pointers)}")
        for holder in holders:
            room = len(self.table(holder)) * self.block_size
            require(holder.num_computed <= room, f"{holder.id}: {holder.num_computed} tokens in {room} slots")
