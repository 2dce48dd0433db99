"""What clients of the engine rely on: refusals that name the remedy and harm nobody, cancellation, streams, stop
strings, samples, arrival times; and the bugs that other small engines had.
"""

from dataclasses import replace

import pytest

from labkit.engine import metrics
from labkit.engine.build import SCHEDULERS, build_engine, make_manager, make_scheduler
from labkit.engine.clock import VirtualClock, WallClock
from labkit.engine.generation import generate, naive
from labkit.engine.request import Request
from labkit.engine.sampling import SamplingParams
from labkit.engine.trace import Trace
from labkit.errors import ConfigError, LabkitError, RequestError
from labkit.model.config import ModelConfig
from labkit.simulate.executor import StepCost, simulator

PARAMS = SamplingParams(max_tokens=6, ignore_eos=True)
SHAPE = ModelConfig(32, 16, 32, num_layers=1, num_heads=2, num_kv_heads=1, head_dim=8, max_positions=64)


def ask(text="hello", name="", **changes):
    return Request(tuple(text.encode()), replace(PARAMS, **changes), id=name)


def told(lm, text, **changes):
    """The naive loop's answer."""
    return generate(lm, list(text.encode()), replace(PARAMS, **changes), loop=naive).tokens


def simulated(scheduler="continuous", slots=64, seats=4, **options):
    manager = make_manager("paged", slots, 4, SHAPE)
    cost = StepCost(step=1.0, prefill_token=0.1)
    return simulator(make_scheduler(scheduler, manager, seats, **options), cost, SHAPE)


def numbers(prompt, output, arrival=0.0, name=""):
    return Request((1,) * prompt, SamplingParams(max_tokens=output, ignore_eos=True), arrival, id=name)


# Refusals


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request((), PARAMS), "empty"),
        (Request((1, 999), PARAMS), "999"),
        (Request((1,) * 96, PARAMS), "96"),
        (Request((1,) * 60, replace(PARAMS, max_tokens=30)), "shorten the prompt, lower max_tokens, or make"),
        (Request((1,), PARAMS, arrival=float("nan")), "arrival nan"),
        (Request((1,), PARAMS, arrival=-1.0), "arrival -1.0"),
        (Request((1,), PARAMS, id="taken"), "under way"),
    ],
)
def test_what_can_never_be_served_is_refused_and_nothing_else_changes(lm, request_, message):
    engine = build_engine(lm, pool_tokens=64)
    taken = engine.add(ask(name="taken"))
    with pytest.raises(RequestError, match=message):
        engine.add(request_)
    assert len(engine.trace.requests) == 1
    while engine.step():
        engine.scheduler.check_invariants()
    assert taken[0].tokens == told(lm, "hello")


def test_a_run_refuses_one_and_serves_the_others(lm):
    engine = build_engine(lm, pool_tokens=32, block_size=4)
    outputs = engine.run([ask("a"), ask("x" * 40), ask("b")])
    assert [output.finish_reason for output in outputs] == ["length", "refused", "length"]
    assert "KV cache holds 32" in outputs[1].error
    assert outputs[2].tokens == told(lm, "b")


def test_generate_refuses_before_it_computes(lm):
    engine = build_engine(lm, pool_tokens=32, block_size=4)
    with pytest.raises(RequestError, match="KV cache"):
        engine.generate(["a", "x" * 40], PARAMS, progress=False)
    assert not engine.trace.steps


def test_words_that_name_nothing_are_refused(lm):
    with pytest.raises(ConfigError, match="scheduler 'greedy': choose sequential"):
        build_engine(lm, scheduler="greedy")
    with pytest.raises(ConfigError, match="cache 'ring': choose max"):
        build_engine(lm, cache="ring")
    with pytest.raises(ConfigError, match="order 'lifo': choose fcfs"):
        build_engine(lm, order="lifo")
    with pytest.raises(ConfigError, match="token_budget"):
        build_engine(lm, scheduler="static", token_budget=9)
    with pytest.raises(ConfigError, match="token_budget 9 is less than max_sequences 10"):
        build_engine(lm, scheduler="chunked", max_sequences=10, token_budget=9)
    with pytest.raises(ConfigError, match="window -1"):
        build_engine(lm, scheduler="dynamic", window=-1)
    with pytest.raises(ConfigError, match="max_sequences 0"):
        build_engine(lm, scheduler="static", max_sequences=0)


