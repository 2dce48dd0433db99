"""Train the embedded pair: a target and a draft of the same family, from scratch, on text from the grammar.

The recipe of each model is one dataclass. Everything follows from it: documents are conversations sampled
with consecutive seeds, never repeated; weights come from a seed; and a plan in steps gives the same weights
again on the same kind of machine. Both models share one tokenizer, as speculative decoding needs.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import count, islice
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from labkit import machine
from labkit.model.config import ModelConfig
from labkit.model.tokenizer import Tokenizer
from labkit.model.transformer import Transformer
from labkit.model.weights import save_folder
from labkit.report import Report, Row, table
from labkit.training.loop import TrainingLog, TrainingPlan, train
from labkit.workload import card
from labkit.workload.conversations import MIXTURE, REVISION, mixed
from labkit.workload.vocabulary import (
    TOKENIZER_CONVERSATIONS,
    TOKENIZER_SEED,
    TRAINED_LENGTH,
    document,
    train_tokenizer,
)

SAVED_AS = torch.bfloat16
SNAPSHOT_SECONDS = 240.0
LEARNED = 0.8  # of the unigram entropy: a run whose loss is not below this has failed
SMOKE = TrainingPlan(steps=60, tokens_per_step=768, learning_rate=4e-3, warmup_steps=10)
HEADINGS = {
    "model": "model", "parameters": "parameters", "steps": "steps", "tokens": "tokens", "seconds": "seconds",
    "loss": "loss, nats/token", "unigram": "unigram entropy",
}  # fmt: skip


@dataclass(frozen=True)
class Phase:
    """A stretch of training: its plan, the kinds of conversations, and the seed of the first one."""

    plan: TrainingPlan
    kinds: Mapping[str, float]
    first: int


@dataclass(frozen=True)
class Recipe:
    """All that decides a model's weights: its shape, the seed of its first weights, and how it is trained.

    Every phase has a fresh optimizer and starts from the weights of the one before, rounded as they are saved.
    """

    name: str
    config: ModelConfig
    phases: tuple[Phase, ...]
    seed: int = 0


TARGET = Recipe(
    "tiny",
    ModelConfig(
        vocab_size=2048, hidden_size=384, intermediate_size=1024, num_layers=5, num_heads=12, num_kv_heads=4,
        head_dim=32, max_positions=2048, tie_embeddings=True,
    ),
    (
        Phase(TrainingPlan(steps=994, learning_rate=2.5e-3, warmup_steps=80), MIXTURE, 0),
        Phase(TrainingPlan(steps=1000, learning_rate=1.5e-3, warmup_steps=40, decay_share=0.9), MIXTURE, 19_548),
        Phase(TrainingPlan(steps=700, learning_rate=1.2e-3, warmup_steps=40, decay_share=0.9), REVISION, 6_000_000),
    ),
)  # fmt: skip
DRAFT = Recipe(
    "tiny-draft",
    ModelConfig(
        vocab_size=2048, hidden_size=128, intermediate_size=320, num_layers=3, num_heads=4, num_kv_heads=2,
        head_dim=32, max_positions=2048, tie_embeddings=True,
    ),
    (Phase(TrainingPlan(steps=1400, learning_rate=4e-3, warmup_steps=40, decay_share=0.9), MIXTURE, 0),),
    seed=1,
)  # fmt: skip
RECIPES = {recipe.name: recipe for recipe in (TARGET, DRAFT)}


def shared_tokenizer() -> Tokenizer:
    """The pair's tokenizer, learned anew: the same one every time."""
    return train_tokenizer(TARGET.config.vocab_size, TOKENIZER_CONVERSATIONS, TOKENIZER_SEED)


def documents(tokenizer: Tokenizer, phase: Phase) -> Iterator[list[int]]:
    """A phase's endless training documents."""
    for seed in count(phase.first):
        yield document(tokenizer, mixed(seed, phase.kinds).messages)[: TRAINED_LENGTH + 1]


def train_recipe(
    recipe: Recipe, tokenizer: Tokenizer, device: str, snapshot: Callable[[Transformer], None]
) -> tuple[Transformer, TrainingLog]:
    """A model trained by its recipe, rounded to SAVED_AS, and the log of all phases; `snapshot` is handed the
    unfinished model every few minutes.
    """
    model = Transformer.random(recipe.config, seed=recipe.seed, device=device)
    every, whole = Snapshots(model, snapshot), TrainingLog()
    for number, phase in enumerate(recipe.phases, 1):
        label = f"{recipe.name} {number}/{len(recipe.phases)}" if len(recipe.phases) > 1 else recipe.name
        whole += train(model, documents(tokenizer, phase), phase.plan, label=label, every=every)
        round_weights(model)
    return model, whole


