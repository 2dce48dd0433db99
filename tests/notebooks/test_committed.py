"""The committed notebooks keep the course's rules."""

from pathlib import Path

import nbformat
import pytest

from tools.notebooks.rules import broken_rules
from tools.notebooks.tidy import tidy

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert {"00_start_here.ipynb", "01_what_is_slow.ipynb"} <= {path.name for path in NOTEBOOKS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_the_rules(path: Path) -> None:
    assert broken_rules(nbformat.read(path, as_version=4), path) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_tidy(path: Path) -> None:
    """Tidying it again changes nothing; if this fails: python -m tools.notebooks tidy notebooks/*.ipynb"""
    committed = nbformat.read(path, as_version=4)
    assert tidy(nbformat.read(path, as_version=4)) == committed


def test_the_folder_holds_only_what_a_learner_may_see() -> None:
    tracked = [path.name for path in FOLDER.iterdir() if not path.name.startswith((".", "__"))]
    assert [name for name in tracked if not name.endswith(".ipynb")] == []
