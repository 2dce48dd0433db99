"""The simulator is the engine: the same schedule as the real executor's, at the seconds that the cost model says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.engine.batch import Batch, Chunk
from labkit.engine.build import SCHEDULERS, build_engine, make_manager, make_scheduler
from labkit.engine.clock import VirtualClock
from labkit.engine.request import Request, Sequence
from labkit.engine.sampling import SamplingParams
from labkit.errors import ConfigError
from labkit.model.config import ModelConfig
from labkit.model.transformer import Transformer
from labkit.simulate.executor import OPT_13B, SimulatedExecutor, StepCost, simulator

CONFIG = ModelConfig(32, 16, 32, num_layers=1, num_heads=2, num_kv_heads=1, head_dim=8, max_positions=64)
COST = StepCost(step=1.0, prefill_token=0.1, decode_token=0.01, context_token=0.001)


class Model:
    """Stands in for what `labkit.load` returns; it has no tokenizer."""

    name, tokenizer, config = "random", None, CONFIG
    model = Transformer.random(CONFIG, seed=1)


def request(prompt, output, arrival=0.0):
    return Request((1,) * prompt, SamplingParams(max_tokens=output, ignore_eos=True), arrival)


def simulated(requests, cache="paged", scheduler="continuous", pool=64, cost=COST, seats=4):
    manager = make_manager(cache, pool, 4, CONFIG)
    engine = simulator(make_scheduler(scheduler, manager, seats), cost, CONFIG)
    return engine, engine.run(requests)


def chunk(known, start, count, prompt):
    sequence = Sequence(request(prompt, 40), 0, 60, frozenset())
    sequence.tokens = [1] * known
    return Chunk(sequence, start, count, [])


def test_a_step_costs_what_it_computes_and_reads():
    """One decode at 10 tokens of context, one piece of a prompt up to its 8th token, and 5 rows of padding."""
    batch = Batch([chunk(10, 9, 1, prompt=6), chunk(12, 5, 3, prompt=12)], padding=5)
    assert COST.seconds(batch) == pytest.approx(1 + (3 + 5) * 0.1 + 1 * 0.01 + (10 + 8) * 0.001)
    result = SimulatedExecutor(COST, token=7).execute(batch)
    assert (result.tokens, result.seconds) == ([7], COST.seconds(batch))


def test_the_time_of_a_request_is_arithmetic():
    engine, (output,) = simulated([request(5, 3, arrival=2.0)])
    first = 1 + 5 * 0.1 + 5 * 0.001
    times = [2 + first, 2 + first + 1.01 + 0.006, 2 + first + 2.02 + 0.006 + 0.007]
    assert output.record.token_times == pytest.approx(times)
    assert isinstance(engine.clock, VirtualClock)
    assert output.tokens == [0, 0, 0]


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=8),
    cache=st.sampled_from(["paged", "max", "pow2", "oracle"]),
    scheduler=st.sampled_from(sorted(SCHEDULERS)),
)
def test_it_schedules_as_the_real_engine_does(lengths, cache, scheduler):
    """With everybody there at the start, time decides nothing, so each step computes the same tokens of the same
    requests.
    """
    requests = [request(*pair) for pair in lengths]
    engine, outputs = simulated(requests, cache, scheduler)
    real = build_engine(
        Model(), scheduler=scheduler, cache=cache, pool_tokens=64, block_size=4, max_sequences=4
    )
    theirs = real.run(requests)
    assert [step.tokens for step in engine.trace.steps] == [step.tokens for step in real.trace.steps]
    assert [step.usage for step in engine.trace.steps] == [step.usage for step in real.trace.steps]
    assert [len(one.tokens) for one in outputs] == [len(one.tokens) for one in theirs]


def test_two_runs_are_the_same_run():
    requests = [request(3 + n, 4 + n, arrival=n / 2) for n in range(6)]
    assert simulated(requests)[0].trace == simulated(requests)[0].trace


@pytest.mark.parametrize("prices", [{"step": -1.0}, {"step": 0.0}, {"step": 1.0, "context_token": -1e-9}])
def test_a_price_that_stops_the_clock_is_refused(prices):
    with pytest.raises(ConfigError, match="step cost"):
        StepCost(**prices)


def test_opt_13b_decodes_at_the_published_speed():
    """A hundred tokens of context, alone: 19.93 + 0.0385 + 0.0627 ms."""
    assert OPT_13B.seconds(Batch([chunk(100, 99, 1, prompt=9)])) == pytest.approx(20.03e-3, rel=1e-3)
