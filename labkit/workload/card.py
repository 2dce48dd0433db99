"""The card of the embedded pair: `README.md` and `card.json` beside the models, written from measurements only.

`labkit train card --out data/models` loads the two models as they are shipped (rounded to 16 bits), measures
them anew and writes both files. What training itself recorded comes from `training.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from labkit.errors import ConfigError
from labkit.model.load import load
from labkit.report import Report, Row
from labkit.workload.evaluate import MOST_TOKENS, PROPOSED, measure
from labkit.workload.vocabulary import TOKENIZER_CONVERSATIONS, TRAINED_LENGTH

NAMES = ("tiny", "tiny-draft")
TRAINING, CARD, README = "training.json", "card.json", "README.md"
MODEL_COLUMNS = {
    "model": "model", "parameters": "parameters", "num_layers": "layers", "hidden_size": "hidden",
    "intermediate_size": "feed-forward", "num_heads": "query heads", "num_kv_heads": "KV heads", "head_dim": "head dim",
}  # fmt: skip
TRAINING_COLUMNS = {
    "model": "model", "seed": "seed", "steps": "steps", "tokens": "tokens", "seconds": "seconds",
    "loss": "last loss", "hardware": "on",
}  # fmt: skip
LOSS_COLUMNS = {
    "model": "model",
    "kind": "kind",
    "tokens": "tokens",
    "loss": "loss",
    "entropy": "entropy",
    "gap": "gap",
}
REPLY_COLUMNS = {
    "kind": "kind", "prompts": "prompts", "ended": "ended by itself", "shortest": "shortest, tokens",
    "median": "median", "longest": "longest", "right": "right", "valid_json": "valid JSON",
}  # fmt: skip
ACCEPTANCE_COLUMNS = {
    "kind": "kind", "accepted": "accepted", "agreement": "agreement", "sampled": "sampled",
    "tokens_per_step": "tokens per target step",
}  # fmt: skip
TEMPLATE = """# The embedded pair: tiny and tiny-draft

Two small chat models of the Llama family, trained from scratch by labkit on text from labkit's own
probabilistic grammar (`labkit/workload`). They exist to be served: fast enough for experiments on two CPU
cores, with outputs whose length depends on the prompt, and exact answers that can be scored. What they know is
an invented place, the Lantern Valley. They know nothing else, and are no use as assistants.

{models}

Both are in the Hugging Face layout (`config.json`, `model.safetensors`, `tokenizer.json`), weights in bfloat16,
and load with `labkit.load("tiny")` or transformers' `AutoModelForCausalLM`. One tokenizer for both: byte-level
BPE, {vocab:,} tokens, learned from {tokenizer_conversations:,} sampled conversations. Chat format: `<|begin|>`,
then `<|role|>text<|end|>` for each message, roles `system`, `user`, `assistant`, `tool`; the chat template is
in `tokenizer_config.json`. `<|end|>` ends a reply.

## Training

{training}

Data: conversations sampled with consecutive seeds, none used twice, cut at {trained_length:,} tokens. That is the
longest text the models have seen; positions up to {positions:,} can be computed, but beyond the trained length is
unknown ground. The loss is over all tokens, prompts too. Documents are packed end to end; attention never
crosses from one to another. AdamW, warm-up, plateau, linear decay, fp32 on the CPU. The target was trained in
{phases} phases, each with a fresh optimizer (plans, seeds and mixtures are in `training.json`); the last one adds much
practice with notes, so its loss is on other text and not comparable. The seconds are those of a machine that
was busy with other work too.

Made by `labkit train pair --out data/models`, then `labkit train card --out data/models`. The same seeds and
steps on the same kind of machine repeat the run; on another kind, rounding differs and so do the weights, a
little.

## Loss against the grammar's entropy

Nats per token on {conversations:,} conversations that training never sampled (short ones do recur by chance).
The entropy is the exact information of that same text under the grammar that wrote it: on average, no model can
do better.

