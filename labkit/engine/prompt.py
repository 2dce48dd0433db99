"""What a request may be given as its prompt, checked before anything is computed."""

from collections.abc import Sequence

from labkit.errors import RequestError
from labkit.model.config import ModelConfig
from labkit.model.load import LanguageModel
from labkit.model.tokenizer import Tokenizer

Message = dict[str, str]
Prompt = str | Sequence[int] | Sequence[Message]
"""Plain text, tokens, or chat messages such as `[{"role": "user", "content": "Hello"}]`."""


def encode_prompt(lm: LanguageModel, prompt: Prompt) -> list[int]:
    """The prompt's tokens. Raises RequestError if it is empty, out of vocabulary, or leaves no room for an
    answer.
    """
    tokens = prompt_tokens(lm.tokenizer, prompt)
    check_prompt(tokens, lm.config, lm.name)
    return tokens


def prompt_tokens(tokenizer: Tokenizer, prompt: Prompt) -> list[int]:
    """The tokens of any kind of prompt, unchecked."""
    if isinstance(prompt, str):
        return tokenizer.encode(prompt)
    if prompt and isinstance(prompt[0], dict):
        return tokenizer.encode_chat([dict(message) for message in prompt])  # type: ignore[arg-type]
    return list(prompt)  # type: ignore[arg-type]


def check_prompt(tokens: Sequence[int], config: ModelConfig, name: str = "the model") -> None:
    """Raises RequestError if a prompt is empty, out of vocabulary, or leaves no room for an answer."""
    if not tokens:
        raise RequestError("the prompt is empty: give at least one token")
    for token in tokens:
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < config.vocab_size:
            raise RequestError(
                f"token {token!r} is not in the vocabulary of {name}: 0 to {config.vocab_size - 1}"
            )
    limit = config.max_positions
    if len(tokens) >= limit:
        raise RequestError(f"the prompt has {len(tokens)} tokens and {name} holds {limit}: shorten it")
