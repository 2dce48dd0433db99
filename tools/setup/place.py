"""Which environment labkit is installed into: an active conda environment named labkit, otherwise .venv."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.setup.explain import SetupFailure
from tools.setup.say import say, step

ROOT = Path(__file__).resolve().parents[2]
OLDEST, NEWEST_TESTED = (3, 11), (3, 13)
GIGABYTE = 10**9
NEEDED = 3 * GIGABYTE  # measured: 2.3 GB installed with a CPU build of torch, plus the downloads
NEEDED_WITH_CUDA = 8 * GIGABYTE


@dataclass(frozen=True)
class Place:
    """An environment: its folder, and whether set-up may delete and remake it."""

    folder: Path
    ours: bool

    @property
    def python(self) -> Path:
        """The environment's interpreter (conda on Windows keeps it at the top)."""
        if os.name != "nt":
            return self.folder / "bin" / "python"
        return self.folder / "Scripts" / "python.exe" if self.ours else self.folder / "python.exe"


def choose(environ: Mapping[str, str], root: Path = ROOT) -> Place:
    """The active conda environment if its name is labkit, else `root`/.venv."""
    name, prefix = environ.get("CONDA_DEFAULT_ENV", ""), environ.get("CONDA_PREFIX")
    if prefix and Path(name).name == "labkit":
        return Place(Path(prefix), ours=False)
    return Place(root / ".venv", ours=True)


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without what would mix other projects' packages into the environment."""
    dropped = (
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONSAFEPATH",
        "PYTHONDONTWRITEBYTECODE",
        "PIP_TARGET",
        "PIP_PREFIX",
    )
    kept = {name: value for name, value in environ.items() if name not in dropped}
    return kept | {"PYTHONNOUSERSITE": "1", "PIP_USER": "0"}


def version(place: Place) -> tuple[int, int] | None:
    """The version of the environment's Python, or None where it does not start or has no pip."""
    command = [str(place.python), "-c", "import pip, sys; print(*sys.version_info[:2])"]
    try:
        reply = subprocess.run(command, capture_output=True, text=True, env=clean_environ(os.environ))
        major, minor = reply.stdout.split()
    except (OSError, ValueError):
        return None
    return int(major), int(minor)


def check_space(folder: Path) -> None:
    """Raise SetupFailure where the disk cannot hold an environment; say so where CUDA builds may not fit."""
    free = shutil.disk_usage(folder).free
    if free < NEEDED:
        raise SetupFailure(
            f"Not enough disk space: {free / GIGABYTE:.1f} GB free at {folder}, and labkit's packages need about "
            f"{NEEDED / GIGABYTE:.0f} GB ({NEEDED_WITH_CUDA / GIGABYTE:.0f} GB with CUDA). Free some and run again."
        )
    if free < NEEDED_WITH_CUDA and sys.platform == "linux":
        say(
            f"note: {free / GIGABYTE:.1f} GB of disk free; PyTorch with CUDA takes about 8 GB, without it 3 GB"
        )


def make(place: Place) -> None:
    """Make the virtual environment `place` anew with the Python that runs this; a half-made one is replaced."""
    folder = place.folder
    if (
        folder.is_dir()
        and not (folder / "pyvenv.cfg").exists()
        and any(p.is_file() for p in folder.rglob("*"))
    ):
        raise SetupFailure(f"{folder} exists and is not a virtual environment. Move it away and run again.")
    with step(f"making {folder.name} with Python {sys.version.split()[0]} ({sys.executable})"):
        command = [sys.executable, "-m", "venv", "--clear", str(folder)]
        made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if made.returncode:
        raise SetupFailure(
            f"Python could not make a virtual environment in {folder}. It said:\n{made.stdout.strip()}"
        )


def note_untested(python: tuple[int, int]) -> None:
    """Say so where the only Python is newer than those that labkit is tested with."""
    if python > NEWEST_TESTED:
        say(f"note: Python {python[0]}.{python[1]} is newer than those labkit is tested with (3.11 to 3.13)")


def ensure(place: Place) -> None:
    """Leave `place` with a Python that starts, is new enough and has pip; raise SetupFailure where that fails."""
    known = version(place)
    if place.ours:
        if known is None or known < OLDEST:
            check_space(place.folder.parent)
            note_untested(sys.version_info[:2])
            make(place)
    elif known is None:
        raise SetupFailure(
            f"The conda environment {place.folder} has no working Python with pip: conda install pip."
        )
    elif known < OLDEST:
        raise SetupFailure(
            f"The conda environment labkit has Python {known[0]}.{known[1]}; labkit needs 3.11 or newer. "
            "Remake it: conda env remove -n labkit, then conda env create -f environment.yml"
        )
