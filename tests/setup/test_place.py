"""Which environment is used, and what is said where it cannot be made."""

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import bootstrap
from tools.setup import __main__ as command
from tools.setup import place as places
from tools.setup.explain import SetupFailure
from tools.setup.place import (
    NEEDED,
    NEEDED_WITH_CUDA,
    Place,
    check_space,
    choose,
    clean_environ,
    ensure,
    make,
    version,
)


def test_without_conda_it_is_dot_venv(tmp_path: Path) -> None:
    assert choose({}, tmp_path) == Place(tmp_path / ".venv", ours=True)


@pytest.mark.parametrize("name", ["labkit", "/home/someone/envs/labkit"])
def test_an_active_conda_environment_named_labkit_is_used(name: str, tmp_path: Path) -> None:
    environ = {"CONDA_DEFAULT_ENV": name, "CONDA_PREFIX": "/home/someone/envs/labkit"}
    assert choose(environ, tmp_path) == Place(Path("/home/someone/envs/labkit"), ours=False)


@pytest.mark.parametrize(
    "environ", [{"CONDA_DEFAULT_ENV": "base", "CONDA_PREFIX": "/opt/conda"}, {"CONDA_DEFAULT_ENV": "labkit"}]
)
def test_other_conda_environments_are_left_alone(environ: dict[str, str], tmp_path: Path) -> None:
    assert choose(environ, tmp_path).folder == tmp_path / ".venv"


def test_other_projects_packages_are_kept_out() -> None:
    environ = clean_environ(
        {
            "PYTHONPATH": "/elsewhere",
            "PIP_TARGET": "/elsewhere",
            "PIP_INDEX_URL": "http://mirror",
            "HOME": "/h",
        }
    )
    assert "/elsewhere" not in environ.values()
    assert environ["PIP_INDEX_URL"] == "http://mirror"
    assert environ["PYTHONNOUSERSITE"] == "1"


def test_a_made_environment_starts_and_has_pip(made_once: Place) -> None:
    found = version(made_once)
    assert found is not None
    assert found >= (3, 11)


def test_a_half_made_environment_is_made_again(fresh: Place) -> None:
    shutil.rmtree(next(fresh.folder.glob("[Ll]ib/**/site-packages/pip")))
    assert version(fresh) is None
    ensure(fresh)
    assert version(fresh) is not None


def test_a_folder_that_is_something_else_is_not_deleted(tmp_path: Path) -> None:
    folder = tmp_path / ".venv"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(SetupFailure, match="not a virtual environment"):
        make(Place(folder, ours=True))
    assert (folder / "thesis.txt").exists()


def test_a_conda_environment_is_never_remade(tmp_path: Path) -> None:
    with pytest.raises(SetupFailure, match="conda install pip"):
        ensure(Place(tmp_path, ours=False))


@pytest.mark.skipif(os.name == "nt", reason="conda keeps its Python elsewhere on Windows")
def test_a_conda_environment_with_a_good_python_is_used_as_it_is(made_once: Place) -> None:
    before = sorted(path.name for path in made_once.folder.iterdir())
    ensure(Place(made_once.folder, ours=False))
    assert sorted(path.name for path in made_once.folder.iterdir()) == before


def test_a_python_newer_than_the_tested_ones_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    places.note_untested((3, 13))
    assert capsys.readouterr().out == ""
    places.note_untested((3, 14))
    assert "Python 3.14 is newer" in capsys.readouterr().out


def test_both_halves_agree_on_the_pythons() -> None:
    assert (bootstrap.OLDEST, bootstrap.NEWEST_TESTED) == (places.OLDEST, places.NEWEST_TESTED)


def test_an_old_conda_environment_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(places, "version", lambda _: (3, 9))
    with pytest.raises(SetupFailure, match=r"has Python 3\.9; labkit needs 3\.11"):
        ensure(Place(tmp_path, ours=False))


def with_free(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """Let the disk have `free` bytes free."""
    monkeypatch.setattr(places.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))


def test_a_full_disk_is_noticed_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_free(monkeypatch, NEEDED - 1)
    with pytest.raises(SetupFailure, match=r"Not enough disk space: 3\.0 GB free"):
        ensure(Place(tmp_path / ".venv", ours=True))
    assert not (tmp_path / ".venv").exists()


def test_a_disk_too_small_for_cuda_is_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setattr(places.sys, "platform", "linux")
    with_free(monkeypatch, NEEDED_WITH_CUDA - 1)
    check_space(tmp_path)
    assert "with CUDA takes about 8 GB" in capsys.readouterr().out
    with_free(monkeypatch, NEEDED_WITH_CUDA)
    check_space(tmp_path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("trouble", "status", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 1, "The disk is full"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/somewhere"),
            1,
            "Permission denied (/somewhere)",
        ),
        (SetupFailure("the reason"), 1, "the reason"),
        (KeyboardInterrupt(), 130, "the same command goes on from here"),
    ],
)
def test_every_failure_ends_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys, trouble: BaseException, status: int, words: str
) -> None:
    def fail(part: str) -> Place:
        raise trouble

    monkeypatch.setattr(command, "prepare", fail)
    assert command.main(["setup"]) == status
    said = capsys.readouterr()
    assert words in said.out + said.err


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot replace a process")
def test_lab_hands_its_arguments_to_launch(monkeypatch: pytest.MonkeyPatch, made_once: Place) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(command, "prepare", lambda part: made_once)
    monkeypatch.setattr(command.os, "execve", lambda path, arguments, environ: started.append(arguments))
    monkeypatch.setattr(command, "call", lambda arguments, folder, environ: 0)  # execve does not come back
    monkeypatch.chdir(Path.cwd())
    command.main(["lab", "--no-browser", "--port", "9999"])
    assert started == [[str(made_once.python), "-m", "labkit", "launch", "--no-browser", "--port", "9999"]]
