"""How a transformer meets the past: one callable, `attend(layer, q, k, v) -> out`.

The model hands over the new tokens' queries, keys and values and asks for the attention output. Whether the
past is recomputed, kept in one strip, or scattered over blocks is the callee's affair. Here lives the
one that keeps no past at all.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""`attend(layer, q [T, H, D], k [T, K, D], v [T, K, D]) -> [T, H, D]`"""


def causal(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Plain causal attention over one sequence: the T tokens are all there is. `q` [T, H, D], `k`, `v` [T, K,
    D].
    """
    return attention(q, k.transpose(0, 1), v.transpose(0, 1))


def attention(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attention of the last T tokens of a context of S, each to itself and all before it.

    `q` [T, H, D]; `keys`, `values` [K, S, D] with T <= S and H a multiple of K; returns [T, H, D]. Softmax of
    q·k/√D over the context times the values (Vaswani et al. 2017, §3.2.1); query heads share KV heads in
    groups of H / K.
    """
    new, total = q.shape[0], keys.shape[1]
    mask = None if new in (1, total) else q.new_ones(new, total, dtype=torch.bool).tril(total - new)
    out = F.scaled_dot_product_attention(
        q.transpose(0, 1).unsqueeze(0), keys.unsqueeze(0), values.unsqueeze(0), attn_mask=mask,
        is_causal=new == total and new > 1, enable_gqa=q.shape[1] != keys.shape[0],
    )  # fmt: skip
    return out.squeeze(0).transpose(0, 1)
