"""How good the embedded pair is, in the numbers that its card shows.

Because the grammar is ours, the loss has a floor that is known exactly: the information of the validation
text itself. The gap above it is what the model did not learn. Replies with only one right answer are compared
word for word.

Acceptance is counted as greedy speculative decoding would: from each position the draft proposes up to
`PROPOSED` tokens, never beyond the target's own end; the target accepts the longest run that equals its own
greedy choice and adds one token. One pass of the draft over the target's output gives exactly that, for as
long as it agrees it sees the same text.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from labkit.engine.generation import generate
from labkit.engine.sampling import SamplingParams
from labkit.model.load import LanguageModel
from labkit.workload.conversations import mixed
from labkit.workload.prompts import KINDS, Prompt, sample
from labkit.workload.vocabulary import VALIDATION_SEED, document

PROPOSED = 4
MOST_TOKENS = 600


@dataclass(frozen=True)
class Answer:
    """A greedy reply: `prompt_tokens` and `tokens` (end token included), and whether the model ended by
    itself.
    """

    prompt: Prompt
    text: str
    prompt_tokens: list[int]
    tokens: list[int]
    ended: bool

    @property
    def right(self) -> bool:
        """Whether the reply is word for word the only right one."""
        return self.text == self.prompt.reference

    @property
    def is_call(self) -> bool:
        """Whether a JSON tool call was asked for."""
        return self.prompt.kind == "tool" and self.prompt.reference.startswith("{")


def answer(lm: LanguageModel, prompt: Prompt) -> Answer:
    """The model's greedy reply to one prompt."""
    tokens = lm.tokenizer.encode_chat(list(prompt.messages))
    completion = generate(lm, tokens, SamplingParams(max_tokens=MOST_TOKENS))
    return Answer(prompt, completion.text, tokens, completion.tokens, completion.finish_reason == "stop")


def is_valid_call(text: str) -> bool:
    """Whether the text is one JSON object of the form that the tools' system prompt asks for."""
    try:
        call = json.loads(text)
    except json.JSONDecodeError:
        return False
    return (
        isinstance(call, dict) and set(call) == {"tool", "arguments"} and isinstance(call["arguments"], dict)
    )


# ---- loss against entropy


@dataclass
class Loss:
    """Sums over validation text, in nats: what the model paid and what the text is worth."""

    paid: float = 0.0
    information: float = 0.0
    tokens: int = 0
    conversations: int = 0

    def row(self, kind: str) -> dict[str, Any]:
        """Per token, for the card."""
        loss, entropy = self.paid / self.tokens, self.information / self.tokens
        return {"kind": kind, "tokens": self.tokens, "loss": loss, "entropy": entropy, "gap": loss - entropy}


def validation(lm: LanguageModel, conversations: int) -> list[dict[str, Any]]:
    """Loss and entropy in nats per token on conversations that training never sampled, by kind and over all."""
    sums: dict[str, Loss] = defaultdict(Loss)
    for seed in range(VALIDATION_SEED, VALIDATION_SEED + conversations):
        conversation = mixed(seed)
        tokens = document(lm.tokenizer, conversation.messages)
        paid = -log_probabilities(lm, tokens).sum().item()
        for part in (sums[conversation.kind], sums["all"]):
            part.paid, part.information = part.paid + paid, part.information + conversation.nats
            part.tokens, part.conversations = part.tokens + len(tokens) - 1, part.conversations + 1
    return [sums[kind].row(kind) for kind in (*KINDS, "all") if kind in sums]


@torch.inference_mode()
def log_probabilities(lm: LanguageModel, tokens: Sequence[int]) -> Tensor:
    """ln p of each token but the first, given those before it: T tokens → [T - 1]."""
    scores = F.log_softmax(logits(lm, tokens[:-1]).float(), dim=-1)
    following = torch.tensor(tokens[1:], device=scores.device)
    return scores.gather(1, following.unsqueeze(1)).squeeze(1)


