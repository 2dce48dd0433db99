"""Which rows of which parameter a checkpoint's tensor fills.

labkit fuses what is multiplied with the same input: q, k and v rows are one matrix, gate and up rows another.
Checkpoints name each part by itself. This table is the whole translation, used by every loader and by the
writer.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from labkit.errors import WeightsError
from labkit.model.config import ModelConfig
from labkit.model.transformer import Transformer


@dataclass(frozen=True)
class Part:
    """Rows `start : start + shape[0]` of a parameter, and the names that file formats give them."""

    parameter: str
    start: int
    shape: tuple[int, ...]
    hf_name: str
    gguf_name: str
    heads: int = 0
    """Query or key rows only: how many heads they are (llama.cpp orders their rows differently)."""


def parts(config: ModelConfig) -> Iterator[Part]:
    """Every tensor of a checkpoint of this shape, in order."""
    table = (config.vocab_size, config.hidden_size)
    yield Part("embedding", 0, table, "model.embed_tokens.weight", "token_embd.weight")
    for layer in range(config.num_layers):
        yield from _block_parts(config, layer)
    yield Part("norm.weight", 0, (config.hidden_size,), "model.norm.weight", "output_norm.weight")
    if not config.tie_embeddings:
        yield Part("lm_head.weight", 0, table, "lm_head.weight", "output.weight")


def _block_parts(config: ModelConfig, layer: int) -> Iterator[Part]:
    hidden, inner, head = config.hidden_size, config.intermediate_size, config.head_dim
    heads, kv_heads = config.num_heads, config.num_kv_heads

    def part(ours: str, hf: str, gguf: str, shape: tuple[int, ...], start: int = 0, turned: int = 0) -> Part:
        hf_name, gguf_name = f"model.layers.{layer}.{hf}", f"blk.{layer}.{gguf}"
        return Part(f"blocks.{layer}.{ours}", start, shape, hf_name, gguf_name, turned)

    yield part("attention_norm.weight", "input_layernorm.weight", "attn_norm.weight", (hidden,))
    start = 0
    for letter, count in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
        rows, turned = count * head, 0 if letter == "v" else count
        for kind, shape in (("weight", (rows, hidden)), ("bias", (rows,)))[: 2 if config.qkv_bias else 1]:
            ours, hf, gguf = f"qkv.{kind}", f"{letter}_proj.{kind}", f"attn_{letter}.{kind}"
            yield part(f"attention.{ours}", f"self_attn.{hf}", gguf, shape, start, turned)
        start += rows
    yield part(
        "attention.output.weight", "self_attn.o_proj.weight", "attn_output.weight", (hidden, heads * head)
    )
    if config.output_bias:
        yield part("attention.output.bias", "self_attn.o_proj.bias", "attn_output.bias", (hidden,))
    if config.qk_norm:
        for letter in "qk":
            name = f"{letter}_norm.weight"
            yield part(f"attention.{name}", f"self_attn.{name}", f"attn_{name}", (head,))
    yield part("mlp_norm.weight", "post_attention_layernorm.weight", "ffn_norm.weight", (hidden,))
    yield part("mlp.gate_up.weight", "mlp.gate_proj.weight", "ffn_gate.weight", (inner, hidden))
    yield part("mlp.gate_up.weight", "mlp.up_proj.weight", "ffn_up.weight", (inner, hidden), inner)
    yield part("mlp.down.weight", "mlp.down_proj.weight", "ffn_down.weight", (hidden, inner))


class Assembly:
    """A model being filled part by part; `finished` hands it out only when every part has arrived."""

    def __init__(self, config: ModelConfig, device: str | torch.device, dtype: torch.dtype) -> None:
        try:
            self.model = Transformer.empty(config, device, dtype).requires_grad_(False).eval()
        except (RuntimeError, MemoryError) as error:  # torch reports a full memory as either
            gigabytes = config.weight_bytes(dtype.itemsize) / 1e9
            raise WeightsError(
                f"no room on {device} for {gigabytes:.1f} GB of weights as {dtype} ({str(error)[:80]}): "
                "choose a smaller model, a smaller dtype or another device"
            ) from error
        self._parameters = dict(self.model.named_parameters())
        self._missing = {part.hf_name for part in parts(config)}

    def fill(self, part: Part, tensor: Tensor) -> None:
        """Copy one part into its rows, converted to the model's type and device: `tensor` has `part.shape`."""
        self.rows(part).copy_(tensor)
        self._missing.discard(part.hf_name)

    def rows(self, part: Part) -> Tensor:
        """The rows of the model's parameter that a part is, [*part.shape]."""
        return self._parameters[part.parameter][part.start : part.start + part.shape[0]]

    def finished(self) -> Transformer:
        """The complete model. Raises WeightsError if a part never arrived."""
        if self._missing:
            raise WeightsError(
                f"{len(self._missing)} tensors were not filled, among them {min(self._missing)}"
            )
        return self.model
