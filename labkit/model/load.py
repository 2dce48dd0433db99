"""`labkit.load`: a model and its tokenizer, by a name, a folder, a GGUF file or a hub name."""

from dataclasses import dataclass
from pathlib import Path

import torch

from labkit.errors import MissingModelError, SetupError, TokenizerError
from labkit.model.config import ModelConfig
from labkit.model.gguf import GGUFFile, load_gguf
from labkit.model.hub import fetch, is_hub_name
from labkit.model.products import fastest
from labkit.model.smollm2 import SMOLLM2, smollm2_gguf
from labkit.model.tokenizer import Tokenizer
from labkit.model.transformer import Transformer
from labkit.model.weights import load_folder
from labkit.paths import data_folder

SHIPPED = ("tiny", "tiny-draft")


@dataclass(frozen=True)
class LanguageModel:
    """A transformer and the tokenizer it was trained with."""

    name: str
    model: Transformer
    tokenizer: Tokenizer

    @property
    def config(self) -> ModelConfig:
        """The model's shape."""
        return self.model.config

    def __repr__(self) -> str:
        size, kind = self.config.parameters, str(self.model.dtype).removeprefix("torch.")
        return f"LanguageModel({self.name!r}, {size / 1e6:,.1f} M parameters, {kind} on {self.model.device})"


def load(
    name: str | Path, *, device: str | torch.device | None = None, dtype: torch.dtype | None = None
) -> LanguageModel:
    """A language model, ready to generate.

    `name`: "tiny" or "tiny-draft" (shipped with labkit), "smollm2-135m" (fetched once), a Hugging Face
    folder, a `.gguf` file, or a hub name such as "Qwen/Qwen3-0.6B". `device`: default the GPU if there is
    one, else the CPU. `dtype`: default bfloat16 on a GPU, float32 on the CPU.

    Raises MissingModelError if it is not here and cannot be fetched, ConfigError if labkit does not implement
    it, WeightsError or TokenizerError if its files are broken, and SetupError if there is no such device.
    """
    device = _usable(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = dtype or (torch.float32 if device.type == "cpu" else torch.bfloat16)
    path = _found(name)
    if path.is_dir():
        model, tokenizer = load_folder(path, device, dtype), Tokenizer.from_folder(path)
    else:
        with GGUFFile(path) as file:
            model, tokenizer = load_gguf(file, device, dtype), Tokenizer.from_gguf(file)
    if tokenizer.vocab_size > model.config.vocab_size:
        raise TokenizerError(
            f"{path}: the tokenizer has {tokenizer.vocab_size} tokens, the model {model.config.vocab_size}: "
            "they are from different models"
        )
    if device.type == "cpu":
        for alone in (True, False):
            fastest(alone, dtype)  # found out now rather than in the first step, which may be timed
    return LanguageModel(str(name), model, tokenizer)


def _usable(device: str | torch.device) -> torch.device:
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:  # torch says either, by device and build
        raise SetupError(
            f"torch cannot use the device {str(device)!r} here: leave it out, or take device='cpu'"
        ) from error


def _found(name: str | Path) -> Path:
    """The folder or GGUF file that a name stands for, fetched if need be."""
    if name in SHIPPED:
        return _shipped(str(name))
    if name == SMOLLM2:
        return smollm2_gguf()
    path = Path(name or "no name").expanduser()
    if path.is_dir() or (path.is_file() and path.suffix == ".gguf"):
        return path
    if is_hub_name(str(name)):
        return fetch(str(name))
    raise MissingModelError(
        f"no model {str(name)!r}: give {', '.join(SHIPPED)}, {SMOLLM2}, the path of a Hugging Face folder or "
        "of a .gguf file, or a hub name such as Qwen/Qwen3-0.6B"
    )


def _shipped(name: str) -> Path:
    path = data_folder() / "models" / name
    if path.is_dir():
        return path
    raise MissingModelError(
        f"{path} is missing: get it with a checkout of labkit, or make it with `labkit train`"
    )
