"""The embedded pair's tokenizer: byte-level BPE learned from the grammar's own text, and its chat format.

A conversation is `<|begin|>`, then for each message `<|role|>content<|end|>`, and the next conversation's
`<|begin|>` is what follows the last `<|end|>`: a model learns both to end its turn and when a conversation is
over.
"""

from __future__ import annotations

from collections.abc import Iterable

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, trainers

from labkit.model.tokenizer import Tokenizer
from labkit.workload.conversations import Message, mixed

BEGIN, END, PAD = "<|begin|>", "<|end|>", "<|pad|>"
ROLES = ("system", "user", "assistant", "tool")
SPECIALS = (BEGIN, END, PAD, *(f"<|{role}|>" for role in ROLES))
TOKENIZER_SEED, VALIDATION_SEED = (
    10_000_000,
    1_000_000_000,
)  # first seeds of the conversations for each purpose
TOKENIZER_CONVERSATIONS = 20_000
TRAINED_LENGTH = 1024  # longer documents are cut; nearly all are shorter than 500 tokens
CHAT_TEMPLATE = (
    "{{ '<|begin|>' }}{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def render(messages: Iterable[Message], add_generation_prompt: bool = False) -> str:
    """The text of a conversation as the models read it: the same string that `CHAT_TEMPLATE` gives."""
    turns = "".join(f"<|{message['role']}|>{message['content']}{END}" for message in messages)
    return BEGIN + turns + ("<|assistant|>" if add_generation_prompt else "")


def train_tokenizer(vocab_size: int, conversations: int, first_seed: int) -> Tokenizer:
    """A byte-level BPE tokenizer of `vocab_size` tokens from so many sampled conversations; any text can be
    encoded.
    """
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in SPECIALS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = (m["content"] for seed in range(conversations) for m in mixed(first_seed + seed).messages)
    backend.train_from_iterator(texts, trainer)
    begin, end = SPECIALS.index(BEGIN), SPECIALS.index(END)  # special tokens come first, in order
    return Tokenizer(backend, eos_ids=(end,), bos_id=begin, chat_template=CHAT_TEMPLATE)


def document(tokenizer: Tokenizer, messages: Iterable[Message]) -> list[int]:
    """A conversation as training reads it, from its `<|begin|>` to the next one's."""
    return tokenizer.backend.encode(render(messages) + BEGIN, add_special_tokens=False).ids
