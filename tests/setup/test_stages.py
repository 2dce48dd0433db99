"""The test command: every stage runs, failures are counted, the exit status is right."""

import sys
from pathlib import Path

import pytest

from tools.setup import stages
from tools.setup.fetch import UNAVAILABLE
from tools.setup.place import Place
from tools.setup.stages import STAGES, Outcome, Stage, run_all, run_stage, summary, verdict

HERE = Place(Path(sys.prefix), ours=True)


def test_the_readmes_checks_are_all_there() -> None:
    commands = [" ".join(stage.arguments) for stage in STAGES]
    for wanted in (
        "ruff check",
        "ruff format --check",
        "mypy",
        "pytest tests",
        "pytest notebooks --nbval-lax",
    ):
        assert any(wanted in command for command in commands), wanted


@pytest.mark.parametrize("failing", range(3))
def test_a_failed_stage_does_not_hide_the_others(failing: int, capsys: pytest.CaptureFixture[str]) -> None:
    three = [
        Stage(f"stage{number}", "", ["-c", f"raise SystemExit({int(number == failing)})"])
        for number in range(3)
    ]
    assert run_all(HERE, three) == 1
    said = capsys.readouterr().out
    assert f"Failed: stage{failing}." in said
    assert said.count("passed in") == 2


def test_all_passed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all(HERE, [Stage("only", "", ["-c", "pass"])]) == 0
    assert "Everything passed." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "network", "required", "expected"),
    [
        (0, True, None, "passed"),
        (UNAVAILABLE, True, None, "skipped"),
        (UNAVAILABLE, True, "1", "failed"),
        (1, True, None, "failed"),
        (UNAVAILABLE, False, None, "failed"),
        (5, False, None, "failed"),
        (-9, False, None, "failed"),
    ],
)
def test_only_a_missing_network_is_excused(
    status: int, network: bool, required: str | None, expected: str
) -> None:
    stage = Stage("any", "", [], needs_network=network)
    environ = {"LABKIT_REQUIRE_SMOLLM2": required} if required else {}
    assert verdict(stage, status, environ) == expected


def test_skipping_is_said_and_does_not_fail() -> None:
    outcomes = [Outcome("smollm2", "skipped", 0.5), Outcome("pytest", "passed", 61)]
    text = summary(outcomes)
    assert "were skipped" in text
    assert "1 min 2 s" in text
    assert run_all(HERE, [STAGES[0]], run=lambda stage, python: outcomes[0]) == 0


def test_a_stage_does_not_inherit_foreign_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere/else")
    code = "import os, sys; sys.exit('PYTHONPATH' in os.environ)"
    assert run_stage(Stage("clean", "", ["-c", code]), sys.executable).verdict == "passed"


def test_stages_run_at_the_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    code = "import pathlib, sys; sys.exit(not pathlib.Path('pyproject.toml').exists())"
    assert run_stage(Stage("root", "", ["-c", code]), sys.executable).verdict == "passed"
    assert stages.ROOT.joinpath("pyproject.toml").exists()
