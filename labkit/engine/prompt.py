"""What a request may be given as its prompt, checked before anything is computed."""

from collections.abc import Sequence

from labkit.errors import RequestError
from labkit.model.load import LanguageModel

Message = dict[str, str]
Prompt = str | Sequence[int] | Sequence[Message]
"""Plain text, tokens, or chat messages such as `[{"role": "user", "content": "Hello"}]`."""


def encode_prompt(lm: LanguageModel, prompt: Prompt) -> list[int]:
    """The prompt's tokens. Raises RequestError if it is empty, out of vocabulary, or leaves no room for an
    answer.
    """
    tokens = _tokens(lm, prompt)
    if not tokens:
        raise RequestError("the prompt is empty: give at least one token")
    for token in tokens:
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < lm.config.vocab_size:
            raise RequestError(
                f"token {token!r} is not in the vocabulary of {lm.name}: 0 to {lm.config.vocab_size - 1}"
            )
    limit = lm.config.max_positions
    if len(tokens) >= limit:
        raise RequestError(f"the prompt has {len(tokens)} tokens and {lm.name} holds {limit}: shorten it")
    return tokens


def _tokens(lm: LanguageModel, prompt: Prompt) -> list[int]:
    if isinstance(prompt, str):
        return lm.tokenizer.encode(prompt)
    if prompt and isinstance(prompt[0], dict):
        return lm.tokenizer.encode_chat([dict(message) for message in prompt])  # type: ignore[arg-type]
    return list(prompt)  # type: ignore[arg-type]
