"""Prompts for experiments: what a user might ask the embedded pair, and the reply that its grammar would
give.

Kinds differ in what makes them interesting to serve. `story` has short prompts and long outputs, `note` the
reverse; how long `steps` and `story` answers get follows from the prompt; `tool` prompts share one long
system prompt and want exact JSON; `fact`, `sum` and `note` have one right answer; `chat` and `session` carry
histories that grow turn by turn.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.errors import ConfigError
from labkit.workload.conversations import KINDS, Message, converse

__all__ = ["KINDS", "Prompt", "mixed", "random_tokens", "sample"]

FIRST_SEED = (
    2_000_000_000  # no conversation of these seeds was trained on, though short texts do come up again
)


@dataclass(frozen=True)
class Prompt:
    """One request: chat messages that end with the user's (or a tool's), and what the grammar would reply.

    `answer` is the part of the reply that has to be right, where there is only one right answer; then
    `reference` is also the only right reply. Elsewhere `reference` is one of many.
    """

    kind: str
    messages: tuple[Message, ...]
    answer: str | None
    reference: str

    @property
    def text(self) -> str:
        """What was asked last."""
        return self.messages[-1]["content"]


def sample(kind: str, seed: int) -> Prompt:
    """The prompt of this kind and seed: a conversation up to one of its replies. Raises ConfigError for an
    unknown kind.
    """
    if seed < 0:
        raise ConfigError(f"seed {seed}: must not be negative")
    conversation = converse(kind, FIRST_SEED + seed)
    replies = [i for i, message in enumerate(conversation.messages) if message["role"] == "assistant"]
    chosen = random.Random(f"reply:{kind}:{seed}").choice(replies)
    messages, answer = conversation.messages, conversation.answers[chosen]
    return Prompt(kind, tuple(messages[:chosen]), answer, messages[chosen]["content"])


def mixed(n: int, seed: int = 0) -> list[Prompt]:
    """`n` prompts of all kinds, each kind as likely as the others, in random order."""
    if n < 0:
        raise ConfigError(f"{n} prompts: must not be negative")
    rng = random.Random(f"mixed prompts:{seed}")
    return [sample(rng.choice(KINDS), rng.randrange(1_000_000)) for _ in range(n)]


def random_tokens(lengths: Sequence[int], vocabulary: int, seed: int = 0) -> list[tuple[int, ...]]:
    """Prompts of these lengths without a meaning, for measurements: what a step costs depends on lengths alone."""
    rng = random.Random(f"random tokens:{seed}")
    return [tuple(rng.randrange(vocabulary) for _ in range(length)) for length in lengths]
