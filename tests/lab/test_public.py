"""`from labkit import lab`: quick, complete, and names stay the functions they are."""

import subprocess
import sys
from types import ModuleType

import pytest

from labkit import lab


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout


def test_importing_lab_loads_no_heavy_library() -> None:
    heavy = ("matplotlib", "ipywidgets", "torch", "IPython", "numpy")
    loaded = run_python(
        f"import sys; from labkit import lab; print([m for m in {heavy!r} if m in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_no_figure_imports_pyplot() -> None:
    draw = "import sys; from labkit import lab; lab.bars({'a': 1}, unit='s').png()"
    assert run_python(f"{draw}; print('matplotlib.pyplot' in sys.modules)").strip() == "False"


@pytest.mark.parametrize("name", sorted(set(lab.__all__)))
def test_every_public_name_is_there_and_no_module(name: str) -> None:
    assert callable(getattr(lab, name))
    assert not isinstance(getattr(lab, name), ModuleType)


def test_a_function_is_not_replaced_by_the_module_of_its_name() -> None:
    imported = "import labkit.lab.quiz, labkit.lab.predict; from labkit import lab"
    code = f"{imported}; print(lab.quiz.__name__, lab.predict.__name__)"
    assert run_python(code).split() == ["quiz", "predict"]


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(AttributeError, match="no 'telescope'"):
        lab.telescope  # noqa: B018
