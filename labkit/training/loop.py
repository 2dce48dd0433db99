"""A small training loop: AdamW, a warm-up, a plateau, a linear decay, and clipped gradients.

On the CPU each worker thread computes the gradient of its share of a step's documents with single-threaded
operators, and the shares are added up once a step. Threads *inside* every operator would have to wait for
each other thousands of times a step, and on a machine that does anything else at the same time each wait can
cost a time slice; here they wait once. The price is one gradient per worker in memory.

Plateau and decay ("WSD", arXiv 2405.18392) rather than a cosine: the number of steps need not be known until
the decay starts, so a run can be given seconds, and repeated exactly later with the steps that it turned out
to take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

import torch
import torch.nn.functional as F
from torch import Tensor

from labkit.errors import ConfigError
from labkit.model.transformer import Transformer
from labkit.progress import ProgressBar
from labkit.training.batch import Batch, attend_within, deal, pack, steps

Loss = Callable[[Transformer, Batch], Tensor]


@dataclass(frozen=True)
class TrainingPlan:
    """How to train. Give `steps`, or `seconds` and let the clock decide how many steps that is."""

    steps: int | None = None
    seconds: float | None = None
    tokens_per_step: int = 2560
    learning_rate: float = 2e-3
    warmup_steps: int = 60
    decay_share: float = 0.35  # the last part of the run, in which the learning rate falls to zero
    weight_decay: float = 0.05
    clip: float = 1.0
    workers: int = 2  # on the CPU; elsewhere one

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.seconds is None):
            raise ConfigError(
                f"give either steps or seconds, not steps={self.steps} and seconds={self.seconds}"
            )
        if (self.steps or self.seconds or 0) <= 0 or self.tokens_per_step < 1 or self.workers < 1:
            raise ConfigError(f"{self}: steps or seconds, tokens_per_step and workers must be positive")


@dataclass
class TrainingLog:
    """What happened: the mean loss of every step in nats per token, and totals."""

    losses: list[float] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0

    def __iadd__(self, later: TrainingLog) -> TrainingLog:
        """Append the log of what was trained afterwards."""
        self.losses += later.losses
        self.tokens, self.seconds = self.tokens + later.tokens, self.seconds + later.seconds
        return self


def next_token_loss(model: Transformer, batch: Batch) -> Tensor:
    """Summed cross-entropy in nats of every token of `batch` given those before it in its document."""
    hidden = model(batch.tokens, batch.positions, attend_within(batch.lengths))
    return F.cross_entropy(model.logits(hidden).float(), batch.targets, reduction="sum")


def train(
    model: Transformer,
    documents: Iterator[Sequence[int]],
    plan: TrainingPlan,
    *,
    loss: Loss = next_token_loss,
    label: str = "training",
    every: Callable[[TrainingLog], None] | None = None,
) -> TrainingLog:
    """Train `model` in place on `documents` (token ids). Same seed of model, documents and steps: same
    losses.

    `loss` gives a batch's summed loss; `every` is called after each step (to save, or to stop by raising).
    """
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=plan.learning_rate,
        betas=(0.9, 0.95),
        weight_decay=plan.weight_decay,
        fused=True,
    )
    log, pace, start = TrainingLog(), Pace(plan), time.monotonic()
    with Gradients(model, loss, plan.workers) as gradients, ProgressBar(label) as bar:
        for group in islice(steps(documents, plan.tokens_per_step), plan.steps):
            for settings in optimizer.param_groups:
                settings["lr"] = plan.learning_rate * pace.rate(len(log.losses), log.seconds)
            total, tokens = gradients.compute(group)
            torch.nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
            optimizer.step()
            log.losses.append(total / tokens)
            log.tokens += tokens
            log.seconds = time.monotonic() - start
            bar.update(pace.share(len(log.losses), log.seconds), note(log))
            if every is not None:
                every(log)
            if pace.total is not None and len(log.losses) >= pace.total:
                break
    return log


def note(log: TrainingLog) -> str:
    """The progress bar's words: step, recent loss, speed."""
    recent = log.losses[-50:]
    speed = log.tokens / max(log.seconds, 1e-9)
    return f"step {len(log.losses)} loss {sum(recent) / len(recent):.3f} {speed:.0f} tokens/s"


class Pace:
    """The learning rate's course: warm-up, plateau, and a linear decay whose length is fixed when it begins."""

    def __init__(self, plan: TrainingPlan) -> None:
        self.plan, self.total = plan, plan.steps
        self.plateau = 1 - plan.decay_share

    def rate(self, step: int, seconds: float) -> float:
        """The share of the full learning rate for this step, at so many seconds since the start."""
        if self.total is None and seconds >= self.plateau * (self.plan.seconds or 0.0):
            self.total = max(step + 1, round(step / self.plateau))
        warm = min(1.0, (step + 1) / self.plan.warmup_steps)
        if self.total is None:
            return warm
        decay_steps = max(1, self.total - round(self.total * self.plateau))
        return min(warm, (self.total - step) / decay_steps)

    def share(self, step: int, seconds: float) -> float:
        """How much of the run is done, 0 to 1."""
        return step / self.total if self.total is not None else seconds / (self.plan.seconds or 1.0)


class Gradients:
    """Fills the parameters' `.grad` with the mean gradient of a group of documents, by several workers on the
    CPU.
    """

    def __init__(self, model: Transformer, loss: Loss, workers: int) -> None:
        self.model, self.loss = model, loss
        self.parameters = list(model.parameters())
        self.workers = workers if model.device.type == "cpu" else 1
        self.threads = torch.get_num_threads()
        self.pool = ThreadPoolExecutor(self.workers)

    def __enter__(self) -> Gradients:
        if self.model.device.type == "cpu":
            torch.set_num_threads(1)
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown()
        torch.set_num_threads(self.threads)

    def compute(self, group: Sequence[Sequence[int]]) -> tuple[float, int]:
        """Set the gradients; returns the summed loss and the number of targets of the whole group."""
        results = list(self.pool.map(self._share, deal(group, self.workers)))
        tokens = sum(count for _, count, _ in results)
        for index, parameter in enumerate(self.parameters):
            parameter.grad = sum((grads[index] for _, _, grads in results[1:]), results[0][2][index]).div_(
                tokens
            )
        return sum(loss for loss, _, _ in results), tokens

    def _share(self, documents: Sequence[Sequence[int]]) -> tuple[float, int, tuple[Tensor, ...]]:
        batch = pack(documents).to(self.model.device)
        with torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.model.device.type != "cpu"):
            loss = self.loss(self.model, batch)
        return loss.item(), len(batch.targets), torch.autograd.grad(loss, self.parameters)