# What clients do


def test_outputs_come_in_the_order_of_the_prompts(lm):
    engine = build_engine(lm, pool_tokens=256)
    texts = ["one", "a longer prompt", "3"]
    outputs = engine.generate(texts, PARAMS, progress=False)
    assert [output.tokens for output in outputs] == [told(lm, text) for text in texts]


def test_a_cancelled_request_ends_and_gives_everything_back(lm):
    engine = build_engine(lm, pool_tokens=256)
    (going,), (staying,) = engine.add(ask("go", "go")), engine.add(ask("stay", "stay"))
    engine.step()
    engine.cancel("go")
    engine.cancel("nobody")
    while engine.step():
        engine.scheduler.check_invariants()
    assert (going.finish_reason, len(going.tokens)) == ("cancelled", 1)
    assert staying.tokens == told(lm, "stay")
    assert engine.scheduler.manager.free_slots == engine.scheduler.manager.slots
    engine.add(ask(name="go"))  # the name is free again


def test_a_stream_shows_the_text_piece_by_piece_while_others_go_on(lm):
    engine = build_engine(lm, pool_tokens=256)
    (other,) = engine.add(ask("other", "other"))
    pieces = list(engine.stream("hello", PARAMS))
    (whole,) = build_engine(lm, pool_tokens=256).generate(["hello"], PARAMS, progress=False)
    assert "".join(pieces) == whole.text
    assert other.tokens == told(lm, "other")


def test_an_abandoned_stream_cancels_its_request(lm):
    engine = build_engine(lm, pool_tokens=256)
    stream = engine.stream("hello", replace(PARAMS, max_tokens=60))
    next(stream)
    stream.close()
    assert not engine.step()
    assert engine.trace.requests[0].finish_reason == "cancelled"


def test_a_stream_has_one_sample(lm):
    engine = build_engine(lm, pool_tokens=256)
    with pytest.raises(RequestError, match="n = 2"):
        engine.stream("hello", replace(PARAMS, n=2))
    assert not engine.step()


def test_a_stop_string_ends_the_output_and_is_not_shown(lm):
    (whole,) = build_engine(lm, pool_tokens=256).generate(
        ["hello"], replace(PARAMS, max_tokens=30), progress=False
    )
    stop = whole.text[4:6]
    (cut,) = build_engine(lm, pool_tokens=256).generate(
        ["hello"], replace(PARAMS, max_tokens=30, stop=stop), progress=False
    )
    assert cut.finish_reason == "stop"
    assert cut.text == whole.text[: whole.text.index(stop)]


@pytest.mark.parametrize("scheduler", sorted(SCHEDULERS))
def test_samples_of_one_prompt_differ_and_are_repeatable(lm, scheduler):
    asked = replace(PARAMS, n=3, temperature=1.5, seed=4)
    runs = [
        build_engine(lm, scheduler=scheduler, pool_tokens=256).generate(["hello"], asked, progress=False)
        for _ in range(2)
    ]
    tokens = [[output.tokens for output in run] for run in runs]
    assert tokens[0] == tokens[1]
    assert len(set(map(tuple, tokens[0]))) == 3
    assert [output.id[-2:] for output in runs[0]] == [".0", ".1", ".2"]


def test_samples_share_the_blocks_of_their_prompt(lm):
    prompt = "a prompt of more than four blocks"
    engine = build_engine(lm, pool_tokens=256, block_size=8, max_sequences=4)
    engine.generate([prompt], replace(PARAMS, n=4, temperature=1.0, seed=0), progress=False)
    assert sum(event.kind == "fork" for step in engine.trace.steps for event in step.events) == 3
    assert (
        metrics.computed_tokens(engine.trace) == len(prompt) + 3 + 4 * 5
    )  # the children compute one prompt token


def test_log_probabilities_are_there_when_asked_for(lm):
    (output,) = build_engine(lm, pool_tokens=256).generate(
        ["hi"], replace(PARAMS, logprobs=2), progress=False
    )
    assert [one.token for one in output.logprobs] == output.tokens
    assert all(len(one.top) == 2 and one.logprob == max(one.top.values()) for one in output.logprobs)


