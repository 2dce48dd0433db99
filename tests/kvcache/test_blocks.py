"""The block pool counts who holds what, refuses what cannot be, and loses nothing."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from labkit.errors import ConfigError
from labkit.kvcache.blocks import BlockPool
from labkit.kvcache.manager import CacheError


class Pool(RuleBasedStateMachine):
    """Random takes, shares and releases beside a list of holders."""

    def __init__(self):
        super().__init__()
        self.pool, self.held = BlockPool(7), []

    @rule(count=st.integers(0, 8))
    def take(self, count):
        if count > self.pool.free:
            before = (self.pool.free, list(self.pool.references))
            with pytest.raises(CacheError, match="asked of a pool"):
                self.pool.take(count)
            assert before == (self.pool.free, self.pool.references)
            return
        taken = self.pool.take(count)
        assert len(set(taken)) == count
        assert not set(taken) & set(self.held)
        self.held += taken

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def share(self, data):
        block = data.draw(st.sampled_from(self.held))
        self.pool.share([block])
        self.held.append(block)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data):
        block = data.draw(st.sampled_from(self.held))
        self.pool.release([block])
        self.held.remove(block)

    @invariant()
    def books_are_right(self):
        self.pool.check_invariants()
        assert self.pool.references == [self.held.count(block) for block in range(7)]
        assert self.pool.free == 7 - len(set(self.held))


TestPool = Pool.TestCase
TestPool.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_free_block_can_be_neither_shared_nor_released():
    pool = BlockPool(2)
    for wrong in (pool.share, pool.release):
        with pytest.raises(CacheError, match="block 1 is free"):
            wrong([1])


def test_a_block_freed_twice_is_noticed():
    pool = BlockPool(2)
    pool._free.append(0)
    with pytest.raises(CacheError, match="free list"):
        pool.check_invariants()


def test_a_pool_without_blocks_is_refused():
    with pytest.raises(ConfigError, match="0 blocks"):
        BlockPool(0)
