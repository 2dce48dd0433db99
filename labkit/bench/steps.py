"""The two kinds of forward pass, timed by themselves: a prefill of T tokens, and a decode step of B
sequences.

For experiments that ask how a step's time depends on its size. The past of a decode step is random: its
content does not change the work.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from labkit.bench.timing import Measurement, timed
from labkit.model.attention import Attend
from labkit.model.transformer import Transformer


def prefill(model: Transformer, tokens: int) -> Measurement:
    """Seconds to process a prompt of `tokens` tokens up to the scores of the next one."""
    ids, positions = _ids(model, tokens), torch.arange(tokens, device=model.device)

    @torch.inference_mode()
    def step() -> Tensor:
        return model.logits(model(ids, positions)[-1:])

    return timed(step)


def decode(model: Transformer, batch: int, context: int) -> Measurement:
    """Seconds of one step that gives each of `batch` sequences its next token, with `context` tokens before
    it.
    """
    ids, positions = _ids(model, batch), torch.full((batch,), context, device=model.device)
    attend = random_past(model, batch, context)

    @torch.inference_mode()
    def step() -> Tensor:
        return model.logits(model(ids, positions, attend))

    return timed(step)


def random_past(model: Transformer, batch: int, context: int) -> Attend:
    """Attention of one new token per sequence to a cache of `context` random tokens each, two of [L, B, K, S,
    D].
    """
    config = model.config
    shape = (config.num_layers, batch, config.num_kv_heads, context + 1, config.head_dim)
    keys, values = (torch.randn(shape, dtype=model.dtype, device=model.device) for _ in range(2))

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        keys[layer, :, :, context], values[layer, :, :, context] = k, v
        grouped = config.group_size > 1
        out = F.scaled_dot_product_attention(q.unsqueeze(2), keys[layer], values[layer], enable_gqa=grouped)
        return out.squeeze(2)

    return attend


def _ids(model: Transformer, count: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(model.config.vocab_size, (count,), generator=generator).to(model.device)
