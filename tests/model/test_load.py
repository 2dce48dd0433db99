"""`labkit.load`: by folder, file, shipped name and hub name; and what it says when there is no such model."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import labkit
from labkit.errors import MissingModelError, SetupError, TokenizerError, WeightsError
from labkit.model import hub
from labkit.model.config import ModelConfig
from labkit.model.parts import Assembly
from labkit.model.presets import preset
from labkit.model.tokenizer import Tokenizer
from labkit.model.transformer import Transformer
from labkit.model.weights import save_folder

SHAPE = ModelConfig(
    vocab_size=410, hidden_size=16, intermediate_size=24, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=8,
    max_positions=64,
)  # fmt: skip


@pytest.fixture
def folder(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """A small model with its tokenizer, saved."""
    return save_folder(Transformer.random(SHAPE), tokenizer, tmp_path / "model")


@torch.no_grad()
def test_a_folder_is_a_language_model(folder: Path) -> None:
    lm = labkit.load(folder, device="cpu")
    assert lm.config == SHAPE == lm.model.config
    assert (lm.model.dtype, lm.model.device.type) == (torch.float32, "cpu")
    tokens = torch.tensor(lm.tokenizer.encode("The quick brown fox"))
    assert lm.model.logits(lm.model(tokens, torch.arange(len(tokens)))).shape == (
        len(tokens),
        SHAPE.vocab_size,
    )
    assert re.search(r"LanguageModel\('.*model', 0\.0 M parameters, float32 on cpu\)", repr(lm))
    assert labkit.load(str(folder), dtype=torch.bfloat16, device="cpu").model.dtype == torch.bfloat16


def test_the_gpu_is_the_default_where_there_is_one(folder: Path) -> None:
    lm = labkit.load(folder)
    on_gpu = torch.cuda.is_available()
    assert lm.model.device.type == ("cuda" if on_gpu else "cpu")
    assert lm.model.dtype == (torch.bfloat16 if on_gpu else torch.float32)


@pytest.mark.parametrize("device", ["nonsense", "cuda:99", "xpu"])
def test_a_device_that_is_not_there_is_named(folder: Path, device: str) -> None:
    with pytest.raises(SetupError, match=f"{device}.*cpu"):
        labkit.load(folder, device=device)


def test_a_model_without_room_is_explained(bounded_memory: None) -> None:
    with pytest.raises(WeightsError, match=r"no room on cpu for 16\.1 GB of weights as torch\.bfloat16"):
        Assembly(replace(preset("llama-3.1-8b"), max_positions=64), "cpu", torch.bfloat16)


def test_a_tokenizer_of_another_model_is_refused(folder: Path) -> None:
    save_folder(Transformer.random(ModelConfig(100, 16, 24, 1, 2, 2, 8)), None, folder.parent / "other")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(folder.parent / "other" / name, folder / name)
    with pytest.raises(TokenizerError, match="different models"):
        labkit.load(folder)


@pytest.mark.parametrize(
    "name", ["nonsense", "/no/such/folder", "../x/y", "a/b/c", "", "model.gguf", "org/na..me"]
)
def test_an_unknown_name_lists_what_there_is(name: str) -> None:
    with pytest.raises(MissingModelError, match=r"tiny.*smollm2-135m.*folder.*gguf.*hub"):
        labkit.load(name)


def test_a_shipped_model_that_is_missing_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path))
    with pytest.raises(MissingModelError, match="labkit train"):
        labkit.load("tiny")


def test_shipped_models_are_found_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = folder.parent / "data"
    (data / "models").mkdir(parents=True)
    folder.rename(data / "models" / "tiny")
    monkeypatch.setenv("LABKIT_DATA", str(data))
    assert labkit.load("tiny", device="cpu").name == "tiny"


def test_a_hub_name_is_a_snapshot_without_pickles(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the hub: it has every file, and hands out those whose names match what is asked for."""
    from fnmatch import fnmatch

    (folder / "pytorch_model.bin").write_bytes(b"pickle")

    def snapshot_download(name: str, allow_patterns: list[str]) -> str:
        assert name == "someone/a-model"
        target = folder.parent / "snapshot"
        target.mkdir()
        for path in folder.iterdir():
            if any(fnmatch(path.name, pattern) for pattern in allow_patterns):
                shutil.copy(path, target)
        return str(target)

    monkeypatch.setattr(hub, "snapshot_download", snapshot_download)
    lm = labkit.load("someone/a-model", device="cpu")
    assert lm.name == "someone/a-model"
    assert not list((folder.parent / "snapshot").glob("*.bin"))


def test_offline_and_absent_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The real client, told that there is no network, with an empty cache."""
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(MissingModelError, match=r"someone/absent.*network.*tiny"):
        labkit.load("someone/absent")


def test_a_hub_model_in_the_cache_needs_no_network(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The layout of the hub's own cache: refs/main names a snapshot."""
    import huggingface_hub
    import huggingface_hub.constants

    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "cache" / "models--someone--a-model"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    shutil.copytree(folder, repository / "snapshots" / commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)

    def cached(name: str, **rest: object) -> str:
        return str(huggingface_hub.snapshot_download(name, cache_dir=tmp_path / "cache", **rest))

    monkeypatch.setattr(hub, "snapshot_download", cached)
    assert labkit.load("someone/a-model", device="cpu").config == SHAPE


def test_a_hub_model_with_pickles_only_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: str(tmp_path))
    with pytest.raises(WeightsError, match=r"someone/old.*safetensors"):
        labkit.load("someone/old")


def test_whatever_goes_wrong_at_the_hub_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> str:
        raise ConnectionResetError("reset by peer")

    monkeypatch.setattr(hub, "snapshot_download", broken)
    with pytest.raises(MissingModelError, match="reset by peer"):
        labkit.load("someone/unlucky")
