"""Weights in Hugging Face folders: `config.json` beside one `model.safetensors`, or several and their index.

Every name and shape is checked against the configuration before any memory is taken, then tensors are copied
one by one into the fused parameters: peak memory is the model and one tensor. What does not fit is an error
that names file, tensor and remedy; there is no partial model. Pickled weights (`.bin`, `.pt`) can run code
when opened and are never read.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from labkit.errors import ConfigError, WeightsError
from labkit.model.config import ModelConfig
from labkit.model.files import new_folder
from labkit.model.hf_config import from_hf, read_json, to_hf
from labkit.model.parts import Assembly, Part, parts
from labkit.model.tokenizer import Tokenizer
from labkit.model.transformer import Transformer

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
AGAIN = "download or export it again"

_FLOATS = {"F64", "F32", "F16", "BF16"}
_DTYPE_NAMES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


def load_folder(
    folder: str | Path, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
) -> Transformer:
    """The model in a Hugging Face folder, on `device`, converted to `dtype`.

    Raises ConfigError for a model labkit does not implement, WeightsError for files that do not hold that
    model.
    """
    folder = Path(folder)
    config = from_hf(read_json(folder / "config.json"), str(folder / "config.json"))
    try:
        homes = _homes(folder, config)
        assembly = Assembly(config, device, dtype)
        for path, chosen in homes.items():
            with safe_open(path, framework="pt") as file:
                for part in chosen:
                    assembly.fill(part, file.get_tensor(part.hf_name))
    except SafetensorError as error:
        raise WeightsError(
            f"a weight file in {folder} became unreadable while loading ({error}): {AGAIN}"
        ) from error
    return assembly.finished()


def save_folder(
    model: Transformer, tokenizer: Tokenizer | None, folder: str | Path, dtype: torch.dtype | None = None
) -> Path:
    """Write a model in the Hugging Face layout, as `dtype` (default: its own), and its tokenizer if there is
    one.

    The folder appears whole or not at all; a model folder already there is replaced. Raises ConfigError for a
    shape the layout cannot express, WeightsError if the folder holds something other than a model or cannot
    be written.
    """
    dtype = model.dtype if dtype is None else dtype
    if dtype not in _DTYPE_NAMES:
        raise WeightsError(f"cannot save as {dtype}: one of {', '.join(map(str, _DTYPE_NAMES))}")
    data = to_hf(model.config) | {"dtype": _DTYPE_NAMES[dtype]}
    if tokenizer is not None:
        data |= {"bos_token_id": tokenizer.bos_id, "eos_token_id": list(tokenizer.eos_ids) or None}
    parameters = dict(model.named_parameters())
    tensors = {
        part.hf_name: parameters[part.parameter][part.start : part.start + part.shape[0]].detach().to("cpu",
        dtype).clone() for part in parts(model.config)
    }  # fmt: skip
    with new_folder(Path(folder), marker="config.json") as target:
        (target / "config.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        save_file(tensors, target / SINGLE, metadata={"format": "pt"})
        if tokenizer is not None:
            tokenizer.save(target)
    return Path(folder)


def _homes(folder: Path, config: ModelConfig) -> dict[Path, list[Part]]:
    """Which parts to read from which file, after checking that every file holds what the configuration says."""
    wanted = {part.hf_name: part for part in parts(config)}
    homes: dict[Path, list[Part]] = {}
    for path, names in _weight_files(folder).items():
        shapes = _shapes(path)
        for name in shapes.keys() if names is None else names:
            if name not in shapes:
                raise WeightsError(
                    f"{path}: tensor {name} is missing though the index puts it there: {AGAIN}"
                )
            part = wanted.pop(name, None)
            if part is not None:
                _check_tensor(path, part, *shapes[name])
                homes.setdefault(path, []).append(part)
            elif not _harmless(name, config):
                raise WeightsError(
                    f"{path}: unexpected tensor {name}: config.json describes a model without it; {AGAIN}"
                )
    if wanted:
        some = ", ".join(list(wanted)[:3])
        raise WeightsError(f"{folder}: {len(wanted)} tensors are missing, such as {some}: {AGAIN}")
    return homes


def _check_tensor(path: Path, part: Part, dtype: str, shape: tuple[int, ...]) -> None:
    if shape != part.shape:
        raise WeightsError(
            f"{path}: tensor {part.hf_name} has shape {list(shape)}, config.json asks for {list(part.shape)}: "
            "config and weights are from different models"
        )
    if dtype not in _FLOATS:
        raise WeightsError(
            f"{path}: tensor {part.hf_name} has type {dtype}; labkit reads {', '.join(sorted(_FLOATS))}: "
            "choose a checkpoint that is not quantized"
        )


def _harmless(name: str, config: ModelConfig) -> bool:
    """Tensors that can be ignored: derived rotary tables, and the LM head where it is the embedding."""
    return name.endswith("rotary_emb.inv_freq") or (name == "lm_head.weight" and config.tie_embeddings)


def _shapes(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Type and shape of every tensor in a safetensors file, from its header alone."""
    if not path.is_file():
        raise WeightsError(f"{path} is missing: {AGAIN}")
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            return {name: (one.get_dtype(), tuple(one.get_shape())) for name, one in slices.items()}
    except (SafetensorError, OSError, ValueError) as error:
        raise WeightsError(f"{path} is truncated or corrupt ({error}): {AGAIN}") from error


def _weight_files(folder: Path) -> Mapping[Path, Iterable[str] | None]:
    """Each weight file with the tensors the index puts there; None: all that it holds."""
    if (folder / SINGLE).is_file():
        return {folder / SINGLE: None}
    if (folder / INDEX).is_file():
        return _indexed_files(folder)
    pickled = [path.name for suffix in ("bin", "pt", "pth") for path in sorted(folder.glob(f"*.{suffix}"))]
    if pickled:
        raise WeightsError(
            f"{folder} holds only pickled weights ({pickled[0]}), which can run code when opened: "
            "convert them to safetensors, or download the safetensors files of this model"
        )
    raise WeightsError(f"{folder} holds neither {SINGLE} nor {INDEX}: download the model's safetensors files")


def _indexed_files(folder: Path) -> dict[Path, list[str]]:
    path = folder / INDEX
    try:
        weight_map: Any = read_json(path).get("weight_map")
    except ConfigError as error:
        raise WeightsError(str(error)) from error
    if not isinstance(weight_map, dict) or not weight_map:
        raise WeightsError(f"{path} has no weight_map: {AGAIN}")
    files: dict[Path, list[str]] = {}
    for tensor, name in weight_map.items():
        if (
            not isinstance(name, str)
            or Path(name).name != name
            or "\\" in name
            or not name.endswith(".safetensors")
        ):
            raise WeightsError(
                f"{path}: tensor {tensor} is said to be in {str(name)[:80]!r}, "
                f"which is not a safetensors file of this folder: {AGAIN}"
            )
        files.setdefault(folder / name, []).append(tensor)
    return files
