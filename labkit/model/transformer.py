"""One decoder-only transformer for the Llama, Qwen2 and Qwen3 families, on one page.

The model knows no cache and no batch: it takes T tokens with their positions, from one sequence or from many,
and meets everything before them only through `attend(layer, q, k, v)` (see `labkit.model.attention`).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labkit.errors import ConfigError
from labkit.model.attention import Attend, causal
from labkit.model.config import ModelConfig
from labkit.model.layers import Layer, Linear, RMSNorm, linear
from labkit.model.presets import preset
from labkit.model.rope import rotate, rotation_table


class Attention(Layer):
    """Grouped-query attention: queries, keys and values from one fused product, positions by rotation."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.layer, self.config = layer, config
        heads = config.num_heads + 2 * config.num_kv_heads
        self.qkv = Linear(config.hidden_size, heads * config.head_dim, bias=config.qkv_bias)
        self.output = Linear(config.num_heads * config.head_dim, config.hidden_size, bias=config.output_bias)
        self.q_norm = RMSNorm(config.head_dim, config.norm_eps) if config.qk_norm else None
        self.k_norm = RMSNorm(config.head_dim, config.norm_eps) if config.qk_norm else None

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend) -> Tensor:
        """`x` [T, E] → [T, E]; `cos`, `sin` [T, 1, D]."""
        heads, kv_heads = self.config.num_heads, self.config.num_kv_heads
        qkv = self.qkv(x).view(x.shape[0], heads + 2 * kv_heads, self.config.head_dim)
        qk, v = qkv.split_with_sizes((heads + kv_heads, kv_heads), dim=1)
        if self.q_norm is not None and self.k_norm is not None:
            qk = torch.cat((self.q_norm(qk[:, :heads]), self.k_norm(qk[:, heads:])), dim=1)
        q, k = rotate(qk, cos, sin).split_with_sizes((heads, kv_heads), dim=1)
        out = attend(self.layer, q, k, v)
        projected: Tensor = self.output(out.reshape(x.shape[0], -1))
        return projected


class MLP(Layer):
    """SwiGLU feed-forward (arXiv 2002.05202): gate and up from one fused product, silu(gate) * up, down."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate_up = Linear(config.hidden_size, 2 * config.intermediate_size)
        self.down = Linear(config.intermediate_size, config.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        """`x` [T, E] → [T, E]."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        out: Tensor = self.down(F.silu(gate) * up)
        return out


class Block(Layer):
    """One layer: attention, then feed-forward, each on a normed copy and added back."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.attention = Attention(config, layer)
        self.mlp_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.mlp = MLP(config)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend) -> Tensor:
        """`x` [T, E] → [T, E]."""
        x = x + self.attention(self.attention_norm(x), cos, sin, attend)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class Transformer(nn.Module):
    """A decoder-only transformer; made by `labkit.load`, `Transformer.random` or `Transformer.empty`."""

    cos: Tensor
    sin: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(config.vocab_size, config.hidden_size))
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.lm_head = None if config.tie_embeddings else Linear(config.hidden_size, config.vocab_size)
        self.register_rotation()

    def register_rotation(self) -> None:
        """(Re)compute the rotation tables, which are derived from the shape and belong to no checkpoint."""
        for name, table in zip(("cos", "sin"), rotation_table(self.config), strict=True):
            self.register_buffer(name, table, persistent=False)

    def forward(self, tokens: Tensor, positions: Tensor, attend: Attend = causal) -> Tensor:
        """Hidden states of T tokens, after the last norm: `tokens`, `positions` [T] int64 → [T, E].

        Without `attend` the tokens are one whole sequence (plain causal attention). Feed the rows whose next
        token is wanted to `logits`; the others need no LM head.
        """
        x = F.embedding(tokens, self.embedding)
        cos = self.cos[positions].unsqueeze(1).to(x.dtype)
        sin = self.sin[positions].unsqueeze(1).to(x.dtype)
        for block in self.blocks:
            x = block(x, cos, sin, attend)
        out: Tensor = self.norm(x)
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every next token: `hidden` [T, E] → [T, V]."""
        if self.lm_head is None:
            return linear(hidden, self.embedding)
        scores: Tensor = self.lm_head(hidden)
        return scores

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embedding.device

    @property
    def dtype(self) -> torch.dtype:
        """The type the weights have."""
        return self.embedding.dtype

    @classmethod
    def empty(cls, config: ModelConfig, device: str | torch.device, dtype: torch.dtype) -> "Transformer":
        """A model with its memory taken on `device` and nothing written to it yet. Raises ConfigError for a `dtype`
        that is not a floating-point one; torch raises if the memory is not there.
        """
        if not dtype.is_floating_point:
            raise ConfigError(f"dtype {dtype} is not a floating-point type: use float32, bfloat16 or float16")
        with torch.device("meta"):
            model = cls(config).to(dtype)
        model = model.to_empty(device=device)
        model.register_rotation()
        return model.to(device=device)

    @classmethod
    def random(
        cls,
        shape: ModelConfig | str,
        *,
        seed: int = 0,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> "Transformer":
        """A model with random weights, from a shape or a preset's name: timing needs no real weights.

        Scaled as for training from scratch (normal, 0.02; the projections that write to the residual stream
        divided by √2L, as in GPT-2), so activations stay finite at any depth. The same seed gives the same
        weights on one device.
        """
        config = preset(shape) if isinstance(shape, str) else shape
        model = cls.empty(config, device, dtype)
        generator = torch.Generator(device=device).manual_seed(seed)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                _initialize(name, parameter, config, generator)
        return model


def _initialize(name: str, parameter: Tensor, config: ModelConfig, generator: torch.Generator) -> None:
    if name.endswith("norm.weight"):
        parameter.fill_(1.0)
    elif name.endswith(".bias"):
        parameter.zero_()
    else:
        writes_residual = name.endswith(("output.weight", "down.weight"))
        std = 0.02 / (2 * config.num_layers) ** 0.5 if writes_residual else 0.02
        parameter.normal_(0.0, std, generator=generator)