class Snapshots:
    """Hands a model to `keep` every SNAPSHOT_SECONDS while it is trained."""

    def __init__(self, model: Transformer, keep: Callable[[Transformer], None]) -> None:
        self.model, self.keep, self.last = model, keep, time.monotonic()

    def __call__(self, log: TrainingLog) -> None:
        if time.monotonic() - self.last > SNAPSHOT_SECONDS:
            self.keep(self.model)
            self.last = time.monotonic()


@torch.no_grad()
def round_weights(model: Transformer) -> None:
    """Round every weight to what SAVED_AS can hold, in place."""
    for parameter in model.parameters():
        parameter.copy_(parameter.to(SAVED_AS))


def save(model: Transformer, tokenizer: Tokenizer, folder: Path) -> None:
    """Save in the Hugging Face layout, rounded to SAVED_AS, with what padding in other programs needs."""
    save_folder(model, tokenizer, folder, SAVED_AS)
    _add(
        folder / "tokenizer_config.json",
        {"pad_token": "<|pad|>", "model_max_length": model.config.max_positions},
    )
    _add(folder / "generation_config.json", {"pad_token_id": tokenizer.backend.token_to_id("<|pad|>")})


def _add(path: Path, fields: dict[str, Any]) -> None:
    data = json.loads(path.read_text(encoding="utf-8")) | fields
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def unigram_entropy(tokenizer: Tokenizer, conversations: int = 500) -> float:
    """Nats per token of the best model that ignores all context: what training has to beat to have learned
    anything.
    """
    targets = Counter(
        token for ids in islice(documents(tokenizer, TARGET.phases[0]), conversations) for token in ids[1:]
    )
    total = targets.total()
    return -sum(n / total * math.log(n / total) for n in targets.values())


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `labkit train`."""
    parser.add_argument(
        "which", choices=(*RECIPES, "pair", "card"), help="a model, both, or the card that measures both"
    )
    parser.add_argument("--out", required=True, type=Path, help="folder that holds a folder for each model")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument(
        "--steps", type=int, help="so many steps in one phase (default: the shipped model's recipe)"
    )
    amount.add_argument("--seconds", type=float, help="train each model for about so long instead")
    amount.add_argument(
        "--smoke", action="store_true", help="a run of under a minute that only shows that training works"
    )
    parser.add_argument("--seed", type=int, help="seed of the first weights")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--prompts", type=int, default=40, help="for the card: prompts of each kind")
    parser.add_argument(
        "--conversations", type=int, default=400, help="for the card: validation conversations"
    )


def run(args: argparse.Namespace) -> Report:
    """Train, save, and report what was done; or measure what was trained."""
    if args.which == "card":
        return card.write(args.out, args.prompts, args.conversations)
    names = tuple(RECIPES) if args.which == "pair" else (args.which,)
    tokenizer = shared_tokenizer()
    unigram = unigram_entropy(tokenizer)
    rows = [
        _run_one(_adjusted(RECIPES[name], args), tokenizer, args) | {"unigram": unigram} for name in names
    ]
    return Report(
        "train", rows, table(rows, HEADINGS), ok=all(row["loss"] < LEARNED * unigram for row in rows)
    )


def _adjusted(recipe: Recipe, args: argparse.Namespace) -> Recipe:
    phases = recipe.phases
    if args.smoke or args.steps is not None or args.seconds is not None:
        plan = SMOKE if args.smoke else replace(phases[-1].plan, steps=args.steps, seconds=args.seconds)
        phases = (Phase(plan, MIXTURE, 0),)
    return replace(recipe, phases=phases, seed=recipe.seed if args.seed is None else args.seed)


def _run_one(recipe: Recipe, tokenizer: Tokenizer, args: argparse.Namespace) -> Row:
    folder = args.out / recipe.name
    model, log = train_recipe(
        recipe, tokenizer, args.device, lambda unfinished: save(unfinished, tokenizer, folder)
    )
    save(model, tokenizer, folder)
    row = record(recipe, log)
    card.record_training(args.out, row)
    return row


def record(recipe: Recipe, log: TrainingLog) -> Row:
    """What the card keeps of a run; `loss` is the mean over the last twentieth, `losses` every twentieth's."""
    size = max(1, len(log.losses) // 20)
    means = [fmean(log.losses[i : i + size]) for i in range(0, len(log.losses), size)]
    return {
        "model": recipe.name, "parameters": recipe.config.parameters, "steps": len(log.losses), "tokens": log.tokens,
        "seconds": round(log.seconds), "loss": fmean(log.losses[-size:]), "seed": recipe.seed,
        "hardware": machine.hardware(),
        "shape": asdict(recipe.config),
        "phases": [asdict(phase) for phase in recipe.phases], "losses": [round(mean, 4) for mean in means],
    }  # fmt: skip
