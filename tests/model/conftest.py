"""Small models and a small tokenizer, made once: random weights, odd shapes, a real byte-level BPE."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tokenizers
import torch
from tokenizers import AddedToken, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, Qwen2Config, Qwen3Config

from labkit.model.tokenizer import Tokenizer

CORPUS = [
    "The quick brown fox jumps over the lazy dog, and then 12 more times.",
    "Größe, naïve café, Ελληνικά, русский, 中文字符, 日本語テキスト, 한국어, ไทย, हिन्दी",
    "def f(x):\n    return x + 1  # adds 1\n\n\n", "emoji 😀👩‍👩‍👧‍👦🏳️‍🌈 ∑∫√ “quotes” — dash … don't we'll I'm",
]  # fmt: skip
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA3_ROPE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 32, "rope_theta": 5000.0}  # fmt: skip
SMALL = {"vocab_size": 101, "hidden_size": 48, "intermediate_size": 88, "num_hidden_layers": 3,
         "max_position_embeddings": 256, "bos_token_id": None, "eos_token_id": None, "pad_token_id": None}  # fmt: skip


def _heads(heads: int, kv_heads: int) -> dict[str, Any]:
    return {**SMALL, "num_attention_heads": heads, "num_key_value_heads": kv_heads}


SHAPES: dict[str, Any] = {
    "llama, groups of 3": LlamaConfig(**_heads(6, 2), head_dim=8),
    "llama, one head each, tied": LlamaConfig(**_heads(4, 4), tie_word_embeddings=True),
    "llama, heads wider than hidden, llama3 rope": LlamaConfig(
        **_heads(6, 1), head_dim=16, rope_parameters=LLAMA3_ROPE
    ),
    "llama, biases": LlamaConfig(**_heads(6, 3), attention_bias=True, rms_norm_eps=1e-3),
    "qwen2": Qwen2Config(**_heads(6, 2)),
    "qwen2, tied, one KV head": Qwen2Config(
        **_heads(3, 1), tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1e6}
    ),
    "qwen3": Qwen3Config(**_heads(6, 2), head_dim=32, tie_word_embeddings=True),
    "qwen3, biases": Qwen3Config(**_heads(4, 4), head_dim=4, attention_bias=True),
}


@pytest.fixture(params=SHAPES, scope="session")
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A random transformers model, and the folder that its own `save_pretrained` wrote."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(len(request.param))
    model = AutoModelForCausalLM.from_config(SHAPES[request.param]).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if "norm" in name else 0.0, 0.2)
    folder = tmp_path_factory.mktemp("published")
    model.save_pretrained(folder)
    return SimpleNamespace(model=model, folder=folder)


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """A byte-level BPE of a few hundred tokens, with special ones, trained on a little of everything."""
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    )  # fmt: skip
    backend.train_from_iterator(CORPUS, trainer)
    backend.add_tokens([AddedToken("<|tool|>", normalized=False)])
    return Tokenizer(backend, eos_ids=(2, 0), bos_id=1, chat_template=TEMPLATE)


@pytest.fixture
def bounded_memory() -> Iterator[None]:
    """No more than 1 GB above what the process has mapped now: a loader that believes a hostile number fails."""
    resource = pytest.importorskip("resource")
    status = Path("/proc/self/statm")
    if not status.exists():
        pytest.skip("needs /proc to know the memory in use")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    in_use = int(status.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + 2**30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
