"""The tokenizer inside a GGUF file, rebuilt as a `tokenizers` one.

GGUF stores a byte-level BPE as its tokens, its merges, and the *name* of the rule that splits text before
merging; the rules themselves are known by that name only. labkit knows those of its families and refuses the
others: a wrong split would give other tokens than the model was trained on, and nobody would notice.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers, processors

from labkit.errors import TokenizerError

if TYPE_CHECKING:
    from labkit.model.gguf import GGUFFile

_CONTROL, _USER_DEFINED = 3, 4

_LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_QWEN2_SPLIT = _LLAMA3_SPLIT.replace(r"\p{N}{1,3}", r"\p{N}")
_BY_SPLIT = {"llama-bpe": _LLAMA3_SPLIT, "llama3": _LLAMA3_SPLIT, "qwen2": _QWEN2_SPLIT}
_GPT2_LIKE = {"smollm", "gpt-2", "default"}

Parts = tuple[tokenizers.Tokenizer, list[int], int | None, str | None]


def tokenizer_parts(file: "GGUFFile") -> Parts:
    """The vocabulary, the ids that end and begin a text, and the chat template. Raises TokenizerError if it cannot."""
    metadata, where = file.metadata, str(file.path)
    kind = metadata.get("tokenizer.ggml.model")
    if kind != "gpt2":
        raise TokenizerError(
            f"{where}: the tokenizer is of kind {str(kind)[:40]!r}; labkit builds byte-level BPE ('gpt2'): "
            "load the model's Hugging Face folder"
        )
    backend = _backend(metadata, where)
    bos = _id(metadata, "bos_token_id")
    if metadata.get("tokenizer.ggml.add_bos_token") is True and bos is not None:
        name = backend.id_to_token(bos)
        backend.post_processor = processors.TemplateProcessing(f"{name} $A", None, [(name, bos)])
    ends = [_id(metadata, key) for key in ("eos_token_id", "eot_token_id", "eom_token_id")]
    template = metadata.get("tokenizer.chat_template")
    return (
        backend,
        [token for token in ends if token is not None],
        bos,
        template if isinstance(template, str) else None,
    )


def _backend(metadata: Mapping[str, Any], where: str) -> tokenizers.Tokenizer:
    tokens = _texts(metadata, "tokens", where)
    halves = [merge.partition(" ") for merge in _texts(metadata, "merges", where)]
    merges = [(left, right) for left, _, right in halves]
    rule = metadata.get("tokenizer.ggml.pre", "default")
    try:
        vocabulary = {token: index for index, token in enumerate(tokens)}
        whole_first = rule in ("llama-bpe", "llama3")
        backend = tokenizers.Tokenizer(models.BPE(vocabulary, merges, ignore_merges=whole_first))
    except (
        Exception
    ) as error:  # the library raises plain Exception, for instance for a merge of unknown tokens
        raise TokenizerError(
            f"{where}: tokens and merges do not fit together ({error}): download it again"
        ) from error
    backend.pre_tokenizer = _pre_tokenizer(rule, where)
    backend.decoder = decoders.ByteLevel()
    types = metadata.get("tokenizer.ggml.token_type") or []
    added = [
        AddedToken(token, special=kind == _CONTROL, normalized=False)
        for token, kind in zip(tokens, types, strict=False)
        if kind in (_CONTROL, _USER_DEFINED) and token
    ]
    backend.add_tokens(added)
    return backend


def _pre_tokenizer(rule: Any, where: str) -> Any:
    if rule == "smollm":
        digits = pre_tokenizers.Digits(individual_digits=True)
        return pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    if rule in _GPT2_LIKE:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    if rule in _BY_SPLIT:
        split = pre_tokenizers.Split(Regex(_BY_SPLIT[rule]), behavior="isolated")
        return pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
    raise TokenizerError(
        f"{where}: the splitting rule {str(rule)[:40]!r} is unknown; labkit knows "
        f"{', '.join(sorted(_GPT2_LIKE | set(_BY_SPLIT)))}: load the model's Hugging Face folder"
    )


def _texts(metadata: Mapping[str, Any], key: str, where: str) -> list[str]:
    found = metadata.get(f"tokenizer.ggml.{key}")
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise TokenizerError(f"{where}: the metadata hold no tokenizer.ggml.{key}: download it again")
    return found


def _id(metadata: Mapping[str, Any], key: str) -> int | None:
    value = metadata.get(f"tokenizer.ggml.{key}")
    return value if isinstance(value, int) and not isinstance(value, bool) else None
