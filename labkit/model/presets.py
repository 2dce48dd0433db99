"""The shapes of well-known models, from the `config.json` their authors publish. Shapes only: no weights."""

from labkit.errors import ConfigError
from labkit.model.config import ModelConfig, RopeScaling

_LLAMA_3_2_ROPE = RopeScaling(
    factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_positions=8192
)
_LLAMA_3_1_ROPE = RopeScaling(
    factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_positions=8192
)


def _smollm2(
    layers: int, hidden: int, intermediate: int, heads: int, kv_heads: int, theta: float
) -> ModelConfig:
    return ModelConfig(
        vocab_size=49_152, hidden_size=hidden, intermediate_size=intermediate, num_layers=layers, num_heads=heads,
        num_kv_heads=kv_heads, head_dim=64, max_positions=8192, rope_theta=theta, tie_embeddings=True,
    )  # fmt: skip


def _qwen3(layers: int, hidden: int, intermediate: int, heads: int, tied: bool = False) -> ModelConfig:
    return ModelConfig(
        vocab_size=151_936, hidden_size=hidden, intermediate_size=intermediate, num_layers=layers, num_heads=heads,
        num_kv_heads=8, head_dim=128, max_positions=40_960, rope_theta=1e6, norm_eps=1e-6, tie_embeddings=tied,
        qk_norm=True, family="qwen3",
    )  # fmt: skip


def _llama3(
    layers: int,
    hidden: int,
    intermediate: int,
    heads: int,
    head_dim: int,
    rope: RopeScaling,
    tied: bool = False,
) -> ModelConfig:
    return ModelConfig(
        vocab_size=128_256, hidden_size=hidden, intermediate_size=intermediate, num_layers=layers, num_heads=heads,
        num_kv_heads=8, head_dim=head_dim, max_positions=131_072, rope_theta=500_000.0, rope_scaling=rope,
        tie_embeddings=tied,
    )  # fmt: skip


PRESETS: dict[str, ModelConfig] = {
    "smollm2-135m": _smollm2(30, 576, 1536, 9, 3, 100_000.0),
    "smollm2-360m": _smollm2(32, 960, 2560, 15, 5, 100_000.0),
    "smollm2-1.7b": _smollm2(24, 2048, 8192, 32, 32, 130_000.0),
    "qwen3-0.6b": _qwen3(28, 1024, 3072, 16, tied=True),
    "qwen3-1.7b": _qwen3(28, 2048, 6144, 16, tied=True),
    "qwen3-4b": _qwen3(36, 2560, 9728, 32, tied=True),
    "qwen3-8b": _qwen3(36, 4096, 12_288, 32),
    "qwen3-14b": _qwen3(40, 5120, 17_408, 40),
    "qwen3-32b": _qwen3(64, 5120, 25_600, 64),
    "llama-3.2-1b": _llama3(16, 2048, 8192, 32, 64, _LLAMA_3_2_ROPE, tied=True),
    "llama-3.2-3b": _llama3(28, 3072, 8192, 24, 128, _LLAMA_3_2_ROPE, tied=True),
    "llama-3.1-8b": _llama3(32, 4096, 14_336, 32, 128, _LLAMA_3_1_ROPE),
    "llama-3.1-70b": _llama3(80, 8192, 28_672, 64, 128, _LLAMA_3_1_ROPE),
}


def preset(name: str) -> ModelConfig:
    """The shape of a well-known model, such as "smollm2-135m" or "llama-3.1-8b". Raises ConfigError if
    unknown.
    """
    try:
        return PRESETS[name.lower()]
    except KeyError:
        raise ConfigError(f"no preset {name!r}: one of {', '.join(PRESETS)}") from None
