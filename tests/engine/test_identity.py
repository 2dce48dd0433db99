"""The product of everything: whatever schedules, whatever keeps the cache, however small the pool, whoever arrives or
leaves when, the tokens are those of the naive loop and the books balance after every step.
"""

from functools import cache
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from labkit.engine.build import SCHEDULERS, build_engine, make_manager
from labkit.engine.generation import generate, naive
from labkit.engine.request import Request
from labkit.engine.sampling import SamplingParams
from labkit.engine.waiting import ORDERS
from labkit.kvcache.strips import RESERVES

LARGEST = 24 + 12 - 1  # tokens of context of the largest request: its last token is never fed back


@st.composite
def workloads(draw, vocabulary=255):
    """Requests with arrivals, and for some the step before which their client leaves."""
    requests, leaves = [], {}
    for index in range(draw(st.integers(1, 8))):
        random = Random(draw(st.integers(0, 30)))
        prompt = tuple(random.randrange(vocabulary) for _ in range(draw(st.integers(1, 24))))
        sampled = draw(st.booleans())
        params = SamplingParams(
            max_tokens=draw(st.integers(1, 12)), temperature=0.7 if sampled else 0.0, seed=index,
            n=draw(st.sampled_from((1, 1, 1, 2, 3))), ignore_eos=draw(st.booleans()),
        )  # fmt: skip
        arrival = draw(st.sampled_from((0.0, 0.0, 0.001, 0.01)))
        priority, expected = draw(st.integers(0, 2)), draw(st.none() | st.integers(1, 12))
        requests.append(Request(prompt, params, arrival, priority, f"r{index}", expected))
        if draw(st.integers(0, 9)) == 0:
            leaves[f"r{index}"] = draw(st.integers(0, 6))
    return requests, leaves


@st.composite
def engines(draw):
    """Arguments of `build_engine`: every scheduler and manager, from pools that hold a single request on."""
    scheduler, cache = draw(st.sampled_from(sorted(SCHEDULERS))), draw(st.sampled_from(["paged", *RESERVES]))
    seats = draw(st.integers(1, 5))
    options = {"token_budget": seats + draw(st.integers(0, 20))} if scheduler == "chunked" else {}
    if scheduler == "dynamic":
        options = {"window": draw(st.sampled_from((0.0, 0.005)))}
    block = draw(st.sampled_from((1, 2, 3, 4, 8, 16)))
    pool = (
        block * -(-draw(st.integers(LARGEST, 100)) // block)
        if cache == "paged"
        else draw(st.integers(96, 300))
    )
    return {
        "scheduler": scheduler, "cache": cache, "pool_tokens": pool, "block_size": block,
        "max_sequences": seats, "order": draw(st.sampled_from(sorted(ORDERS))), **options,
    }  # fmt: skip


@pytest.fixture(scope="session")
def expected(lm):
    """What the naive loop makes of a request's first sample."""

    @cache
    def completion(prompt, params):
        return generate(lm, list(prompt), params, loop=naive)

    return completion


@settings(max_examples=250, deadline=None)
@given(workload=workloads(), options=engines())
def test_every_engine_emits_the_tokens_of_the_naive_loop(lm, expected, workload, options):
    requests, leaves = workload
    engine = build_engine(lm, **options)
    steps = _watched(engine, leaves)
    outputs = engine.run(requests)
    by_id = {output.id: output for output in outputs}
    for request in requests:
        first = by_id[request.id if request.params.n == 1 else f"{request.id}.0"]
        full = expected(request.prompt, request.params)
        if first.finish_reason == "cancelled":
            assert first.tokens == full.tokens[: len(first.tokens)]
        else:
            assert (first.tokens, first.text, first.finish_reason) == (
                full.tokens,
                full.text,
                full.finish_reason,
            )
    assert not engine.scheduler.has_work
    assert engine.scheduler.manager.free_slots == engine.scheduler.manager.slots
    event(options["scheduler"])
    event(f"preempted: {engine.scheduler.tokens_recomputed > 0}")
    assert steps


def _watched(engine, leaves):
    """Check the books around every step, and let clients leave when they mean to."""
    scheduler, steps = engine.scheduler, []
    schedule, update = scheduler.schedule, scheduler.update

    def watched_schedule(now):
        batch = schedule(now)
        steps.append(batch)
        scheduler.check_invariants()
        usage = scheduler.manager.usage(scheduler.running)
        assert usage.pool == scheduler.manager.slots
        assert min(usage.used, usage.reserved, usage.internal, usage.external, usage.free) >= 0
        assert len(scheduler.running) <= scheduler.max_sequences
        if hasattr(scheduler, "token_budget"):
            assert batch.tokens <= scheduler.token_budget
        assert all(chunk.count >= 1 for chunk in batch.chunks)
        _check_writers(scheduler.manager, batch)
        return batch

    def watched_update(batch, tokens):
        emitted = update(batch, tokens)
        scheduler.check_invariants()
        for name, step in leaves.items():
            if len(steps) > step:
                engine.cancel(name)
        return emitted

    scheduler.schedule, scheduler.update = watched_schedule, watched_update
    return steps


def _check_writers(manager, batch):
    """No slot is written by two sequences, nor while another sequence can read it."""
    size, written, readable = manager.block_size, {}, {}
    for chunk in batch.chunks:
        for position in range(chunk.end):
            slot = chunk.table[position // size] * size + position % size
            readable.setdefault(slot, set()).add(chunk.sequence.id)
            if position >= chunk.start:
                assert slot not in written
                written[slot] = chunk.sequence.id
    for slot, writer in written.items():
        assert readable[slot] == {writer}


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1000), options=engines(), count=st.integers(2, 4))
def test_a_sample_is_the_same_whoever_shares_its_batch(lm, seed, options, count):
    """Further samples of a prompt draw from streams of their own: alone in a roomy engine or in a crowd."""
    prompt = tuple(Random(seed).randrange(255) for _ in range(9))
    params = SamplingParams(max_tokens=8, temperature=1.0, seed=seed, n=count)
    alone = build_engine(lm, pool_tokens=960, max_sequences=8).run([Request(prompt, params)])
    crowd = [Request(tuple(prompt[:size]), SamplingParams(max_tokens=9)) for size in (1, 4, 9)]
    outputs = build_engine(lm, **options).run([crowd[0], Request(prompt, params, id="x"), *crowd[1:]])
    together = {output.id: output.tokens for output in outputs if output.id.startswith("x.")}
    assert [output.tokens for output in alone] == [together[f"x.{sample}"] for sample in range(count)]


def test_a_manager_of_each_kind_holds_what_it_says(lm):
    for name in ("paged", *RESERVES):
        manager = make_manager(name, 200, 16, lm.config)
        assert manager.largest() <= manager.slots <= 200
