"""Hugging Face folders: what is saved loads again, here and in transformers; what is broken is refused by name."""

import json
import random
import shutil
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM

from labkit.errors import ConfigError, LabkitError, WeightsError
from labkit.model.config import ModelConfig
from labkit.model.tokenizer import Tokenizer
from labkit.model.transformer import Transformer
from labkit.model.weights import load_folder, save_folder

SHAPE = ModelConfig(
    vocab_size=410, hidden_size=16, intermediate_size=24, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=8,
    max_positions=64,
)  # fmt: skip


def same(one: Transformer, other: Transformer) -> bool:
    """Whether two models have the same shape and the same weights, bit for bit."""
    pairs = zip(one.named_parameters(), other.named_parameters(), strict=True)
    return one.config == other.config and all(a == b and torch.equal(x, y) for (a, x), (b, y) in pairs)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small model, saved."""
    return save_folder(Transformer.random(SHAPE), None, tmp_path / "model")


@torch.no_grad()
def test_transformers_loads_what_labkit_saves(published: SimpleNamespace, tmp_path: Path) -> None:
    ours = load_folder(published.folder)
    save_folder(ours, None, tmp_path / "again")
    assert same(load_folder(tmp_path / "again"), ours)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "again").eval()
    tokens = torch.arange(40)[None] * 7 % ours.config.vocab_size
    torch.testing.assert_close(theirs(tokens).logits, published.model(tokens).logits, atol=1e-5, rtol=0)


def test_shards_are_one_model(published: SimpleNamespace, tmp_path: Path) -> None:
    published.model.save_pretrained(tmp_path, max_shard_size="30KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    assert same(load_folder(tmp_path), load_folder(published.folder))


@pytest.mark.parametrize("saved", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("loaded", [torch.float32, torch.bfloat16, torch.float16])
def test_types_are_converted_as_torch_does(saved: torch.dtype, loaded: torch.dtype, tmp_path: Path) -> None:
    model = Transformer.random(SHAPE)
    got = load_folder(save_folder(model, None, tmp_path / "m", dtype=saved), dtype=loaded)
    assert got.dtype == loaded
    assert torch.equal(got.embedding, model.embedding.to(saved).to(loaded))
    assert got.cos.dtype == torch.float32, "rotation stays exact whatever the weights are"


def test_a_loaded_model_is_ready_for_inference(folder: Path) -> None:
    model = load_folder(folder)
    assert not model.training
    assert not any(weight.requires_grad for weight in model.parameters())


def test_saving_replaces_a_model_but_nothing_else(folder: Path) -> None:
    other = Transformer.random(SHAPE, seed=1)
    assert same(load_folder(save_folder(other, None, folder)), other)
    precious = folder.parent / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years of work")
    with pytest.raises(WeightsError, match=r"precious.*config\.json"):
        save_folder(other, None, precious)
    assert (precious / "thesis.tex").read_text() == "years of work"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model", "precious"]


def test_a_save_that_fails_leaves_no_trace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_folder(folder)

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("labkit.model.weights.save_file", full_disk)
    with pytest.raises(WeightsError, match="No space left"):
        save_folder(Transformer.random(SHAPE, seed=2), None, folder)
    assert same(load_folder(folder), before)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_only_floating_point_types_are_saved(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="int8"):
        save_folder(Transformer.random(SHAPE), None, tmp_path / "m", dtype=torch.int8)


def test_a_tokenizer_is_saved_beside_the_model(tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_folder(Transformer.random(SHAPE), tokenizer, tmp_path / "m")
    data = json.loads((tmp_path / "m/config.json").read_text())
    assert (data["bos_token_id"], data["eos_token_id"]) == (1, [2, 0])
    assert Tokenizer.from_folder(tmp_path / "m").eos_ids == (2, 0)


def _edit(change: Callable[[dict[str, Tensor]], object]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return spoil


def _index(where: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        weight_map = dict.fromkeys(load_file(folder / "model.safetensors"), where)
        shutil.move(folder / "model.safetensors", folder / "elsewhere.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))

    return spoil


def _broken_index(content: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        _index("elsewhere.safetensors")(folder)
        (folder / "model.safetensors.index.json").write_text(content)

    return spoil


def _emptied(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")


def _pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'true'\ntR.")


def _truncated(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])


def _lying_header(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", 2**62) + path.read_bytes()[8:])


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "tensor missing": (_edit(lambda t: t.pop("model.norm.weight")), r"missing.*model\.norm\.weight"),
    "tensor too many": (_edit(lambda t: t.update(extra=torch.zeros(2))), "unexpected tensor extra"),
    "wrong shape": (
        _edit(lambda t: t.update({"model.norm.weight": torch.ones(17)})), r"model\.norm\.weight.*\[17\].*\[16\]",
    ),
    "transposed": (
        _edit(lambda t: t.update({"model.layers.0.mlp.up_proj.weight": torch.ones(16, 24)})), r"up_proj.*\[16, 24\]",
    ),
    "quantized": (
        _edit(lambda t: t.update({"model.norm.weight": torch.ones(16, dtype=torch.int8)})), r"model\.norm\.weight.*I8",
    ),
    "truncated": (_truncated, r"model\.safetensors.*truncated"),
    "lying header": (_lying_header, r"model\.safetensors.*corrupt"),
    "empty": (_emptied, r"model\.safetensors.*corrupt"),
    "only pickle": (_pickled, r"pytorch_model\.bin.*safetensors"),
    "nothing": (lambda f: (f / "model.safetensors").unlink(), "holds neither"),
    "index leaves the folder": (_index("../elsewhere.safetensors"), r"\.\./elsewhere"),
    "index names an absolute path": (_index("/tmp/elsewhere.safetensors"), "/tmp/elsewhere"),
    "index names a pickle": (_index("weights.bin"), r"weights\.bin"),
    "index names an absent file": (_index("absent.safetensors"), r"absent\.safetensors is missing"),
    "index is not JSON": (_broken_index("{"), r"index\.json is not readable"),
    "index is a list": (_broken_index("[]"), r"index\.json holds"),
    "index is empty": (_broken_index('{"weight_map": {}}'), r"index\.json has no weight_map"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named(folder: Path, damage: str) -> None:
    spoil, message = DAMAGE[damage]
    spoil(folder)
    with pytest.raises(WeightsError, match=f"(?s){message}") as caught:
        load_folder(folder)
    assert str(folder) in str(caught.value)


def test_known_harmless_tensors_are_ignored(folder: Path) -> None:
    before = load_folder(folder)
    _edit(lambda t: t.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}))(folder)
    assert same(load_folder(folder), before)


def test_a_folder_without_config_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.json does not exist"):
        load_folder(tmp_path)


@given(data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_corrupt_bytes_give_a_model_or_a_clear_error(
    folder: Path, data: st.DataObject, bounded_memory: None
) -> None:
    """Most of the damage goes where it can mislead: the header of the weights, and the configuration."""
    name = data.draw(st.sampled_from(["model.safetensors", "model.safetensors", "config.json"]))
    whole = (folder / name).read_bytes()
    broken = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(0, min(len(whole), 4000) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(
        st.sampled_from([len(whole), len(whole), random.Random(len(whole)).randrange(len(whole))])
    )
    (folder / name).write_bytes(broken[:end])
    with suppress(LabkitError):
        model = load_folder(folder)
        assert model(torch.arange(3), torch.arange(3)).shape == (3, model.config.hidden_size)
    (folder / name).write_bytes(whole)
