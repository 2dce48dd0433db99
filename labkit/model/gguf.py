"""GGUF files, the format of llama.cpp: metadata, a directory of tensors, then their (often quantized) data.

The file is mapped, not read, and parsed by hand: every count, length and offset is checked against the file's
size before it is used, so a truncated or hostile file costs nothing but an error. Blocks of quantized weights
are expanded tensor by tensor, as the model is filled. Format: the GGUF page of the ggml project.
"""

import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import gguf
import numpy as np
import torch

from labkit.errors import WeightsError
from labkit.model.dequantize import dequantize
from labkit.model.gguf_config import config_from, with_rope_factors
from labkit.model.parts import Assembly, Part, parts
from labkit.model.transformer import Transformer

AGAIN = "download it again"

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_TENSORS = 100_000
_ROPE_FACTORS = "rope_freqs.weight"


@dataclass(frozen=True)
class GGUFTensor:
    """Where a tensor lies in the file, in bytes: `shape` is row-major, [out, in]; `kind` is its block format."""

    name: str
    shape: tuple[int, ...]
    kind: gguf.GGMLQuantizationType
    offset: int
    size: int


class GGUFFile:
    """An open GGUF file: `metadata` by key, and `tensors` by name. Close it, or use it in a `with`.

    Raises WeightsError naming the file if it is not GGUF, truncated, or says impossible things.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            with self.path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise WeightsError(f"{self.path} cannot be read ({error}): {AGAIN}") from error
        self._at = 0
        try:
            self.metadata, self.tensors = self._parse()
        except BaseException:
            self.close()
            raise

    def array(self, tensor: GGUFTensor) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """A copy of a tensor's bytes, as they are in the file."""
        return np.frombuffer(self._data, np.uint8, tensor.size, tensor.offset).copy()

    def close(self) -> None:
        """Let go of the file."""
        self._data.close()

    def __enter__(self) -> "GGUFFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _parse(self) -> tuple[dict[str, Any], dict[str, GGUFTensor]]:
        magic, version = self._take("4sI")
        if magic != b"GGUF" or version not in (2, 3):
            raise WeightsError(f"{self.path} is not a little-endian GGUF file of version 2 or 3: {AGAIN}")
        tensor_count, key_count = self._take("QQ")
        if tensor_count > _MOST_TENSORS or key_count > _MOST_TENSORS:
            raise self._broken(f"{tensor_count} tensors and {key_count} metadata keys")
        metadata = dict(self._pair() for _ in range(key_count))
        entries = [self._entry() for _ in range(tensor_count)]
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 1 <= alignment <= 2**20:
            raise self._broken(f"an alignment of {alignment!r}")
        start = -(-self._at // alignment) * alignment
        tensors = {entry[0]: self._tensor(*entry, start) for entry in entries}
        if len(tensors) != tensor_count:
            raise self._broken("two tensors of one name")
        if sum(tensor.size for tensor in tensors.values()) > len(self._data) - start:
            raise self._broken("tensors that share their bytes")
        return metadata, tensors

    def _pair(self) -> tuple[str, Any]:
        key = self._string()
        return key, self._value(*self._take("I"))

    def _value(self, kind: int, depth: int = 0) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY and depth < 4:
            return self._array(depth)
        if kind not in _SCALARS:
            raise self._broken(f"a metadata value of type {kind}")
        return self._take(_SCALARS[kind])[0]

    def _array(self, depth: int) -> list[Any]:
        kind, count = self._take("IQ")
        if kind in _SCALARS:
            return list(self._take(f"{count}{_SCALARS[kind]}"))
        if count > len(self._data) - self._at:
            raise self._broken(f"an array of {count} values")
        return [self._value(kind, depth + 1) for _ in range(count)]

    def _entry(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._string()
        (dimensions,) = self._take("I")
        if not 1 <= dimensions <= 4:
            raise self._broken(f"a tensor {name[:80]!r} with {dimensions} dimensions")
        shape = self._take(f"{dimensions}Q")
        kind, offset = self._take("IQ")
        return name, tuple(reversed(shape)), kind, offset

    def _tensor(self, name: str, shape: tuple[int, ...], kind: int, offset: int, start: int) -> GGUFTensor:
        try:
            format_ = gguf.GGMLQuantizationType(kind)
        except ValueError:
            raise WeightsError(
                f"{self.path}: tensor {name[:80]!r} is of an unknown type {kind}: update gguf, or {AGAIN}"
            ) from None
        block, block_bytes = gguf.GGML_QUANT_SIZES[format_]
        if shape[-1] % block or math.prod(shape) < 1:
            raise self._broken(f"a tensor {name[:80]!r} of shape {list(shape)} in blocks of {block}")
        size = math.prod(shape) // block * block_bytes
        if start + offset + size > len(self._data):
            raise self._broken(f"a tensor {name[:80]!r} that ends beyond the file")
        return GGUFTensor(name, shape, format_, start + offset, size)

    def _string(self) -> str:
        (length,) = self._take("Q")
        (text,) = self._take(f"{length}s")
        try:
            return str(text, "utf-8")
        except UnicodeDecodeError:
            raise self._broken("a name or text that is not UTF-8") from None

    def _take(self, form: str) -> tuple[Any, ...]:
        try:
            size = struct.calcsize("<" + form)
        except (struct.error, OverflowError, MemoryError):
            size = len(self._data) + 1
        if size > len(self._data) - self._at:
            raise WeightsError(f"{self.path} is truncated: it ends before what it announces; {AGAIN}")
        values = struct.unpack_from("<" + form, self._data, self._at)
        self._at += size
        return values

    def _broken(self, what: str) -> WeightsError:
        return WeightsError(f"{self.path} is corrupt: it announces {what}; {AGAIN}")


def load_gguf(
    file: GGUFFile, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
) -> Transformer:
    """The model in a GGUF file, on `device`, expanded to `dtype`.

    Raises ConfigError for a model labkit does not implement, WeightsError for a file that does not hold that model.
    """
    config = config_from(file.metadata, file.tensors, str(file.path))
    factors = file.tensors.get(_ROPE_FACTORS)
    if factors is not None:
        config = with_rope_factors(config, _expand(file, factors).float(), str(file.path))
    wanted = list(parts(config))
    _check(file, wanted)
    assembly = Assembly(config, device, dtype)
    for part in wanted:
        values = _expand(file, file.tensors[part.gguf_name])
        turned = config.family == "llama" and part.heads > 0
        assembly.fill(part, half_split(values, part.heads) if turned else values)
    return assembly.finished()


def half_split(rows: torch.Tensor, heads: int) -> torch.Tensor:
    """Query or key rows from llama.cpp's order to ours: `rows` [heads * D, ...] → the same shape.

    llama.cpp turns the neighbours (2i, 2i + 1) of a head; Hugging Face and labkit the pairs (i, i + D/2).
    """
    return rows.view(heads, -1, 2, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape)


def _expand(file: GGUFFile, tensor: GGUFTensor) -> torch.Tensor:
    return dequantize(file.array(tensor), tensor.kind, tensor.shape, f"{file.path}: tensor {tensor.name}")


def _check(file: GGUFFile, wanted: list[Part]) -> None:
    """Compare all names and shapes with what the metadata describe."""
    for part in wanted:
        tensor = file.tensors.get(part.gguf_name)
        if tensor is None:
            raise WeightsError(f"{file.path}: tensor {part.gguf_name} is missing: {AGAIN}")
        if tensor.shape != part.shape:
            raise WeightsError(
                f"{file.path}: tensor {tensor.name} has shape {list(tensor.shape)}, the metadata ask for "
                f"{list(part.shape)}: {AGAIN}"
            )
    unknown = file.tensors.keys() - {_ROPE_FACTORS, *(part.gguf_name for part in wanted)}
    if unknown:
        raise WeightsError(
            f"{file.path}: unexpected tensor {min(unknown)[:80]!r}: the metadata describe a model without it; "
            "load the model's Hugging Face folder"
        )
