"""A model's shape, and the numbers that follow from it.

Everything an inference engine must know before it loads a single weight is arithmetic on a dozen integers:
how large the weights are, how much memory one more token of context costs, how many floating-point operations
one more token takes.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.errors import ConfigError

Family = Literal["llama", "qwen2", "qwen3"]
FAMILIES: tuple[Family, ...] = ("llama", "qwen2", "qwen3")


@dataclass(frozen=True)
class RopeScaling:
    """Llama 3's stretch of the rotary wavelengths (Llama 3 herd of models, arXiv 2407.21783, and its
    `rope_scaling`).
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_positions: int

    def __post_init__(self) -> None:
        if self.factor < 1 or self.original_max_positions < 1:
            raise ConfigError(f"{self}: factor must be at least 1 and original_max_positions positive")
        if not 0 < self.low_freq_factor < self.high_freq_factor:
            raise ConfigError(f"{self}: need 0 < low_freq_factor < high_freq_factor")


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a decoder-only transformer of the Llama, Qwen2 or Qwen3 family.

    Letters used in every shape of labkit: `L` num_layers, `E` hidden_size, `H` num_heads, `K` num_kv_heads,
    `D` head_dim, `V` vocab_size. `num_heads` must be a multiple of `num_kv_heads` (grouped-query attention,
    arXiv 2305.13245); `H * D` need not equal `E`. Raises ConfigError for an impossible shape.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    max_positions: int = 4096
    rope_theta: float = 10_000.0
    rope_scaling: RopeScaling | None = None
    norm_eps: float = 1e-5
    tie_embeddings: bool = False
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: bool = False
    family: Family = "llama"

    def __post_init__(self) -> None:
        for name in ("vocab_size", "hidden_size", "intermediate_size", "num_layers", "num_heads", "num_kv_heads",
                     "head_dim", "max_positions"):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ConfigError(f"{name} = {value!r}: must be a positive integer")
        if self.num_heads % self.num_kv_heads:
            raise ConfigError(
                f"num_heads {self.num_heads} is not a multiple of num_kv_heads {self.num_kv_heads}"
            )
        if self.head_dim % 2:
            raise ConfigError(
                f"head_dim {self.head_dim} is odd: rotary embedding turns pairs, so it must be even"
            )
        if self.rope_theta <= 0 or self.norm_eps <= 0:
            raise ConfigError(f"rope_theta {self.rope_theta} and norm_eps {self.norm_eps} must be positive")
        if self.family not in FAMILIES:
            raise ConfigError(f"family {self.family!r} is not supported: one of {', '.join(FAMILIES)}")

    @property
    def group_size(self) -> int:
        """Query heads that share one KV head, H / K."""
        return self.num_heads // self.num_kv_heads

    @property
    def matmul_parameters(self) -> int:
        """Weights that every token is multiplied with: the layers' matrices and the LM head (not the
        embedding table).
        """
        attention = self.hidden_size * self.head_dim * (2 * self.num_heads + 2 * self.num_kv_heads)
        mlp = 3 * self.hidden_size * self.intermediate_size
        return self.num_layers * (attention + mlp) + self.vocab_size * self.hidden_size

    @property
    def parameters(self) -> int:
        """All weights, tied embeddings counted once."""
        norms = 2 * self.hidden_size + (2 * self.head_dim if self.qk_norm else 0)
        biases = self.head_dim * (self.num_heads + 2 * self.num_kv_heads) if self.qkv_bias else 0
        biases += self.hidden_size if self.output_bias else 0
        table = 0 if self.tie_embeddings else self.vocab_size * self.hidden_size
        return self.matmul_parameters + table + self.num_layers * (norms + biases) + self.hidden_size

    def weight_bytes(self, dtype_bytes: float = 2) -> float:
        """Bytes that the weights take at `dtype_bytes` bytes each (4 fp32, 2 fp16/bf16, 1 int8, 0.5 int4)."""
        return self.parameters * dtype_bytes

    def kv_bytes_per_token(self, dtype_bytes: float = 2) -> float:
        """Bytes of KV cache that one token of context takes: a key and a value per KV head and layer."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim * dtype_bytes

    def flops_per_token(self, context: int) -> float:
        """Floating-point operations to process one token that attends to `context` tokens.

        Two per weight (a multiply and an add), and for attention 2·D for each of q·k and p·v, per query head,
        layer and token of context (Kaplan et al. 2020, §2.1, with grouped-query attention).
        """
        return 2 * self.matmul_parameters + 4 * self.num_layers * self.num_heads * self.head_dim * context
