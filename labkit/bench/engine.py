"""Many requests at once: labkit's schedulers, transformers' `generate` and its continuous batching, in turns.

What counts is useful output tokens a second: those that somebody asked for. The limit beside them takes every token's
arithmetic at the measured peak, and every decode step's weights at the measured bandwidth. The second table says what
the engine costs besides the model.
"""

import argparse
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

from labkit.bench import overhead
from labkit.bench.limits import Limits, described, measure_limits
from labkit.bench.openvino_peer import openvino_runner
from labkit.bench.peers import (
    Job,
    Runner,
    generate_batch,
    labkit_runner,
    make_job,
    padded_generate,
    transformers_model,
)
from labkit.bench.timing import Measurement, Timing, timed, watched
from labkit.errors import SetupError
from labkit.model.load import LanguageModel, load
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
    job = make_job(args.requests, lm.config.vocab_size)
    outputs: dict[str, list[list[int]]] = {}
    candidates = {"limit": _limit(lm, job)}
    candidates |= {name: _measured(name, runner, job, outputs) for name, runner in _runners(lm, job).items()}
    timings = watched("bench engine", candidates, args.repeats)
    rows = [_row(name, timing, timings, job) for name, timing in timings.items()]
    for row in rows[1:]:
        row["same_tokens"] = same_share(outputs[row["what"]], outputs["continuous"])
    costs = own_costs(lm, args.requests, args.waiting)
    return Report(
        "bench engine", rows + costs, _text(lm, job, rows, costs), facts=_facts(lm, args, job, timings)
    )


def _runners(lm: LanguageModel, job: Job) -> dict[str, Runner]:
    peer, other = transformers_model(lm), openvino_runner(lm)
    return {
        **{name: labkit_runner(lm, job, name, seats=len(job.prompts)) for name in SCHEDULERS},
        "transformers, generate": padded_generate(peer),
        "transformers, continuous": generate_batch(peer),
        **({"OpenVINO GenAI, 4-bit": other} if other else {}),
    }


def _limit(lm: LanguageModel, job: Job) -> Measurement:
    """The floor from this round's bandwidth and peak: the machine's speed changes while others run."""
    return lambda: floor_of(lm, job, measure_limits(lm.model.device, lm.model.dtype, repeats=3))


def _measured(name: str, runner: Runner, job: Job, outputs: dict[str, list[list[int]]]) -> Measurement:
    def work() -> None:
        outputs[name] = runner(job)

    return timed(work)


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


def _row(name: str, timing: Timing, timings: Mapping[str, Timing], job: Job) -> Row:
    return {
        "what": name,
        "best_tokens_per_second": job.tokens / timing.best,
        "median_tokens_per_second": job.tokens / timing.median,
        "continuous_is_faster": timings["continuous"].times_faster_than(timing),
        "median_share_of_limit": timings["limit"].median / timing.median,
    }


def _facts(lm: LanguageModel, args: argparse.Namespace, job: Job, timings: Mapping[str, Timing]) -> Row:
    return {
        **described(lm),
        "requests": args.requests,
        "prompt_tokens": sum(map(len, job.prompts)),
        "output_tokens": job.tokens,
        "rounds": args.repeats,
        "seconds": {name: timing.seconds for name, timing in timings.items()},
    }


def _text(lm: LanguageModel, job: Job, rows: list[Row], costs: list[Row]) -> str:
    speeds: dict[str, str] = {
        "what": "",
        "best_tokens_per_second": "useful tok/s best",
        "median_tokens_per_second": "median",
        "continuous_is_faster": "continuous is faster, times",
        "median_share_of_limit": "share of the limit",
        "same_tokens": "same tokens",
    }
    times: dict[str, Any] = {"what": "", "best_milliseconds": "ms best", "median_milliseconds": "median"}
    return (
        f"{lm.name} on {lm.model.device}: {len(job.prompts)} requests at once, {sum(map(len, job.prompts))} prompt and "
        f"{job.tokens} output tokens\n\n"
        f"{table(rows, speeds)}\n\n{table(costs, times)}"
    )
