"""Text ↔ tokens: a thin, typed face over the `tokenizers` library, with what generation needs beside it.

Beside the vocabulary a model has tokens that end a text, perhaps one that begins it, and a chat template.
They come from `tokenizer.json`, `tokenizer_config.json`, `generation_config.json` and `config.json`, or from
a GGUF file's metadata.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tokenizers
from tokenizers import decoders

from labkit.errors import ConfigError, TokenizerError
from labkit.model.chat import Message, render
from labkit.model.hf_config import read_json
from labkit.model.stream import ByteStream, StreamDecoder, WindowStream, bytes_of_token, checked_token

if TYPE_CHECKING:
    from labkit.model.gguf import GGUFFile


class Tokenizer:
    """A vocabulary, the tokens that begin and end a text, and a chat template.

    `eos_ids`: every token that ends an answer, the most usual first. Raises TokenizerError if one is not in
    the vocabulary.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        *,
        eos_ids: Iterable[int] = (),
        bos_id: int | None = None,
        chat_template: str | None = None,
    ) -> None:
        self.backend = backend
        self.eos_ids = tuple(dict.fromkeys(eos_ids))
        self.bos_id = bos_id
        self.chat_template = chat_template
        for token in (*self.eos_ids, *(() if bos_id is None else (bos_id,))):
            if backend.id_to_token(checked_token(token)) is None:
                raise TokenizerError(f"token {token} begins or ends texts but is not in the vocabulary")
        added = backend.get_added_tokens_decoder()
        self.special_ids = frozenset(token for token, entry in added.items() if entry.special)
        self._byte_level = isinstance(backend.decoder, decoders.ByteLevel)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, added ones included; a model's `V` may be padded to more."""
        return self.backend.get_vocab_size(with_added_tokens=True)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, with those the model wants around every text (for some: a first one).

        The spelling of a special token in the text becomes that token. Raises TokenizerError for a lone
        surrogate.
        """
        return self._encode(text, add_special_tokens=True)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special tokens. Bytes that are no UTF-8 come out as `�`."""
        return self.backend.decode([checked_token(token) for token in tokens], skip_special_tokens=True)

    def token_text(self, token: int) -> str:
        """One token as a person may see it: special tokens by name, part of a character as `�`."""
        name = self.backend.id_to_token(checked_token(token))
        if name is None:
            return ""
        return name if token in self.special_ids else self.backend.decode([token], skip_special_tokens=False)

    def stream(self) -> StreamDecoder:
        """A decoder for text that is still growing: the joined pieces are `decode` of all its tokens."""
        return ByteStream(self._token_bytes) if self._byte_level else WindowStream(self.decode)

    def render_chat(
        self, messages: Sequence[Message], add_generation_prompt: bool = True, **variables: Any
    ) -> str:
        """A conversation as text, by the model's chat template; `variables` go to the template.

        Raises TokenizerError if there is no template or it refuses the messages.
        """
        if self.chat_template is None:
            raise TokenizerError(
                "this model has no chat template: give it plain text, or set tokenizer.chat_template"
            )
        known = {
            "bos_token": self._name(self.bos_id),
            "eos_token": self._name(next(iter(self.eos_ids), None)),
        }
        return render(
            self.chat_template, messages, add_generation_prompt=add_generation_prompt, **(known | variables)
        )

    def encode_chat(
        self, messages: Sequence[Message], add_generation_prompt: bool = True, **variables: Any
    ) -> list[int]:
        """The tokens of a conversation: with `add_generation_prompt`, up to where the assistant's answer begins."""
        text = self.render_chat(messages, add_generation_prompt, **variables)
        return self._encode(text, add_special_tokens=False)

    @classmethod
    def from_folder(cls, folder: str | Path) -> "Tokenizer":
        """The tokenizer of a Hugging Face folder. Raises TokenizerError naming the file that is missing or broken."""
        folder = Path(folder)
        backend = _backend(folder / "tokenizer.json")
        settings = _optional(folder / "tokenizer_config.json")
        others = [_optional(folder / name) for name in ("generation_config.json", "config.json")]
        names = [_id_of(backend, settings.get("eos_token"))]
        eos = [token for other in others for token in _ids(other.get("eos_token_id"))]
        return cls(
            backend,
            eos_ids=[token for token in (*eos, *names) if token is not None],
            bos_id=_id_of(backend, settings.get("bos_token")),
            chat_template=_template(folder, settings),
        )

    @classmethod
    def from_gguf(cls, file: "GGUFFile") -> "Tokenizer":
        """The tokenizer in a GGUF file's metadata. Raises TokenizerError if it is of a kind labkit cannot build."""
        from labkit.model.gguf_tokenizer import tokenizer_parts

        backend, eos_ids, bos_id, template = tokenizer_parts(file)
        return cls(backend, eos_ids=eos_ids, bos_id=bos_id, chat_template=template)

    def save(self, folder: str | Path) -> None:
        """Write `tokenizer.json`, `tokenizer_config.json` and `generation_config.json` into a folder."""
        folder = Path(folder)
        settings = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": self._name(self.bos_id),
            "eos_token": self._name(next(iter(self.eos_ids), None)),
            "chat_template": self.chat_template,
            "clean_up_tokenization_spaces": False,
        }
        generation = {"bos_token_id": self.bos_id, "eos_token_id": list(self.eos_ids) or None}
        self.backend.save(str(folder / "tokenizer.json"))
        for name, data in (("tokenizer_config.json", settings), ("generation_config.json", generation)):
            kept = {key: value for key, value in data.items() if value is not None}
            text = json.dumps(kept, indent=2, ensure_ascii=False) + "\n"
            (folder / name).write_text(text, encoding="utf-8")

    def __repr__(self) -> str:
        ends = " ".join(str(self._name(token)) for token in self.eos_ids) or "none"
        chat = "with" if self.chat_template else "no"
        return f"Tokenizer({self.vocab_size:,} tokens, ends with {ends}, {chat} chat template)"

    def _encode(self, text: str, add_special_tokens: bool) -> list[int]:
        try:
            return list(self.backend.encode(text, add_special_tokens=add_special_tokens).ids)
        except (TypeError, UnicodeEncodeError) as error:
            raise TokenizerError(
                f"cannot encode {text[:40]!r}: {error}; give it valid Unicode text"
            ) from error

    def _name(self, token: int | None) -> str | None:
        return None if token is None else self.backend.id_to_token(token)

    def _token_bytes(self, token: int) -> bytes:
        name = self.backend.id_to_token(checked_token(token))
        return b"" if name is None or token in self.special_ids else bytes_of_token(name)


