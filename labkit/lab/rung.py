"""The ladder: which rung this machine stands on, and the sizes that follow for every experiment.

One notebook serves a laptop and a data-centre GPU: it asks `rung()` once and takes models, batch sizes and
prompt lengths from the answer. A rung promises that each experiment, the largest batch at the longest
prompt too, fits in memory and ends in seconds to a minute; it says nothing about how large the effects are.
`LABKIT_RUNG` overrides the choice, to see a smaller machine's course on a larger one.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit import machine
from labkit.errors import SetupError
from labkit.lab.card import Card, table, text_table
from labkit.machine import Gpu

if TYPE_CHECKING:
    import torch

CPU, SMALL_GPU, LARGE_GPU = "cpu", "small-gpu", "large-gpu"
RUNGS = (CPU, SMALL_GPU, LARGE_GPU)
GIB = 2**30
_HEADER = ("what", "on this rung")
SMALLEST_GPU_BYTES = 6 * GIB
"""Below this, the shapes for GPUs leave no room for the KV cache, and the CPU's sizes teach more."""
LARGE_GPU_BYTES = 36 * GIB
"""From here an 8 B model in 16 bits leaves more room for KV cache than it takes: sold as 40 GB and more."""
FIRST_BFLOAT16 = (8, 0)
"""The compute capability from which bfloat16 runs at full speed."""


@dataclass(frozen=True)
class Sizes:
    """What the experiments of a rung use.

    `model`: the real checkpoint; `widget_model`: the one behind knobs that must answer at once; `shape`:
    the preset for timing with random weights; `batch_sizes`, `prompt_tokens` (ascending) and
    `output_tokens` for sweeps; `repeats` of each timing; `requests` in a workload.
    """

    model: str
    widget_model: str
    shape: str
    batch_sizes: tuple[int, ...]
    prompt_tokens: tuple[int, ...]
    output_tokens: int
    repeats: int
    requests: int


SIZES: dict[str, Sizes] = {
    CPU: Sizes(
        model="smollm2-135m", widget_model="tiny", shape="smollm2-135m",
        batch_sizes=(1, 2, 4, 8), prompt_tokens=(16, 64, 256), output_tokens=32, repeats=5, requests=16,
    ),
    SMALL_GPU: Sizes(
        model="smollm2-135m", widget_model="tiny", shape="qwen3-0.6b",
        batch_sizes=(1, 4, 16, 32), prompt_tokens=(64, 256, 512), output_tokens=64, repeats=10, requests=64,
    ),
    LARGE_GPU: Sizes(
        model="smollm2-135m", widget_model="smollm2-135m", shape="llama-3.1-8b",
        batch_sizes=(1, 8, 32, 64), prompt_tokens=(128, 512, 1024), output_tokens=128, repeats=20,
        requests=256,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Rung:
    """Where a machine stands: the rung's `name`, torch `device`, `precision` (a dtype's name), and why."""

    name: str
    device: str
    precision: str
    reason: str
    sizes: Sizes

    @property
    def dtype(self) -> "torch.dtype":
        """The torch dtype that models load in here."""
        import torch

        return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[
            self.precision
        ]

    def summary(self) -> str:
        """The rung and its reason in a line."""
        return f"{self.name}: {self.reason}"

    def rows(self) -> list[tuple[str, ...]]:
        """Label and value of everything that follows from the rung."""
        sizes = self.sizes
        return [
            ("rung of the ladder", self.name),
            ("device", f"{self.device}, {self.precision}"),
            ("real model", sizes.model),
            ("model behind widgets", sizes.widget_model),
            ("shape for timing", sizes.shape),
            ("batch sizes", _listed(sizes.batch_sizes)),
            ("prompt tokens", _listed(sizes.prompt_tokens)),
            ("output tokens", str(sizes.output_tokens)),
            ("repeats", str(sizes.repeats)),
            ("requests", str(sizes.requests)),
        ]

    def __repr__(self) -> str:
        return f"{self.reason}\n{text_table(_HEADER, self.rows())}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = Card(self.reason, html=table(_HEADER, self.rows())).html()
        return {"text/html": html, "text/plain": repr(self)}


def rung() -> Rung:
    """The rung of this machine, or the one that `LABKIT_RUNG` names.

    Raises SetupError if that is no rung, or needs a GPU that is not there.
    """
    return choose(machine.gpus(), os.environ.get("LABKIT_RUNG", ""))


def choose(gpus: Sequence[Gpu], wanted: str = "") -> Rung:
    """The rung for a machine with these GPUs, of which the first counts; `wanted` overrides it."""
    name, reason = _fitting(gpus)
    if wanted and wanted != name:
        name, reason = (
            _overridden(wanted, gpus),
            f"Rung {wanted}, because LABKIT_RUNG says so. By itself: {reason}",
        )
    if name == CPU:
        return Rung(CPU, "cpu", "float32", reason, SIZES[CPU])
    precision = "bfloat16" if gpus[0].capability >= FIRST_BFLOAT16 else "float16"
    return Rung(name, "cuda", precision, reason, SIZES[name])


def _fitting(gpus: Sequence[Gpu]) -> tuple[str, str]:
    """The rung by memory, and the reason in words."""
    if not gpus:
        return CPU, "Torch sees no GPU, so everything runs on the CPU, at sizes that answer in seconds."
    gpu = gpus[0]
    has = f"{gpu.name} has {gpu.memory_bytes / GIB:.0f} GiB"
    if gpu.memory_bytes < SMALLEST_GPU_BYTES:
        return (
            CPU,
            f"{has}, less than the {SMALLEST_GPU_BYTES // GIB} GiB that GPU sizes need: the CPU is used.",
        )
    if gpu.memory_bytes < LARGE_GPU_BYTES:
        return SMALL_GPU, f"{has}: room for small models in 16 bits and their KV cache."
    return LARGE_GPU, f"{has}: room for an 8 B model in 16 bits and a large KV cache."


def _overridden(wanted: str, gpus: Sequence[Gpu]) -> str:
    if wanted not in RUNGS:
        raise SetupError(f"LABKIT_RUNG is {wanted!r}: set it to one of {', '.join(RUNGS)}, or unset it")
    if wanted != CPU and not gpus:
        raise SetupError(f"LABKIT_RUNG is {wanted!r} but torch sees no GPU: unset it, or run `labkit doctor`")
    return wanted


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number:,}" for number in numbers)
