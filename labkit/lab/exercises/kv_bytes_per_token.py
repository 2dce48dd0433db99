"""Exercise: how many bytes of KV cache one more token of context takes."""

from dataclasses import replace
from typing import Any

from labkit.lab.exercises.base import Answer, Case, Exercise, Mistake, Property
from labkit.model.config import ModelConfig
from labkit.model.presets import preset

_STUB = '''def kv_bytes_per_token(config, dtype_bytes=2):
    """Bytes of KV cache that one token of context takes; dtype_bytes is the size of one number."""
    raise NotImplementedError
'''


def make() -> Exercise:
    """The exercise, with cases chosen so that no two of the known mistakes look alike."""
    return Exercise(
        name="kv_bytes_per_token",
        lesson="01",
        target="labkit.model.config:ModelConfig.kv_bytes_per_token",
        task="Every token a request has read or written leaves a trace in memory for as long as the request lives. "
        "How many bytes? The shape is in config: num_layers, hidden_size, num_heads, num_kv_heads, head_dim.",
        stub=_STUB,
        unit="bytes",
        cases=[
            _case(name, size)
            for name in ("llama-3.1-8b", "qwen3-0.6b", "smollm2-135m")
            for size in (2, 4, 0.5)
        ],
        properties=_PROPERTIES,
        mistakes=_MISTAKES,
        hints=(
            "Look at attention: to write the next token, what of each earlier token is read again, and in how many "
            "places "
            "of the model?",
            "In every layer, each KV head keeps one key and one value per token; each is a vector of head_dim numbers.",
            "Multiply: two (a key and a value), layers, KV heads, numbers per head, bytes per number.",
        ),
    )


def _case(name: str, dtype_bytes: float) -> Case:
    return Case(f"{name} at {dtype_bytes} bytes per number", (preset(name), dtype_bytes))


_BASE = ModelConfig(
    vocab_size=1000,
    hidden_size=384,
    intermediate_size=1024,
    num_layers=6,
    num_heads=12,
    num_kv_heads=3,
    head_dim=48,
)


def _ratio(answer: Answer, **changes: Any) -> float:
    return float(answer(replace(_BASE, **changes), 2) / answer(_BASE, 2))


_PROPERTIES = (
    Property("twice the layers take twice the bytes", lambda fn: _ratio(fn, num_layers=12) == 2),
    Property("twice the KV heads take twice the bytes", lambda fn: _ratio(fn, num_kv_heads=6) == 2),
    Property(
        "more query heads over the same KV heads take no more", lambda fn: _ratio(fn, num_heads=24) == 1
    ),
    Property(
        "a wider hidden state with the same heads takes no more", lambda fn: _ratio(fn, hidden_size=768) == 1
    ),
    Property("half the bytes per number take half the bytes", lambda fn: fn(_BASE, 1) * 2 == fn(_BASE, 2)),
)

_MISTAKES = (
    Mistake(
        "one of two", lambda c, b=2: c.num_layers * c.num_kv_heads * c.head_dim * b,
        "Exactly half of it: you forgot the factor 2. A token leaves a key and a value.",
    ),
    Mistake(
        "query heads", lambda c, b=2: 2 * c.num_layers * c.num_heads * c.head_dim * b,
        "You counted the query heads. With grouped-query attention several of them share one key and value: only KV "
        "heads are kept.",
    ),
    Mistake(
        "hidden size", lambda c, b=2: 2 * c.num_layers * c.hidden_size * b,
        "You took hidden_size for the width of a key. That is the width of the stream between layers; a layer's keys "
        "are as wide as "
        "its KV heads together.",
    ),
    Mistake(
        "head_dim guessed", lambda c, b=2: 2 * c.num_layers * c.num_kv_heads * (c.hidden_size // c.num_heads) * b,
        "You computed the head's width as hidden_size / num_heads. Some models (Qwen3, for one) choose it freely: "
        "the config says it.",
    ),
    Mistake(
        "one layer", lambda c, b=2: 2 * c.num_kv_heads * c.head_dim * b,
        "That is one layer's share. Every layer keeps its own keys and values.",
    ),
    Mistake(
        "one head", lambda c, b=2: 2 * c.num_layers * c.head_dim * b,
        "That is one head's share. Every KV head keeps its own keys and values.",
    ),
    Mistake(
        "bits", lambda c, b=2: 2 * c.num_layers * c.num_kv_heads * c.head_dim * b * 8,
        "Eight times too much: dtype_bytes is in bytes already, and you counted bits.",
    ),
    Mistake(
        "bits to bytes", lambda c, b=2: 2 * c.num_layers * c.num_kv_heads * c.head_dim * b / 8,
        "Eight times too little: dtype_bytes is in bytes already, there are no bits to convert.",
    ),
    Mistake(
        "numbers, not bytes", lambda c, b=2: 2 * c.num_layers * c.num_kv_heads * c.head_dim,
        "You counted numbers, not bytes: how large is each?",
    ),
    Mistake(
        "always 16 bits", lambda c, b=2: 2 * c.num_layers * c.num_kv_heads * c.head_dim * 2,
        "Right for 16-bit numbers, but dtype_bytes is ignored: the cache may be kept in 8 or 4 bits, or in 32.",
    ),
    Mistake(
        "whole bytes", lambda c, b=2: 2 * c.num_layers * c.num_kv_heads * c.head_dim * int(b),
        "Right for whole bytes, but a 4-bit number takes half a byte, and you rounded that away.",
    ),
    Mistake(
        "whole context", lambda c, b=2: 2 * c.num_layers * c.num_kv_heads * c.head_dim * b * c.max_positions,
        "That is a full context's worth. The question is about a single token.",
    ),
)  # fmt: skip
