"""Scratch checkouts and environments for the set-up's tests; nothing here touches the real environment."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.setup.place import ROOT, Place

FILES = ("requirements.lock", "requirements-dev.lock", "pyproject.toml", "setup.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the files that decide what is installed."""
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A real virtual environment with nothing but pip in it; read only."""
    place = Place(tmp_path_factory.mktemp("once") / ".venv", ours=True)
    subprocess.run([sys.executable, "-m", "venv", str(place.folder)], check=True)
    return place


@pytest.fixture
def fresh(made_once: Place, tmp_path: Path) -> Place:
    """A copy of that environment which a test may damage."""
    folder = tmp_path / ".venv"
    shutil.copytree(made_once.folder, folder, symlinks=True)
    return Place(folder, ours=True)
