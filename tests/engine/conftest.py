"""A language model small enough to run hundreds of times: random weights, and a vocabulary of bytes."""

import pytest

from labkit.model.config import ModelConfig
from labkit.model.transformer import Transformer

END = 257


class ByteStream:
    """Bytes in, whole characters out."""

    def __init__(self) -> None:
        self.pending = b""

    def push(self, token: int) -> str:
        self.pending += bytes([token]) if token < 256 else b""
        text = self.pending.decode("utf-8", errors="ignore")
        self.pending = self.pending[len(text.encode()) :]
        return text

    def flush(self) -> str:
        return self.pending.decode("utf-8", errors="replace")


class ByteTokenizer:
    """A token a byte; 257 ends a text."""

    eos_ids = (END,)
    chat_template = None

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def encode_chat(self, messages: list[dict[str, str]]) -> list[int]:
        return self.encode("\n".join(message["content"] for message in messages))

    def stream(self) -> ByteStream:
        return ByteStream()


class ByteModel:
    """Stands in for what `labkit.load` returns."""

    name = "bytes"
    tokenizer = ByteTokenizer()

    def __init__(self, model: Transformer) -> None:
        self.model = model

    @property
    def config(self) -> ModelConfig:
        return self.model.config


@pytest.fixture(scope="session")
def lm() -> ByteModel:
    shape = ModelConfig(258, 48, 96, num_layers=3, num_heads=6, num_kv_heads=2, head_dim=8, max_positions=96)
    model = Transformer.random(shape, seed=3)
    for (
        parameter
    ) in model.parameters():  # sharper scores than fresh weights give, so that greedy ties are rare
        if parameter.dim() == 2:
            parameter.data.mul_(8)
    return ByteModel(model)
