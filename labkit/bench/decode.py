"""Single-stream decode: the limit of this machine, labkit, and transformers on the same weights, side by
side.

At batch 1 every token needs every weight once and does two operations with it, so the limit is weight bytes
over read bandwidth. All candidates are measured in turns in one process; the bandwidth too, in every round.
"""

import argparse
from time import perf_counter
from typing import Any

import torch

from labkit.bench.limits import described, reading_weights, weight_bytes
from labkit.bench.peers import transformers_model
from labkit.bench.timing import Measurement, Timing, watched
from labkit.engine.generation import generate
from labkit.engine.metrics import tpot
from labkit.engine.sampling import SamplingParams
from labkit.engine.trace import RequestRecord
from labkit.errors import SetupError
from labkit.model.load import LanguageModel, load
from labkit.report import Report, Row, table


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--model", default="smollm2-135m", help="name or folder of the model (default: smollm2-135m)"
    )
    parser.add_argument("--prompt-tokens", type=int, default=32, metavar="N")
    parser.add_argument(
        "--tokens", type=int, default=16, metavar="N", help="tokens generated per round (default: 16)"
    )
    parser.add_argument("--repeats", type=int, default=20, metavar="N", help="counted rounds (default: 20)")


def run(args: argparse.Namespace) -> Report:
    """Measure, and set each candidate beside the limit."""
    if args.tokens < 2 or args.repeats < 1 or args.prompt_tokens < 1:
        raise SetupError("need --tokens of at least 2, --repeats and --prompt-tokens of at least 1")
    lm = load(args.model)
    prompt = torch.randint(
        lm.config.vocab_size, (args.prompt_tokens,), generator=torch.Generator().manual_seed(0)
    ).tolist()
    candidates = {
        "limit": reading_weights(lm.model),
        "labkit": labkit_decode(lm, prompt, args.tokens),
        "transformers": transformers_decode(lm, prompt, args.tokens),
    }
    timings = watched("bench decode", candidates, args.repeats)
    rows = [_row(name, timing, timings["limit"]) for name, timing in timings.items()]
    return Report(
        "bench decode",
        rows,
        _text(lm, rows, timings),
        facts=_facts(lm, args, timings),
    )


def labkit_decode(lm: LanguageModel, prompt: list[int], tokens: int) -> Measurement:
    """Seconds per token of labkit's cached loop, prefill left out."""
    params = SamplingParams(max_tokens=tokens, ignore_eos=True)

    def measure() -> float:
        return tpot(generate(lm, prompt, params).trace.requests[0]) or 0.0

    return measure


def transformers_decode(lm: LanguageModel, prompt: list[int], tokens: int) -> Measurement:
    """Seconds per token of transformers' `generate` on the same weights, prefill left out."""
    peer, clock = transformers_model(lm), _Clock()
    ids = torch.tensor([prompt], device=lm.model.device)

    def measure() -> float:
        clock.times.clear()
        peer.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, min_new_tokens=tokens, max_new_tokens=tokens,
            streamer=clock, pad_token_id=0,
        )  # fmt: skip
        # The streamer is given the prompt first.
        return tpot(RequestRecord("peer", 0.0, len(prompt), clock.times[1:])) or 0.0

    return measure


class _Clock:
    """A transformers streamer that notes when each token came."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def put(self, value: Any) -> None:
        self.times.append(perf_counter())

    def end(self) -> None:
        """Called when the output ends; nothing to do."""


def _row(name: str, timing: Timing, limit: Timing) -> Row:
    return {
        "what": name,
        "best_tokens_per_second": 1 / timing.best,
        "median_tokens_per_second": 1 / timing.median,
        "best_share_of_limit": limit.best / timing.best,
        "median_share_of_limit": limit.median / timing.median,
    }


def _facts(lm: LanguageModel, args: argparse.Namespace, timings: dict[str, Timing]) -> Row:
    return {
        **described(lm),
        "weight_bytes": weight_bytes(lm.model),
        "prompt_tokens": args.prompt_tokens,
        "tokens": args.tokens,
        "rounds": args.repeats,
        "times_faster_than_transformers": timings["labkit"].times_faster_than(timings["transformers"]),
        "seconds": {name: timing.seconds for name, timing in timings.items()},
    }


def _text(lm: LanguageModel, rows: list[Row], timings: dict[str, Timing]) -> str:
    headings = {
        "what": "",
        "best_tokens_per_second": "tok/s best",
        "median_tokens_per_second": "median",
        "best_share_of_limit": "share of limit, best",
        "median_share_of_limit": "median",
    }
    ratio = timings["labkit"].times_faster_than(timings["transformers"])
    read = weight_bytes(lm.model)
    bandwidth = read / timings["limit"].median / 1e9
    return (
        f"{lm.name}, {str(lm.model.dtype).removeprefix('torch.')} on {lm.model.device}, batch 1: "
        f"{read / 1e6:.0f} MB of weights a token, read at {bandwidth:.1f} GB/s (median)\n\n"
        f"{table(rows, headings)}\n\nlabkit is {ratio:.2f} times as fast as transformers (median over rounds)."
    )
