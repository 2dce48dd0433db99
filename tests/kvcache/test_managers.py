"""Both managers under random sequences: what was written is read back, sharing included; refusals change nothing;
the five kinds of use add up to the pool; and broken books are noticed.
"""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import ConfigError
from labkit.kvcache.manager import CacheError
from labkit.kvcache.paged import PagedManager, blocks_for, slot_of
from labkit.kvcache.strips import RESERVES, StripManager

POOL, LONGEST = 48, 24


@dataclass
class Holding:
    """A sequence, as far as memory goes, with what it wrote."""

    id: str
    prompt_tokens: int
    final_tokens: int
    num_computed: int = 0


def managers():
    paged = [lambda size=size: PagedManager(POOL, size) for size in (1, 3, 8)]
    strips = [lambda kind=kind: StripManager(POOL, LONGEST, kind) for kind in RESERVES.values()]
    return st.sampled_from(paged + strips)


def compute(manager, holder, tokens, memory, written):
    """What an executor does after `grow`: copies first, then a write to the slot of each new token."""
    for source, target in manager.take_copies():
        size = manager.block_size
        memory[target * size : (target + 1) * size] = memory[source * size : (source + 1) * size]
    for position in range(holder.num_computed, tokens):
        value = (holder.id, position)
        memory[slot_of(manager.table(holder), position, manager.block_size)] = value
        written[holder.id].append(value)
    holder.num_computed = tokens


@settings(max_examples=150, deadline=None)
@given(make=managers(), data=st.data())
def test_what_was_written_is_read_back(make, data):
    manager, memory, live, written = make(), [None] * POOL, {}, {}
    for number in range(data.draw(st.integers(5, 40), label="actions")):
        action = data.draw(st.sampled_from(["new", "grow", "grow", "fork", "free"]))
        if action == "new" or not live:
            prompt = data.draw(st.integers(1, 8))
            holder = Holding(str(number), prompt, data.draw(st.integers(prompt + 1, LONGEST)))
            if manager.grow(holder, prompt):
                live[holder.id], written[holder.id] = holder, []
                compute(manager, holder, prompt, memory, written)
            continue
        holder = live[data.draw(st.sampled_from(sorted(live)))]
        if action == "grow" and holder.num_computed < holder.final_tokens:
            before = list(manager.table(holder)), manager.free_slots
            tokens = data.draw(st.integers(holder.num_computed + 1, holder.final_tokens))
            if manager.grow(holder, tokens):
                compute(manager, holder, tokens, memory, written)
            else:
                assert (list(manager.table(holder)), manager.free_slots) == before
        elif action == "fork":
            shared = data.draw(st.integers(1, holder.num_computed))
            child = Holding(f"{number}f", holder.prompt_tokens, holder.final_tokens, shared)
            if manager.fork(holder, child, shared):
                live[child.id], written[child.id] = child, written[holder.id][:shared]
        elif action == "free":
            manager.free(live.pop(holder.id))
        manager.check_invariants(live.values())
        usage = manager.usage(live.values())
        assert usage.pool == manager.slots
        assert min(usage.used, usage.reserved, usage.internal, usage.external, usage.free) >= 0
        for one in live.values():
            slots = [slot_of(manager.table(one), p, manager.block_size) for p in range(one.num_computed)]
            assert [memory[slot] for slot in slots] == written[one.id]
    for holder in live.values():
        manager.free(holder)
    manager.check_invariants([])
    assert manager.free_slots == manager.slots


def test_usage_of_a_known_pool():
    paged, one = PagedManager(32, 8), Holding("a", 5, 11)
    assert paged.grow(one, 5)
    one.num_computed = 5
    usage = paged.usage([one])
    assert (usage.used, usage.reserved, usage.internal, usage.external, usage.free) == (5, 3, 0, 0, 24)
    assert usage.utilization == 5 / 8
    strip = StripManager(32, 16)
    assert strip.grow(Holding("a", 5, 11), 5)
    usage = strip.usage([one])
    assert (usage.used, usage.reserved, usage.internal, usage.external, usage.free) == (5, 6, 5, 0, 16)


def test_holes_between_strips_are_external_waste():
    manager = StripManager(30, 10)
    first, second, third = (Holding(name, 5, 10, 5) for name in "abc")
    for holder in (first, second, third):
        assert manager.grow(holder, 5)
    manager.free(first)
    manager.free(third)
    usage = manager.usage([second])
    assert (usage.external, usage.free) == (10, 10)


@pytest.mark.parametrize(("kind", "length"), [("max", 24), ("pow2", 5 + 8), ("oracle", 5 + 6)])
def test_strips_are_as_long_as_the_paper_says(kind, length):
    manager, holder = StripManager(48, 24, RESERVES[kind]), Holding("a", 5, 11)
    assert manager.grow(holder, 5)
    assert len(manager.table(holder)) == length


def test_a_writer_of_a_shared_block_gets_its_own_and_the_full_ones_stay_shared():
    manager, parent = PagedManager(32, 4), Holding("a", 6, 12, 0)
    assert manager.grow(parent, 6)
    parent.num_computed = 6
    child = Holding("b", 6, 12, 6)
    assert manager.fork(parent, child, 6)
    assert manager.pool.free == 6
    assert manager.grow(child, 7)
    assert manager.table(child)[0] == manager.table(parent)[0]
    assert manager.take_copies() == [(manager.table(parent)[1], manager.table(child)[1])]
    assert manager.take_copies() == []
    assert manager.blocks_copied == 1


def test_newcomers_leave_the_spare_slots():
    manager = PagedManager(32, 4)
    assert not manager.grow(Holding("a", 25, 30), 25, spare=8)
    assert manager.grow(Holding("a", 24, 30), 24, spare=8)


def test_broken_books_are_noticed():
    manager, holder = PagedManager(32, 4), Holding("a", 6, 12)
    manager.grow(holder, 6)
    with pytest.raises(CacheError, match="leaked"):
        manager.check_invariants([])
    holder.num_computed = 9
    with pytest.raises(CacheError, match="9 tokens in 8 slots"):
        manager.check_invariants([holder])
    holder.num_computed = 6
    manager.pool.references[manager.table(holder)[0]] = 2
    with pytest.raises(CacheError, match="reference counts"):
        manager.check_invariants([holder])
    strips = StripManager(32, 16)
    strips.grow(holder, 6)
    with pytest.raises(CacheError, match="leaked"):
        strips.check_invariants([])
    strips._holes.pop()
    with pytest.raises(CacheError, match="end at"):
        strips.check_invariants([holder])


@given(tokens=st.integers(0, 500), size=st.integers(1, 64))
def test_blocks_are_just_enough(tokens, size):
    assert 0 <= blocks_for(tokens, size) * size - tokens < size


@given(size=st.integers(1, 9), table=st.lists(st.integers(0, 50), min_size=1, unique=True))
def test_slots_of_a_table_are_its_blocks_in_order(size, table):
    slots = [slot_of(table, position, size) for position in range(size * len(table))]
    assert slots == [block * size + offset for block in table for offset in range(size)]


def test_impossible_pools_are_refused():
    with pytest.raises(ConfigError, match="block size 9"):
        PagedManager(8, 9)
    with pytest.raises(ConfigError, match="strips of 9"):
        StripManager(8, 9)