{validation}

## Replies

Greedy, {each_kind} unseen prompts of each kind, at most {most_tokens} tokens. *Right* counts replies that are word for
word the only right one, over the prompts that have one; *valid JSON* is over those that ask for a tool call.

{replies}

What is learned well is what can be known by heart: facts, sums, recipes, how a story goes, the form of a tool call.
Finding one line among several in the prompt, as `note` asks and as repeating a line does (`chat`), was not
learned in this many tokens: those replies are fluent, of the right form and length, and mostly wrong.

## The draft

Greedy speculative decoding with {proposed} proposed tokens a step, over the target's replies to the same prompts.
*Accepted* is accepted over proposed tokens (proposals stop at the reply's end). *Agreement* is how often the
draft's greedy token is the target's, one token at a time. *Sampled* is the expected acceptance of one token at
temperature 1, the sum of min(p, q), over the same text.

{acceptance}

Measured {date} on {hardware}.
Licence: Apache-2.0, like labkit itself; the training text is labkit's own.
"""


def write(folder: Path, each_kind: int, conversations: int) -> Report:
    """Measure the pair in `folder` and write its card there. Raises ConfigError if there is no training record."""
    training = read_training(folder)
    if set(training) != set(NAMES):
        raise ConfigError(
            f"{folder / TRAINING} does not hold both models: run `labkit train pair --out {folder}` first"
        )
    target, draft = (load(folder / name, device="cpu") for name in NAMES)
    numbers = measure(target, draft, each_kind, conversations)
    rows = [{"kind": kind, **row} for kind, row in numbers["acceptance"].items()]
    facts = {**numbers, "each_kind": each_kind, "conversations": conversations, "training": training}
    report = Report("train card", rows, "", facts=facts)
    (folder / CARD).write_text(report.as_json(), encoding="utf-8")
    report.text = render(json.loads(report.as_json()))
    (folder / README).write_text(report.text, encoding="utf-8")
    return report


def read_training(folder: Path) -> dict[str, Row]:
    """What training recorded for the models in `folder`, by name."""
    path = folder / TRAINING
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def record_training(folder: Path, row: Row) -> None:
    """Keep what training recorded for one model, beside what is there for the other."""
    everything = read_training(folder) | {row["model"]: row}
    (folder / TRAINING).write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


def render(facts: Row) -> str:
    """The card as Markdown."""
    training = facts["training"]
    losses = [
        {"model": name, **row}
        for name, key in zip(NAMES, ("validation", "draft_validation"), strict=True)
        for row in facts[key]
        if name == "tiny" or row["kind"] == "all"
    ]
    return TEMPLATE.format(
        models=markdown([training[name] | training[name]["shape"] for name in NAMES], MODEL_COLUMNS),
        training=markdown([training[name] for name in NAMES], TRAINING_COLUMNS),
        validation=markdown(losses, LOSS_COLUMNS),
        replies=markdown(facts["replies"], REPLY_COLUMNS),
        acceptance=markdown(
            [{"kind": kind, **row} for kind, row in facts["acceptance"].items()], ACCEPTANCE_COLUMNS
        ),
        vocab=training["tiny"]["shape"]["vocab_size"],
        tokenizer_conversations=TOKENIZER_CONVERSATIONS,
        trained_length=TRAINED_LENGTH,
        conversations=facts["conversations"],
        each_kind=facts["each_kind"],
        proposed=PROPOSED,
        most_tokens=MOST_TOKENS,
        positions=training["tiny"]["shape"]["max_positions"],
        phases=len(training["tiny"]["phases"]),
        hardware=facts["hardware"],
        date=facts["date"][:10],
    )


def markdown(rows: Iterable[Row], columns: dict[str, str]) -> str:
    """Rows as a Markdown table: `columns` maps keys to headings; a missing value is a dash."""
    lines = [
        list(columns.values()),
        ["---"] * len(columns),
        *([_cell(row.get(key)) for key in columns] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
