"""Write a model of ours as GGUF, the way llama.cpp's converter does it: the other direction, for tests."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind

from labkit.model.parts import Part, parts
from labkit.model.tokenizer import Tokenizer
from labkit.model.transformer import Transformer


def interleaved(rows: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """Query or key rows in llama.cpp's order: of each head's two halves, one row from each in turn."""
    out = np.empty_like(rows)
    size = len(rows) // heads
    for row in range(len(rows)):
        head, place = divmod(row, size)
        half, pair = divmod(place, size // 2)
        out[head * size + 2 * pair + half] = rows[row]
    return out


def write_gguf(
    model: Transformer,
    tokenizer: Tokenizer,
    path: Path,
    kind: Kind = Kind.F32,
    pre: str = "gpt-2",
    factors: np.ndarray[Any, Any] | None = None,
) -> Path:
    """A GGUF file with matrices of `kind` (rows must be whole blocks) and vectors in F32.

    `pre`: the name of the splitting rule. `factors` [D/2]: what each rotary frequency is divided by.
    """
    config, family = model.config, model.config.family
    writer = gguf.GGUFWriter(path, family)
    writer.add_block_count(config.num_layers)
    writer.add_context_length(config.max_positions)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_heads)
    writer.add_head_count_kv(config.num_kv_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_theta)
    writer.add_layer_norm_rms_eps(config.norm_eps)
    writer.add_vocab_size(config.vocab_size)
    add_tokenizer(writer, tokenizer, config.vocab_size, pre)
    weights = dict(model.named_parameters())
    for part in parts(config):
        add_tensor(writer, part, weights[part.parameter].detach().float().numpy(), kind, family)
    if factors is not None:
        writer.add_tensor("rope_freqs.weight", factors.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add_tensor(writer: gguf.GGUFWriter, part: Part, whole: Any, kind: Kind, family: str) -> None:
    """One tensor, in the order and the type of a GGUF file."""
    rows = whole[part.start : part.start + part.shape[0]]
    if part.heads and family == "llama":
        rows = interleaved(rows, part.heads)
    kind = kind if rows.ndim == 2 else Kind.F32
    writer.add_tensor(part.gguf_name, gguf.quantize(rows, kind), raw_dtype=kind)


def add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Tokenizer, size: int, pre: str) -> None:
    """Tokens, merges, types, special ids and template."""
    import json

    names = [tokenizer.backend.id_to_token(token) or f"[PAD{token}]" for token in range(size)]
    added = tokenizer.backend.get_added_tokens_decoder()
    types = [1 if t not in added else 3 if added[t].special else 4 for t in range(size)]
    merges = json.loads(tokenizer.backend.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(names)
    writer.add_token_types(types)
    writer.add_token_merges([" ".join(merge) for merge in merges])
    writer.add_bos_token_id(tokenizer.bos_id or 0)
    writer.add_eos_token_id(tokenizer.eos_ids[0])
    writer.add_chat_template(tokenizer.chat_template or "")
