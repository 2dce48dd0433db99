"""What this machine is, in words and numbers: the line that must stand beside every measurement."""

import os
import platform
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True)
class Gpu:
    """One accelerator as torch sees it; memory in bytes."""

    name: str
    memory_bytes: int
    capability: tuple[int, int]


def cpu_name() -> str:
    """The processor's marketing name, or its architecture where the system does not tell."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def cpu_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_bytes() -> int | None:
    """Main memory in bytes, or None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


@cache
def gpus() -> tuple[Gpu, ...]:
    """The GPUs that torch can use, in its order; none where torch itself cannot be imported."""
    try:
        import torch
    except (ImportError, OSError):
        return ()
    if not torch.cuda.is_available():
        return ()
    found = (torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count()))
    return tuple(Gpu(p.name, p.total_memory, (p.major, p.minor)) for p in found)


def hardware() -> str:
    """One line that names the hardware a number was measured on."""
    memory = memory_bytes()
    cpu = f"{cpu_name()}, {cpu_cores()} cores" + (f", {memory / 2**30:.0f} GiB" if memory else "")
    return "; ".join([cpu, *(f"{gpu.name}, {gpu.memory_bytes / 2**30:.0f} GiB" for gpu in gpus())])


def versions() -> dict[str, str]:
    """Versions of what decides a measurement: Python, torch and the libraries beside it (absent ones left
    out).
    """
    found = {"python": sys.version.split()[0]}
    for package in ("labkit", "torch", "triton", "numpy", "transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
