"""The same requests served by labkit, by transformers' `generate`, and by its continuous batching.

Each runner takes a job and returns every request's tokens, so that what is timed can also be compared. All of them
generate greedily and are told each output's length beforehand, which the scheduler must not use.
"""

import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from labkit.engine.build import build_engine
from labkit.engine.request import Request
from labkit.engine.sampling import SamplingParams
from labkit.errors import SetupError
from labkit.kvcache.paged import blocks_for
from labkit.model.load import LanguageModel
from labkit.model.weights import save_folder
from labkit.workload import lengths
from labkit.workload.prompts import random_tokens


@dataclass(frozen=True)
class Job:
    """Requests that are all there at the start: their prompts' tokens, and how many tokens each is to get."""

    prompts: list[list[int]]
    outputs: list[int]

    @property
    def tokens(self) -> int:
        """Output tokens that somebody asked for."""
        return sum(self.outputs)

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence, prompt and output."""
        return max(len(prompt) + output for prompt, output in zip(self.prompts, self.outputs, strict=True))


Runner = Callable[[Job], list[list[int]]]


def make_job(
    requests: int,
    vocabulary: int,
    prompts: tuple[int, int] = (32, 128),
    outputs: tuple[int, int] = (8, 64),
    seed: int = 0,
) -> Job:
    """Random prompts and lengths, each from a range whose ends count. Raises ConfigError for an impossible one."""
    prompt_lengths = lengths.uniform(requests, *prompts, seed=seed)
    return Job(
        [list(prompt) for prompt in random_tokens(prompt_lengths, vocabulary, seed)],
        lengths.uniform(requests, *outputs, seed=seed + 1),
    )


def labkit_runner(lm: LanguageModel, job: Job, scheduler: str, seats: int) -> Runner:
    """labkit's engine under one scheduler, with memory for `seats` of the longest sequences of `job`."""
    pool = (seats + 1) * (job.longest + 16)
    engine = build_engine(lm, scheduler=scheduler, max_sequences=seats, pool_tokens=pool)

    def run(job: Job) -> list[list[int]]:
        asked = [
            Request(tuple(prompt), SamplingParams(max_tokens=output, ignore_eos=True))
            for prompt, output in zip(job.prompts, job.outputs, strict=True)
        ]
        return [output.tokens for output in engine.run(asked)]

    return run


def transformers_model(lm: LanguageModel) -> Any:
    """The same weights in transformers, by way of a saved folder. Raises SetupError if it is not installed."""
    try:
        from transformers import AutoModelForCausalLM
    except ImportError as error:
        raise SetupError(
            "transformers is not installed: `pip install transformers` to measure beside it"
        ) from error
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        save_folder(lm.model, None, folder)
        peer: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=lm.model.dtype)
        return peer.to(lm.model.device).eval()


def padded_generate(peer: Any) -> Runner:
    """transformers' `generate` on all requests: prompts padded on the left, as many steps as the longest takes."""

    def run(job: Job) -> list[list[int]]:
        width = max(map(len, job.prompts))
        rows = [[0] * (width - len(prompt)) + prompt for prompt in job.prompts]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in job.prompts]
        steps = max(job.outputs)
        found = peer.generate(
            torch.tensor(rows, device=peer.device), attention_mask=torch.tensor(mask, device=peer.device),
            do_sample=False, min_new_tokens=steps, max_new_tokens=steps, pad_token_id=0,
        )  # fmt: skip
        made = found[:, width:].tolist()
        return [tokens[:count] for tokens, count in zip(made, job.outputs, strict=True)]

    return run


def generate_batch(peer: Any) -> Runner:
    """transformers' own continuous batching (what its `generate_batch` drives), told each request's length.

    The pool of blocks is sized for the job; its own choice is nine tenths of the machine's memory.
    """
    from transformers import ContinuousBatchingConfig, GenerationConfig

    logging.getLogger("ContinuousBatchingLogger").setLevel(logging.ERROR)

    def run(job: Job) -> list[list[int]]:
        size = 32
        blocks = len(job.prompts) * blocks_for(job.longest + size, size)
        config = ContinuousBatchingConfig(
            page_size=size, num_blocks=blocks, max_batch_tokens=4096, allow_block_sharing=False
        )
        greedy = GenerationConfig(do_sample=False, eos_token_id=-1, pad_token_id=0)
        with peer.continuous_batching_context_manager(greedy, continuous_batching_config=config) as manager:
            return _collect(manager, job)

    return run


def _collect(manager: Any, job: Job) -> list[list[int]]:
    names = [
        manager.add_request(prompt, max_new_tokens=count, eos_token_id=-1)
        for prompt, count in zip(job.prompts, job.outputs, strict=True)
    ]
    done: dict[str, list[int]] = {}
    while len(done) < len(names):
        result = manager.get_result(timeout=1)
        if result is not None and result.is_finished():
            if result.error is not None:
                raise SetupError(f"transformers' continuous batching failed: {result.error}")
            done[result.request_id] = list(result.generated_tokens)
        elif result is None and not manager.is_running():
            raise SetupError(f"transformers' continuous batching stopped after {len(done)} requests")
    return [done[name] for name in names]
