"""Finding a Python: with any Python as the one that asks, and in plain words where there is none."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tools import bootstrap
from tools.setup.place import ROOT

BOOTSTRAP = ROOT / "tools" / "bootstrap.py"
posix = pytest.mark.skipif(os.name == "nt", reason="the fake Pythons are shell scripts")


def fake_python(folder: Path, name: str, reply: str) -> Path:
    """A program that answers as the Python `reply` describes ("3 9 yes": 3.9, with venv)."""
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "{reply}"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make the machine have these Pythons and no others: only(python3="3 9 yes")."""

    def have(**pythons: str) -> None:
        for name, reply in pythons.items():
            fake_python(tmp_path, name.replace("_", "."), reply)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(bootstrap.sys, "executable", "")

    return have


def test_the_python_that_asks_is_found_and_taken() -> None:
    pythons = bootstrap.found()
    assert pythons[0] == ([sys.executable], sys.version_info[:2], True)
    assert bootstrap.choose(pythons) == [sys.executable]


@posix
@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ({"python3": "3 11 yes"}, "python3"),
        ({"python3": "3 9 yes", "python3_12": "3 12 yes"}, "python3.12"),
        ({"python3": "3 14 yes", "python3_13": "3 13 yes"}, "python3.13"),
        ({"python3": "3 14 yes", "python3_11": "3 10 yes"}, "python3"),
        ({"python3": "3 12 no", "python3_11": "3 11 yes"}, "python3.11"),
        ({"python3": "garbage", "python": "3 11 yes"}, "python"),
        ({"python3": "3 9 yes"}, None),
        ({"python3": "3 12 no"}, None),
        ({}, None),
    ],
)
def test_the_best_python_is_chosen(only, pythons: dict[str, str], chosen: str | None) -> None:
    only(**pythons)
    assert bootstrap.choose(bootstrap.found()) == (chosen and [chosen])


@posix
@pytest.mark.parametrize(
    ("pythons", "words"),
    [
        (
            {"python3": "3 9 yes"},
            ["needs Python 3.11 or newer", "python3 is 3.9", "sudo apt install python3"],
        ),
        ({"python3": "3 12 no"}, ["Python 3.12", "without the venv module", "python3.12-venv"]),
        ({}, ["needs Python 3.11 or newer", "none at all"]),
    ],
)
def test_a_missing_python_is_explained(
    only, capsys: pytest.CaptureFixture[str], pythons, words: list[str]
) -> None:
    only(**pythons)
    assert bootstrap.main(["lab"]) == 1
    said = capsys.readouterr().err
    for word in words:
        assert word in said
    assert "Traceback" not in said


def test_a_program_that_is_no_python_is_passed_over(tmp_path: Path) -> None:
    assert bootstrap.answer([str(tmp_path / "nothing")]) is None
    assert bootstrap.answer([sys.executable, str(tmp_path / "no-such-script.py")]) is None


def test_old_pythons_can_read_the_file() -> None:
    """No syntax that came after Python 2.7: an old Python must get as far as the message."""
    text = BOOTSTRAP.read_text(encoding="utf-8")
    text.encode("ascii")
    for newer in ('f"', "f'", ":=", "->", " | None", "import annotations"):
        assert newer not in text.replace('"""', ""), newer
    compile(text, str(BOOTSTRAP), "exec", dont_inherit=True)


def test_unknown_commands_are_refused() -> None:
    reply = subprocess.run([sys.executable, str(BOOTSTRAP), "dance"], capture_output=True, text=True)
    assert reply.returncode == 2
    assert "invalid choice" in reply.stderr


@posix
def test_make_says_when_there_is_no_python(tmp_path: Path) -> None:
    make = "/usr/bin/make"
    if not os.access(make, os.X_OK):
        pytest.skip("this machine has no make")
    reply = subprocess.run(
        [make, "-C", str(ROOT), "lab", "PYTHON="],
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path), "SHELL": "/bin/sh"},
    )
    assert reply.returncode != 0
    assert "needs Python 3.11 or newer" in reply.stderr
