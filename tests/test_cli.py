"""The command line: says what it can do, fails with a sentence and a status, and writes the same result as JSON."""

import json
import subprocess
import sys
from importlib import import_module

import pytest

from labkit import cli
from labkit.errors import SetupError
from labkit.report import Report, table


class Stand:
    """A command that returns, or raises, what it is told."""

    __doc__ = "A stand-in.\n\nMore."

    def __init__(self, outcome):
        self.outcome = outcome

    def configure(self, parser):
        parser.add_argument("--size", type=int, default=1)

    def run(self, args):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@pytest.fixture
def command(monkeypatch):
    def install(outcome):
        monkeypatch.setattr(cli, "COMMANDS", {"stand in": ("stand.in", "a stand-in")})
        monkeypatch.setattr(cli, "import_module", lambda name: Stand(outcome))

    return install


def test_every_listed_command_is_a_module_with_its_two_functions():
    for name, (home, purpose) in cli.COMMANDS.items():
        module = import_module(home)
        assert callable(module.configure), name
        assert callable(module.run), name
        assert purpose


def test_without_arguments_it_lists_the_commands(capsys):
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in cli.COMMANDS)


def test_an_unknown_command_is_named_and_fails(capsys):
    assert cli.main(["dance"]) == 2
    assert "no command 'dance'" in capsys.readouterr().err


@pytest.mark.parametrize(("ok", "status"), [(True, 0), (False, 1)])
def test_the_status_is_zero_only_if_it_did_what_it_was_asked(command, capsys, ok, status):
    command(Report("stand in", [], "a sentence", ok=ok))
    assert cli.main(["stand", "in"]) == status
    assert capsys.readouterr().out == "a sentence\n"


def test_an_expected_error_is_one_sentence(command, capsys):
    command(SetupError("the disk is full: free 2 GB"))
    assert cli.main(["stand", "in"]) == 1
    assert capsys.readouterr().err == "labkit stand in: the disk is full: free 2 GB\n"


def test_json_goes_to_a_file_or_alone_to_standard_output(command, capsys, tmp_path):
    command(Report("stand in", [{"n": 3}], "a sentence", facts={"model": "m"}))
    path = tmp_path / "out.json"
    assert cli.main(["stand", "in", "--json", str(path)]) == 0
    capsys.readouterr()
    assert cli.main(["stand", "in", "--json", "-"]) == 0
    for text in (path.read_text(), capsys.readouterr().out):
        written = json.loads(text)
        assert (written["command"], written["rows"], written["model"]) == ("stand in", [{"n": 3}], "m")
        assert {"hardware", "versions", "date"} <= written.keys()


def test_json_to_an_impossible_place_fails_with_the_remedy(command, capsys, tmp_path):
    command(Report("stand in", [], "a sentence"))
    assert cli.main(["stand", "in", "--json", str(tmp_path / "no" / "out.json")]) == 1
    assert "choose another --json path" in capsys.readouterr().err


def test_help_needs_no_torch():
    code = "import sys; from labkit.cli import main; main([]); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


def test_a_table_aligns_words_left_and_numbers_right():
    rows = [
        {"name": "a", "value": 1.5},
        {"name": "long name", "value": None},
        {"name": "c", "value": 12345.0},
    ]
    lines = table(rows, {"name": "what", "value": "tok/s"}).splitlines()
    assert [line.rstrip() for line in lines] == [
        "what        tok/s",
        "---------  ------",
        "a             1.5",
        "long name       –",
        "c          12,345",
    ]


def test_generate_answers_and_reports(capsys):
    assert (
        cli.main(["generate", "What is two plus two?", "--model", "tiny", "--max-tokens", "8", "--json", "-"])
        == 0
    )
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert 1 <= row["output_tokens"] <= 8
    assert row["finish_reason"] in ("stop", "length")
    assert row["ttft_seconds"] > 0


def test_generate_refuses_a_value_out_of_range(capsys):
    assert cli.main(["generate", "x", "--model", "tiny", "--temperature", "-1"]) == 1
    assert "temperature = -1.0" in capsys.readouterr().err