def _backend(path: Path) -> tokenizers.Tokenizer:
    if not path.is_file():
        raise TokenizerError(
            f"{path} is missing: download the model's tokenizer.json (labkit reads no older kind)"
        )
    try:
        backend = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise TokenizerError(f"{path} is corrupt or too new ({error}): download it again") from error
    backend.no_truncation()
    backend.no_padding()
    return backend


def _optional(path: Path) -> dict[str, Any]:
    try:
        return read_json(path) if path.is_file() else {}
    except ConfigError as error:
        raise TokenizerError(str(error)) from error


def _id_of(backend: tokenizers.Tokenizer, token: Any) -> int | None:
    """The id of a token given as its text, or as an object with its text in "content"."""
    name = token.get("content") if isinstance(token, dict) else token
    return backend.token_to_id(name) if isinstance(name, str) else None


def _ids(value: Any) -> list[int]:
    found = value if isinstance(value, list) else [value]
    return [token for token in found if isinstance(token, int)]


def _template(folder: Path, settings: dict[str, Any]) -> str | None:
    """The chat template: its own file in newer checkpoints, a setting (or one of several) in older ones."""
    path = folder / "chat_template.jinja"
    if path.is_file():
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise TokenizerError(f"{path} is not readable text ({error}): download it again") from error
    found = settings.get("chat_template")
    if isinstance(found, list):
        named = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)}
        found = named.get("default")
    return found if isinstance(found, str) else None
