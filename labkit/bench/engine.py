"""Many requests at once: labkit's schedulers, transformers' `generate` and its continuous batching, in turns.

What counts is useful output tokens a second: those that somebody asked for. The floor beside them takes every token's
arithmetic at the measured peak, and every decode step's weights at the measured bandwidth. The second table says what
the engine costs besides the model.
"""

import argparse
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

import torch

from labkit.bench import overhead
from labkit.bench.limits import Limits, measure_limits
from labkit.bench.peers import (
    Job,
    Runner,
    generate_batch,
    labkit_runner,
    make_job,
    padded_generate,
    transformers_model,
)
from labkit.bench.timing import Measurement, Timing, collect, rounds, timed
from labkit.errors import SetupError
from labkit.model.load import LanguageModel, load
from labkit.progress import ProgressBar
from labkit.report import Report, Row, table
from labkit.simulate.roofline import decode_work, floor_seconds, prefill_work

SCHEDULERS = ("continuous", "chunked", "static", "sequential")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--model", default="smollm2-135m", help="name or folder (default: smollm2-135m)")
    parser.add_argument("--requests", type=int, default=32, metavar="N", help="all at once (default: 32)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="counted rounds (default: 3)")
    parser.add_argument("--waiting", type=int, default=10_000, metavar="N", help="in the scheduler's queue")


def run(args: argparse.Namespace) -> Report:
    """Measure all candidates in turns, and the engine's own costs."""
    if args.requests < 2 or args.repeats < 1:
        raise SetupError("need --requests of at least 2 and --repeats of at least 1")
    lm = load(args.model)
    job, limits = (
        make_job(args.requests, lm.config.vocab_size),
        measure_limits(lm.model.device, lm.model.dtype),
    )
    outputs: dict[str, list[list[int]]] = {}
    candidates = {name: _measured(name, runner, job, outputs) for name, runner in _runners(lm, job).items()}
    timings = _in_turns(candidates, args.repeats)
    floor = floor_of(lm, job, limits)
    rows = [_row(name, timing, timings["continuous"], job, floor) for name, timing in timings.items()]
    for row in rows:
        row["same_tokens"] = same_share(outputs[row["what"]], outputs["continuous"])
    costs = own_costs(lm, args.requests, args.waiting)
    return Report(
        "bench engine",
        rows + costs,
        _text(lm, job, floor, rows, costs),
        facts=_facts(lm, args, job, floor, timings),
    )


def _runners(lm: LanguageModel, job: Job) -> dict[str, Runner]:
    peer = transformers_model(lm)
    seats = len(job.prompts)
    ours = {name: labkit_runner(lm, job, name, seats) for name in SCHEDULERS}
    return {
        **ours,
        "transformers, generate": padded_generate(peer),
        "transformers, continuous": generate_batch(peer),
    }


def _measured(name: str, runner: Runner, job: Job, outputs: dict[str, list[list[int]]]) -> Measurement:
    def work() -> None:
        outputs[name] = runner(job)

    return timed(work)


def _in_turns(candidates: dict[str, Measurement], repeats: int) -> dict[str, Timing]:
    measured = []
    with ProgressBar("bench engine") as bar:
        for one in rounds(candidates, repeats):
            measured.append(one)
            bar.update(len(measured) / repeats)
    return collect(measured)


def floor_of(lm: LanguageModel, job: Job, limits: Limits) -> float:
    """Seconds that the job takes at least, all requests side by side: prompts at the peak, and every decode step at
    the slower of its arithmetic and its bytes.
    """
    config, size = lm.config, lm.model.dtype.itemsize
    peak, bandwidth = limits.flops_per_second, limits.bytes_per_second
    seconds = sum(prefill_work(config, len(prompt), size).flops for prompt in job.prompts) / peak
    for step in range(1, max(job.outputs)):
        contexts = [
            len(p) + step for p, tokens in zip(job.prompts, job.outputs, strict=True) if tokens > step
        ]
        seconds += floor_seconds(
            decode_work(config, len(contexts), round(fmean(contexts)), size), peak, bandwidth
        )
    return seconds


def same_share(ours: list[list[int]], theirs: list[list[int]]) -> float:
    """Share of the tokens that two runs have in common, position by position."""
    pairs = [(a, b) for one, other in zip(ours, theirs, strict=True) for a, b in zip(one, other, strict=True)]
    return fmean(a == b for a, b in pairs)


def own_costs(lm: LanguageModel, batch: int, waiting: int) -> list[Row]:
    """What a step costs besides the model, and the scheduler alone with few and with `waiting` in its queue."""
    measured: Mapping[str, Callable[[], list[float]]] = {
        f"step besides model and attention, {batch} decode": lambda: overhead.step_overhead(lm, batch),
        "scheduler alone, 256 run, 100 wait": lambda: overhead.scheduler_step(100),
        f"scheduler alone, 256 run, {waiting} wait": lambda: overhead.scheduler_step(waiting),
        f"chunked scheduler, 256 run, {waiting} wait": lambda: overhead.scheduler_step(waiting, chunked=True),
    }
    rows = []
    for name, measure in measured.items():
        best, median = overhead.milliseconds(measure())
        rows.append({"what": name, "best_milliseconds": best, "median_milliseconds": median})
    return rows


def _row(name: str, timing: Timing, continuous: Timing, job: Job, floor: float) -> Row:
    return {
        "what": name,
        "best_tokens_per_second": job.tokens / timing.best,
        "median_tokens_per_second": job.tokens / timing.median,
        "continuous_is_faster": continuous.times_faster_than(timing),
        "median_share_of_floor": floor / timing.median,
    }


def _facts(
    lm: LanguageModel, args: argparse.Namespace, job: Job, floor: float, timings: Mapping[str, Timing]
) -> Row:
    return {
        "model": lm.name,
        "dtype": str(lm.model.dtype).removeprefix("torch."),
        "device": str(lm.model.device),
        "threads": torch.get_num_threads(),
        "requests": args.requests,
        "prompt_tokens": sum(map(len, job.prompts)),
        "output_tokens": job.tokens,
        "floor_seconds": floor,
        "rounds": args.repeats,
        "seconds": {name: timing.seconds for name, timing in timings.items()},
    }


def _text(lm: LanguageModel, job: Job, floor: float, rows: list[Row], costs: list[Row]) -> str:
    speeds: dict[str, str] = {
        "what": "",
        "best_tokens_per_second": "useful tok/s best",
        "median_tokens_per_second": "median",
        "continuous_is_faster": "continuous is faster, times",
        "median_share_of_floor": "share of the limit",
        "same_tokens": "same tokens",
    }
    times: dict[str, Any] = {"what": "", "best_milliseconds": "ms best", "median_milliseconds": "median"}
    return (
        f"{lm.name} on {lm.model.device}: {len(job.prompts)} requests at once, {sum(map(len, job.prompts))} prompt and "
        f"{job.tokens} output tokens; at most {job.tokens / floor:.0f} useful tokens a second\n\n"
        f"{table(rows, speeds)}\n\n{table(costs, times)}"
    )
