"""nbval, as `make test` calls it, with the project's settings: it passes what is right and catches what is not."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["--nbval-lax", "--nbval-current-env", "--nbval-sanitize-with", str(ROOT / "tests/nbval.cfg")]


CHECK = "# NBVAL_CHECK_OUTPUT\n"
SOUND = {
    "unmarked": ("import labkit\nprint('anything')", "something else"),
    "same": (f"{CHECK}print(2 * 21)", "42\n"),
    "address": (f"{CHECK}print(object())", "<object object at 0x7f00deadbeef>\n"),
    "duration": (f"{CHECK}print('took 1.25 ms')", "took 3 s\n"),
    "warning": (f"{CHECK}import sys\nprint('careful', file=sys.stderr)\nprint(1)", "1\n"),
    "state": ("import os\nassert 'labkit-tests-' in os.environ['LABKIT_STATE']", ""),
}
BROKEN = {
    "different": (f"{CHECK}print(2 * 21)", "43\n"),
    "error": ("1 / 0", ""),
    "error-in-interact": ("from ipywidgets import interact\n_ = interact(lambda n: 1 // 0, n=(0, 3, 1))", ""),
    "error-in-output": ("from ipywidgets import Output\nwith Output():\n    1 / 0", ""),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Every case as a notebook of one cell, all in one run of nbval; PASSED or FAILED by name."""
    folder = tmp_path_factory.mktemp("nbval")
    for name, (source, committed) in {**SOUND, **BROKEN}.items():
        outputs = [nbformat.v4.new_output("stream", name="stdout", text=committed)] if committed else []
        cell = nbformat.v4.new_code_cell(source, execution_count=1, outputs=outputs)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / f"{name}.ipynb")
    line = [
        sys.executable,
        "-m",
        "pytest",
        "-rA",
        "-p",
        "no:cacheprovider",
        "-c",
        str(ROOT / "pyproject.toml"),
    ]
    settings = ["--rootdir", str(ROOT), "-p", "conftest", *OPTIONS]
    done = subprocess.run(
        [*line, *settings, str(folder)], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    found = re.findall(r"^(PASSED|FAILED) \S*?([\w-]+)\.ipynb::", done.stdout, flags=re.MULTILINE)
    return {name: outcome for outcome, name in found}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_passes(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == "PASSED"


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_caught(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == "FAILED"