def test_a_trace_of_a_real_run_survives_saving(lm, tmp_path):
    engine = build_engine(lm, pool_tokens=48, block_size=4, max_sequences=3)
    engine.run([ask("hello there"), ask("what", n=2, temperature=1.0), ask("x" * 60)])
    engine.trace.save(tmp_path / "run.jsonl")
    assert Trace.load(tmp_path / "run.jsonl") == engine.trace


# Time


def test_arrivals_are_respected_on_a_virtual_clock():
    engine = simulated(seats=1)
    outputs = engine.run([numbers(4, 2, arrival=5.0), numbers(4, 1)])
    assert [output.record.started for output in outputs] == [5.0, 0.0]
    assert outputs[0].record.token_times == pytest.approx([6.4, 7.4])
    assert isinstance(engine.clock, VirtualClock)


def test_a_dynamic_batch_waits_for_its_window_or_until_it_is_full():
    lonely = simulated("dynamic", seats=3, window=2.0).run([numbers(4, 1)])
    assert lonely[0].record.started == 2.0
    full = simulated("dynamic", seats=2, window=9.0).run([numbers(4, 1), numbers(4, 1, arrival=0.5)])
    assert [output.record.started for output in full] == [0.5, 0.5]


def test_a_wall_clock_waits_for_arrivals(lm):
    engine = build_engine(lm, pool_tokens=256, clock=WallClock)
    (output,) = engine.run([replace(ask(), arrival=0.05)])
    assert output.record.started >= 0.05


# Bugs that other small engines had


def test_nobody_starves_in_any_order():
    """One long request among a stream of short and urgent ones that alone would fill every seat."""
    for order in ("fcfs", "sjf", "priority"):
        long = Request((1,) * 8, SamplingParams(max_tokens=20, ignore_eos=True), 0.5, priority=0, id="long")
        short = [
            Request((1,) * 4, SamplingParams(max_tokens=2, ignore_eos=True), 0.4 * n, priority=3)
            for n in range(400)
        ]
        engine = simulated(seats=2, order=order)
        outputs = {output.id: output.record for output in engine.run([long, *short])}
        others = sum(record.started < outputs["long"].started for record in outputs.values())
        assert others < 200, order


def test_a_preempted_sequence_goes_on_where_it_was(lm):
    engine = build_engine(lm, scheduler="continuous", pool_tokens=48, block_size=4, max_sequences=4)
    texts = ["first prompt", "second prompt", "third"]
    outputs = engine.run([ask(text, max_tokens=20) for text in texts])
    assert any(event.kind == "preempt" for step in engine.trace.steps for event in step.events)
    assert engine.scheduler.tokens_recomputed > 0
    assert [output.tokens for output in outputs] == [told(lm, text, max_tokens=20) for text in texts]


def test_chunks_and_decodes_share_a_step():
    engine = simulated("chunked", slots=128, seats=4, token_budget=8)
    engine.run([numbers(4, 12), numbers(40, 2, arrival=1.5)])
    mixed = [step for step in engine.trace.steps if {(0, 1), (7, 0)} <= set(step.tokens.values())]
    assert len(mixed) >= 5
    assert all(sum(map(sum, step.tokens.values())) <= 8 for step in engine.trace.steps)


def test_ten_thousand_requests_leave_nothing_behind():
    engine = simulated(slots=64, seats=4)
    sizes = []
    for _ in range(4):
        engine.run([numbers(1 + n % 9, 1 + n % 7) for n in range(2500)])
        scheduler, manager = engine.scheduler, engine.scheduler.manager
        assert manager.free_slots == manager.slots
        sizes.append(
            (len(scheduler.waiting._heap), len(engine._live), len(engine._samples), len(manager._tables))
        )
    assert sizes == [(0, 0, 0, 0)] * 4


def test_a_run_beside_requests_under_way_is_refused(lm):
    engine = build_engine(lm, pool_tokens=256)
    engine.add(ask())
    with pytest.raises(LabkitError, match="1 outputs are under way"):
        engine.run([ask()])
