"""A pool of equal blocks with reference counts: the part of paging that knows no sequences."""

from collections.abc import Iterable

from labkit.errors import ConfigError
from labkit.kvcache.manager import CacheError, require


class BlockPool:
    """`blocks` blocks, numbered from 0; each is free, or held by one or more holders."""

    def __init__(self, blocks: int) -> None:
        if blocks < 1:
            raise ConfigError(f"a pool of {blocks} blocks: it needs at least one")
        self.references = [0] * blocks
        self._free = list(range(blocks - 1, -1, -1))  # a stack: what was freed last is still warm

    def __len__(self) -> int:
        return len(self.references)

    @property
    def free(self) -> int:
        """Blocks that nobody holds."""
        return len(self._free)

    def take(self, count: int) -> list[int]:
        """`count` free blocks, now held once. Raises CacheError, taking none, if there are too few."""
        if count > len(self._free):
            raise CacheError(f"{count} blocks asked of a pool with {len(self._free)} free")
        taken = [self._free.pop() for _ in range(count)]
        for block in taken:
            self.references[block] = 1
        return taken

    def share(self, blocks: Iterable[int]) -> None:
        """One more holder for each of `blocks`, which are held already."""
        for block in blocks:
            require(self.references[block] > 0, f"block {block} is free and cannot be shared")
            self.references[block] += 1

    def release(self, blocks: Iterable[int]) -> None:
        """One holder less for each of `blocks`; whose last is gone is free."""
        for block in blocks:
            require(self.references[block] > 0, f"block {block} is free already")
            self.references[block] -= 1
            if self.references[block] == 0:
                self._free.append(block)

    def check_invariants(self) -> None:
        """Raises CacheError unless the free blocks are those without a holder, each listed once."""
        unheld = [block for block, count in enumerate(self.references) if count == 0]
        require(sorted(self._free) == unheld, f"free list {sorted(self._free)} is not {unheld}")
