"""GGUF: against the gguf package's reader and its own expansion, against transformers, and against damage."""

import math
import struct
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

import labkit
from labkit.errors import ConfigError, LabkitError, TokenizerError, WeightsError
from labkit.model.config import ModelConfig, RopeScaling
from labkit.model.dequantize import dequantize
from labkit.model.gguf import GGUFFile, half_split, load_gguf
from labkit.model.tokenizer import Tokenizer
from labkit.model.transformer import Transformer
from tests.model.gguf_writer import interleaved, write_gguf

LLAMA = ModelConfig(
    vocab_size=410, hidden_size=64, intermediate_size=96, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=16,
    max_positions=64, rope_theta=12_345.0,
)  # fmt: skip
SHAPES = {
    "llama": LLAMA,
    "llama, tied, wide heads": ModelConfig(
        vocab_size=410, hidden_size=32, intermediate_size=64, num_layers=1, num_heads=6, num_kv_heads=2, head_dim=16,
        max_positions=64, tie_embeddings=True, norm_eps=1e-6,
    ),
    "qwen2": ModelConfig(
        vocab_size=410, hidden_size=64, intermediate_size=96, num_layers=2, num_heads=4, num_kv_heads=4, head_dim=16,
        max_positions=64, qkv_bias=True, family="qwen2",
    ),
    "qwen3": ModelConfig(
        vocab_size=410, hidden_size=64, intermediate_size=96, num_layers=2, num_heads=2, num_kv_heads=1, head_dim=128,
        max_positions=64, qk_norm=True, family="qwen3",
    ),
}  # fmt: skip
QUANTIZED = [Kind.F32, Kind.F16, Kind.BF16, Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1]


def lively(config: ModelConfig) -> Transformer:
    """A random model whose every weight matters, biases and norms too."""
    model = Transformer.random(config, seed=7).requires_grad_(False)
    generator = torch.Generator().manual_seed(8)
    for name, weight in model.named_parameters():
        weight.normal_(1.0 if "norm" in name else 0.0, 0.3, generator=generator)
    return model


