"""The ladder: which rung, why, and the promise that its sizes fit."""

import pytest
import torch

from labkit import lab, machine
from labkit.errors import SetupError
from labkit.lab.rung import (
    CPU,
    GIB,
    LARGE_GPU,
    LARGE_GPU_BYTES,
    RUNGS,
    SIZES,
    SMALL_GPU,
    SMALLEST_GPU_BYTES,
    choose,
)
from labkit.machine import Gpu
from labkit.model.presets import preset


def gpu(gib: float, capability: tuple[int, int] = (9, 0)) -> Gpu:
    return Gpu("Test GPU", int(gib * GIB), capability)


@pytest.mark.parametrize(
    ("gpus", "name"),
    [
        ([], CPU),
        ([gpu(4)], CPU),
        ([gpu(8)], SMALL_GPU),
        ([gpu(15.7)], SMALL_GPU),
        ([gpu(23.6)], SMALL_GPU),
        ([gpu(39.5)], LARGE_GPU),
        ([gpu(139)], LARGE_GPU),
        ([gpu(8), gpu(139)], SMALL_GPU),
    ],
)
def test_memory_of_the_first_gpu_decides(gpus: list[Gpu], name: str) -> None:
    found = choose(gpus)
    assert found.name == name
    assert found.device == ("cpu" if name == CPU else "cuda")
    assert found.sizes == SIZES[name]


@pytest.mark.parametrize(
    ("capability", "dtype"), [((7, 5), torch.float16), ((8, 0), torch.bfloat16), ((9, 0), torch.bfloat16)]
)
def test_a_gpu_computes_in_a_type_it_is_fast_at(capability: tuple[int, int], dtype: torch.dtype) -> None:
    assert choose([gpu(16, capability)]).dtype == dtype


def test_the_cpu_computes_in_float32() -> None:
    assert choose([]).dtype == torch.float32


def test_the_reason_tells_the_hardware_and_the_memory() -> None:
    assert "Test GPU has 16 GiB" in choose([gpu(16)]).reason
    assert "no GPU" in choose([]).reason
    assert "less than the 6 GiB" in choose([gpu(4)]).reason


def test_an_override_is_obeyed_and_told() -> None:
    found = choose([gpu(80)], "cpu")
    assert (found.name, found.device, found.dtype) == (CPU, "cpu", torch.float32)
    assert "LABKIT_RUNG" in found.reason
    assert "80 GiB" in found.reason
    assert choose([gpu(16)], LARGE_GPU).sizes == SIZES[LARGE_GPU]


def test_an_override_that_changes_nothing_is_not_mentioned() -> None:
    assert choose([], CPU) == choose([])


@pytest.mark.parametrize("wanted", ["gpu", "CPU", "huge"])
def test_an_unknown_rung_is_refused_with_the_choices(wanted: str) -> None:
    with pytest.raises(SetupError, match=f"{wanted}.*cpu, small-gpu, large-gpu"):
        choose([gpu(16)], wanted)


@pytest.mark.parametrize("wanted", [SMALL_GPU, LARGE_GPU])
def test_a_gpu_rung_without_a_gpu_is_refused(wanted: str) -> None:
    with pytest.raises(SetupError, match=r"no GPU.*doctor"):
        choose([], wanted)


def test_rung_reads_the_machine_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpus", lambda: (gpu(80),))
    monkeypatch.delenv("LABKIT_RUNG", raising=False)
    assert lab.rung().name == LARGE_GPU
    monkeypatch.setenv("LABKIT_RUNG", SMALL_GPU)
    assert lab.rung().name == SMALL_GPU


@pytest.mark.parametrize(("name", "memory"), [(SMALL_GPU, SMALLEST_GPU_BYTES), (LARGE_GPU, LARGE_GPU_BYTES)])
def test_the_largest_experiment_fits_the_smallest_gpu_of_its_rung(name: str, memory: int) -> None:
    """Weights and the KV cache of the largest batch at full length, in 16 bits, with a fifth left for the rest."""
    sizes = SIZES[name]
    shape = preset(sizes.shape)
    tokens = max(sizes.batch_sizes) * (max(sizes.prompt_tokens) + sizes.output_tokens)
    assert shape.weight_bytes(2) + tokens * shape.kv_bytes_per_token(2) <= 0.8 * memory


@pytest.mark.parametrize("name", RUNGS)
def test_sweeps_ascend_and_fit_the_models(name: str) -> None:
    sizes = SIZES[name]
    assert list(sizes.batch_sizes) == sorted(set(sizes.batch_sizes))
    assert list(sizes.prompt_tokens) == sorted(set(sizes.prompt_tokens))
    longest = max(sizes.prompt_tokens) + sizes.output_tokens
    assert longest <= min(preset(sizes.shape).max_positions, preset(sizes.model).max_positions)


def test_it_shows_every_size_as_text_and_as_html() -> None:
    found = choose([gpu(16)])
    bundle = found._repr_mimebundle_()
    for value in ("small-gpu", "bfloat16", "qwen3-0.6b", "1, 4, 16, 32", found.reason):
        assert value in repr(found)
        assert value in bundle["text/html"]
    assert bundle["text/plain"] == repr(found)


def test_a_name_with_markup_is_shown_as_it_is() -> None:
    found = choose([Gpu("<b>GPU</b>", 16 * GIB, (8, 0))])
    assert "<b>GPU" not in found._repr_mimebundle_()["text/html"]