@torch.inference_mode()
def logits(lm: LanguageModel, tokens: Sequence[int]) -> Tensor:
    """Scores after each of T tokens of one sequence → [T, V]."""
    device = lm.model.device
    hidden = lm.model(torch.tensor(tokens, device=device), torch.arange(len(tokens), device=device))
    return lm.model.logits(hidden)


# ---- acceptance of the draft by the target


@dataclass
class Acceptance:
    """Counts over replies: tokens `proposed` and `accepted`, and tokens the draft guesses right one at a
    time.
    """

    proposed: int = 0
    accepted: int = 0
    steps: int = 0
    guessed: int = 0
    tokens: int = 0
    overlap: float = 0.0

    def row(self) -> dict[str, float]:
        """The shares, for the card; `sampled` is what sampling at temperature 1 would accept of a first
        token.
        """
        return {
            "accepted": self.accepted / self.proposed,
            "agreement": self.guessed / self.tokens,
            "sampled": self.overlap / self.tokens,
            "tokens_per_step": self.tokens / self.steps,
        }


def acceptance(target: LanguageModel, draft: LanguageModel, answers: Iterable[Answer]) -> Acceptance:
    """How much of the draft's proposals the target's own greedy replies confirm."""
    total = Acceptance()
    for each in answers:
        text = [*each.prompt_tokens, *each.tokens]
        start = len(each.prompt_tokens) - 1
        p, q = (logits(lm, text[:-1])[start:].float() for lm in (target, draft))
        agrees = (q.argmax(dim=-1).cpu() == torch.tensor(each.tokens)).tolist()
        total.overlap += torch.minimum(p.softmax(-1), q.softmax(-1)).sum().item()
        total.guessed, total.tokens = total.guessed + sum(agrees), total.tokens + len(agrees)
        for proposed, accepted in rounds(agrees, PROPOSED):
            total.proposed, total.accepted, total.steps = (
                total.proposed + proposed,
                total.accepted + accepted,
                total.steps + 1,
            )
    return total


def rounds(agrees: Sequence[bool], proposed: int) -> Iterator[tuple[int, int]]:
    """(proposed, accepted) of each step of greedy speculation over a reply where the draft agrees as given."""
    at = 0
    while at < len(agrees):
        window = agrees[at : at + proposed]
        accepted = window.index(False) if False in window else len(window)
        yield len(window), accepted
        at += accepted + 1


# ---- the card's table


def replies(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """By kind: how many end by themselves, how long they are, how many exact answers are right, how many
    calls are JSON.
    """
    by_kind: dict[str, list[Answer]] = defaultdict(list)
    for each in answers:
        by_kind[each.prompt.kind].append(each)
    return [_kind_row(kind, by_kind[kind]) for kind in KINDS if kind in by_kind]


def _kind_row(kind: str, answers: Sequence[Answer]) -> dict[str, Any]:
    lengths = sorted(len(each.tokens) for each in answers)
    return {
        "kind": kind,
        "prompts": len(answers),
        "ended": fmean(each.ended for each in answers),
        "shortest": lengths[0],
        "median": lengths[len(lengths) // 2],
        "longest": lengths[-1],
        "right": share(each.right for each in answers if each.prompt.answer is not None),
        "valid_json": share(is_valid_call(each.text) for each in answers if each.is_call),
    }


def share(outcomes: Iterable[bool]) -> float | None:
    """The share of True, or None if there is nothing to judge."""
    known = list(outcomes)
    return fmean(known) if known else None


def measure(
    target: LanguageModel, draft: LanguageModel, each_kind: int, conversations: int
) -> dict[str, Any]:
    """All of the card's numbers: `each_kind` prompts of every kind, and so many validation conversations."""
    answers = [answer(target, sample(kind, seed)) for kind in KINDS for seed in range(each_kind)]
    groups = {kind: [each for each in answers if each.prompt.kind == kind] for kind in KINDS} | {
        "all": answers
    }
    return {
        "validation": validation(target, conversations),
        "draft_validation": validation(draft, conversations),
        "replies": replies(answers),
        "acceptance": {kind: acceptance(target, draft, group).row() for kind, group in groups.items()},
    }