@pytest.fixture(scope="session")
def small(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole small GGUF file."""
    return write_gguf(lively(LLAMA), tokenizer, tmp_path_factory.mktemp("gguf") / "small.gguf")


@pytest.mark.parametrize("name", SHAPES)
def test_unquantized_files_hold_the_model_bit_for_bit(
    name: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model = lively(SHAPES[name])
    loaded = labkit.load(write_gguf(model, tokenizer, tmp_path / "m.gguf"), device="cpu").model
    assert loaded.config == model.config
    for (key, weight), (_, other) in zip(model.named_parameters(), loaded.named_parameters(), strict=True):
        assert torch.equal(weight, other), key


@torch.no_grad()
@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3"])
def test_transformers_reads_the_same_model_from_the_file(
    name: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = write_gguf(lively(SHAPES[name]), tokenizer, tmp_path / "m.gguf", Kind.Q8_0)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="m.gguf", dtype=torch.float32).eval()
    ours = labkit.load(path, device="cpu").model
    tokens = torch.arange(50) * 11 % 400
    logits = ours.logits(ours(tokens, torch.arange(50)))
    torch.testing.assert_close(logits, theirs(tokens[None]).logits[0], atol=1e-4, rtol=1e-5)


def llama3_factors(config: ModelConfig, factor: float) -> Any:
    """By how much Llama 3 divides each frequency, pair by pair, as its authors' code decides it."""
    factors = []
    for pair in range(config.head_dim // 2):
        wavelength = 2 * math.pi * config.rope_theta ** (2 * pair / config.head_dim)
        if wavelength < 8192 / 4:
            factors.append(1.0)
        elif wavelength > 8192 / 1:
            factors.append(factor)
        else:
            smooth = (8192 / wavelength - 1) / (4 - 1)
            factors.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(factors)


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama3_scaling_is_recovered(factor: float, tokenizer: Tokenizer, tmp_path: Path) -> None:
    config = replace(LLAMA, rope_theta=500_000.0, head_dim=64)
    factors = llama3_factors(config, factor)
    loaded = labkit.load(
        write_gguf(lively(config), tokenizer, tmp_path / "m.gguf", factors=factors), device="cpu"
    )
    assert loaded.config == replace(config, rope_scaling=RopeScaling(factor, 1.0, 4.0, 8192))


@pytest.mark.parametrize(
    "factors", [np.full(8, 2.0), np.full(8, np.nan), np.full(8, 0.5), np.ones(4), np.zeros(8)]
)
def test_other_scalings_are_refused(factors: Any, tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = write_gguf(lively(LLAMA), tokenizer, tmp_path / "m.gguf", factors=factors)
    with pytest.raises(ConfigError, match=r"rope_freqs\.weight"):
        labkit.load(path)


@pytest.mark.parametrize("kind", QUANTIZED, ids=lambda kind: kind.name)
def test_blocks_expand_as_the_package_expands_them(kind: Kind) -> None:
    """On whatever the blocks hold: real weights, and random bytes with every scale that is a number."""
    weights = np.random.default_rng(1).normal(size=(6, 96)).astype(np.float32)
    for data in (gguf.quantize(weights, kind), _random_blocks(kind)):
        shape = (
            len(data),
            data.nbytes // len(data) // gguf.GGML_QUANT_SIZES[kind][1] * gguf.GGML_QUANT_SIZES[kind][0],
        )
        raw = np.frombuffer(data.tobytes(), np.uint8).copy()
        ours = dequantize(raw, kind, shape, "here").float().numpy()
        theirs = gguf.dequantize(data, kind)
        np.testing.assert_allclose(ours, theirs.reshape(shape), rtol=1e-6, atol=1e-6)


def _random_blocks(kind: Kind) -> Any:
    size = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = np.random.default_rng(2).integers(0, 256, size=(500, 4 * size), dtype=np.uint8)
    if kind.name in ("F32", "F16", "BF16"):
        return gguf.quantize(np.random.default_rng(3).normal(size=(500, 4)).astype(np.float32), kind)
    for start in range(0, 4 * size, size):
        blocks[:, start + 1] &= 0x3B  # an fp16 exponent below infinity
        blocks[:, start + 3] &= 0x3B
    return blocks


@pytest.mark.parametrize("kind", [Kind.Q2_K, Kind.Q4_K, Kind.Q6_K, Kind.IQ4_NL], ids=lambda kind: kind.name)
def test_every_other_kind_goes_through_the_package(kind: Kind) -> None:
    weights, size = gguf.GGML_QUANT_SIZES[kind]
    raw = np.zeros(3 * size, np.uint8)
    out = dequantize(raw, kind, (3, weights), "here")
    assert out.shape == (3, weights)
    assert not out.any()


def test_a_kind_nobody_expands_is_named() -> None:
    with pytest.raises(WeightsError, match=r"here.*I32"):
        dequantize(np.zeros(32, np.uint8), Kind.I32, (8,), "here")


@given(st.integers(1, 5), st.integers(1, 8), st.sampled_from([(), (3,)]))
def test_half_split_undoes_interleaving(heads: int, pairs: int, rest: tuple[int, ...]) -> None:
    rows = torch.randn(heads * 2 * pairs, *rest)
    turned = torch.from_numpy(interleaved(rows.numpy(), heads))
    assert torch.equal(half_split(turned, heads), rows)


def test_the_reader_agrees_with_the_packages_reader(small: Path) -> None:
    theirs = gguf.GGUFReader(small)
    with GGUFFile(small) as ours:
        fields = {key: field for key, field in theirs.fields.items() if not key.startswith("GGUF.")}
        assert ours.metadata == {key: field.contents() for key, field in fields.items()}
        assert list(ours.tensors) == [tensor.name for tensor in theirs.tensors]
        for tensor in theirs.tensors:
            mine = ours.tensors[tensor.name]
            assert mine.shape == tuple(reversed(tensor.shape.tolist()))
            assert ours.array(mine).tobytes() == tensor.data.tobytes()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_tokenizer_is_the_one_written(small: Path, tokenizer: Tokenizer, text: str) -> None:
    with GGUFFile(small) as file:
        again = Tokenizer.from_gguf(file)
    assert again.encode(text) == tokenizer.encode(text)
    assert again.decode(again.encode(text)) == tokenizer.decode(tokenizer.encode(text))
    assert (again.eos_ids[0], again.bos_id, again.chat_template) == (2, 1, tokenizer.chat_template)
    assert again.special_ids == tokenizer.special_ids


@pytest.mark.parametrize(
    ("pre", "text", "pieces"),
    [("smollm", "in 2024", ["in", " ", "2", "0", "2", "4"]), ("gpt-2", "in 2024", ["in", " 2024"]),
     ("llama-bpe", "in 2024 I'M", ["in", " ", "202", "4", " I", "'M"]),
     ("qwen2", "in 2024 I'M", ["in", " ", "2", "0", "2", "4", " I", "'M"]),
     ("qwen2", "a.b()\n\n  c", ["a", ".b", "()\n\n", " ", " c"])],
)  # fmt: skip
def test_text_is_split_by_the_named_rule(
    pre: str, text: str, pieces: list[str], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = write_gguf(lively(SHAPES["llama, tied, wide heads"]), tokenizer, tmp_path / "m.gguf", pre=pre)
    with GGUFFile(path) as file:
        split = Tokenizer.from_gguf(file).backend.pre_tokenizer.pre_tokenize_str(text)
    assert [text[start:end] for _, (start, end) in split] == pieces


def test_an_unknown_splitting_rule_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = write_gguf(lively(LLAMA), tokenizer, tmp_path / "m.gguf", pre="novel")
    with pytest.raises(TokenizerError, match=r"'novel'.*smollm"):
        labkit.load(path)


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [({"llama__expert_count": 8}, ConfigError, "expert_count = '8'"),
     ({"llama__block_count": 3}, WeightsError, r"blk\.2\..* is missing"),
     ({"llama__block_count": 1}, WeightsError, r"unexpected tensor 'blk\.1"),
     ({"llama__block_count": 10**9}, ConfigError, "block_count"),
     ({"llama__embedding_length": 32}, WeightsError, r"token_embd\.weight has shape \[410, 64\].*\[410, 32\]"),
     ({"llama__attention__head_count": 3}, ConfigError, "num_heads 3"),
     ({"llama__vocab_size": 300}, WeightsError, r"\[300, 64\]"),
     ({"llama__rope__dimension_count": 8}, ConfigError, "rope.dimension_count = 8")],
)  # fmt: skip
def test_contradictions_are_named(
    metadata: dict[str, int], error: type[LabkitError], message: str, small: Path, tmp_path: Path
) -> None:
    """Overwrite one number of the metadata in place."""
    data = bytearray(small.read_bytes())
    for name, value in metadata.items():
        key = name.replace("__", ".").encode()
        at = data.find(key)
        if at < 0:
            pytest.fail("the writer always writes this key") if "expert" not in name else None
            data = _with_key(data, key, value)
        else:
            struct.pack_into("<I", data, at + len(key) + 4, value)
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(error, match=message), GGUFFile(tmp_path / "m.gguf") as file:
        load_gguf(file)


def _with_key(data: bytearray, key: bytes, value: int) -> bytearray:
    """One more number in front of the metadata, padded so that the tensors stay aligned."""
    entry = struct.pack("<Q", len(key)) + key + struct.pack("<II", 4, value)
    filler = b"general.filler"
    room = -(len(entry) + 8 + len(filler) + 4 + 8) % 32
    entry += struct.pack("<Q", len(filler)) + filler + struct.pack("<IQ", 8, room) + b" " * room
    (count,) = struct.unpack_from("<Q", data, 16)
    return data[:16] + struct.pack("<Q", count + 2) + entry + data[24:]


@pytest.mark.parametrize(
    "content", [b"", b"GGUF", b"GGUF\x03\0\0\0", b"PK\x03\x04" + b"\0" * 90, b"GGUF\x01\0\0\0" + b"\0" * 90,
                b"GGUF\0\0\0\x03" + b"\0" * 90, b"GGUF\x03\0\0\0" + b"\xff" * 90]
)  # fmt: skip
def test_what_is_no_gguf_file_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(WeightsError, match=r"m\.gguf"):
        labkit.load(tmp_path / "m.gguf")


def test_tensors_that_share_bytes_are_refused(small: Path, tmp_path: Path) -> None:
    """A small file could otherwise announce a huge model, every tensor the same few bytes."""
    data = bytearray(small.read_bytes())
    with GGUFFile(small) as file:
        tensors = list(file.tensors.values())
    for tensor in tensors:
        name = struct.pack("<Q", len(tensor.name)) + tensor.name.encode()
        struct.pack_into("<Q", data, data.find(name) + len(name) + 4 + 8 * len(tensor.shape) + 4, 0)
    begin, largest = min(tensor.offset for tensor in tensors), max(tensor.size for tensor in tensors)
    (tmp_path / "m.gguf").write_bytes(data[: begin + largest])
    with pytest.raises(WeightsError, match="share their bytes"):
        labkit.load(tmp_path / "m.gguf")


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_truncated_file_is_never_a_model(small: Path, tmp_path: Path, data: st.DataObject) -> None:
    whole = small.read_bytes()
    path = tmp_path / "cut.gguf"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(WeightsError, match=r"cut\.gguf"):
        labkit.load(path, device="cpu")


@given(data=st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_corrupt_bytes_give_a_model_or_a_clear_error(
    small: Path, tmp_path: Path, data: st.DataObject, bounded_memory: None
) -> None:
    """Damage anywhere before the tensors' data, where it can mislead; counts and lengths made absurd among it."""
    broken = bytearray(small.read_bytes())
    head = broken.find(b"\0" * 64) if sys.byteorder == "little" else 0
    head = head if head > 0 else 14_000
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, head) | st.integers(0, 1500))
        new = data.draw(
            st.binary(min_size=1, max_size=1) | st.sampled_from([b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f"])
        )
        broken[where : where + len(new)] = new
    path = tmp_path / "broken.gguf"
    path.write_bytes(broken)
    with suppress(LabkitError):
        lm = labkit.load(path, device="cpu")
        tokens = torch.tensor(lm.tokenizer.encode("abc")[:5])
        assert lm.model(tokens, torch.arange(len(tokens))).shape[1] == lm.config.hidden_size
