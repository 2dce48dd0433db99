"""The learner's file survives two notebooks, damage and a locked folder; the table tells where to go on."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from labkit import lab
from labkit.lab import store
from labkit.lab.errors import LabError
from labkit.lab.progress import record_exercise, record_quiz


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A course of three notebooks."""
    (tmp_path / "data").mkdir()
    (tmp_path / "notebooks").mkdir()
    for name in ("00_start_here", "01_what_is_slow", "04_batching"):
        (tmp_path / "notebooks" / f"{name}.ipynb").touch()
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path / "data"))


def set_aside() -> list[Path]:
    return sorted(store.path().parent.glob("progress-unreadable-*.json"))


def test_writers_in_several_processes_lose_nothing() -> None:
    code = (
        "import sys; from labkit.lab import store\n"
        "for i in range(40):\n"
        "    store.update(lambda d: d['predictions'].__setitem__(f'{sys.argv[1]}-{i}', {'value': i}))\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "abc"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert len(store.read()["predictions"]) == 3 * 40


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "{",
        "[]",
        '{"version": "one"}',
        '{"version": 1, "quizzes": []}',
        '{"version": 1, "quizzes": {"q": 3}}',
        '{"version": 99}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_an_unreadable_file_is_set_aside_not_lost(damaged: str) -> None:
    raw = damaged.encode("utf-8", "surrogateescape")
    store.path().write_bytes(raw)
    with pytest.warns(UserWarning, match="kept as"):
        document = store.read()
    assert document["exercises"] == {}
    (kept,) = set_aside()
    assert kept.read_bytes() == raw
    record_exercise("e", "01", passed=True)
    assert "e" in store.read()["exercises"]
    assert len(set_aside()) == 1


def test_a_newer_file_is_named_as_such() -> None:
    store.path().write_text('{"version": 99}')
    with pytest.warns(UserWarning, match="a newer labkit wrote it"):
        store.read()


def test_what_this_version_does_not_know_is_kept() -> None:
    store.path().write_text(
        json.dumps({"version": 1, "notes": "mine", "exercises": {"e": {"passed": "then", "x": 1}}})
    )
    record_exercise("e", "01", passed=True)
    document = store.read()
    assert document["notes"] == "mine"
    assert document["exercises"]["e"]["x"] == 1
    assert document["exercises"]["e"]["passed"] == "then"  # passed once, passed since then


def test_a_failed_change_leaves_the_file_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    record_exercise("e", "01", passed=True)
    before = store.path().read_bytes()
    with pytest.raises(TypeError):
        store.update(lambda document: document.update(bad=object()))
    assert store.path().read_bytes() == before
    assert [path.name for path in store.path().parent.iterdir() if path.name.startswith(".progress-")] == []


def test_a_folder_that_cannot_be_made_costs_a_warning_not_the_lesson(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LABKIT_STATE", str(tmp_path / "file" / "inside"))
    with pytest.warns(UserWarning, match="your progress is not kept"):
        record_exercise("e", "01", passed=True)
    with pytest.warns(UserWarning, match="cannot be read"):
        assert "Your progress" in repr(lab.progress())


def test_nothing_is_written_by_looking(course: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lab.progress()
    assert not store.path().exists()


def test_the_table_shows_what_was_done(course: None) -> None:
    lab.begin("01_what_is_slow")
    record_exercise("ridge", "01", passed=True)
    record_exercise("attainable", "01", passed=False)
    record_quiz("01_what_is_slow", {"1": 0}, 4, 5)
    (row,) = (line for line in repr(lab.progress()).splitlines() if line.startswith("01 "))
    assert "begun" in row
    assert "ridge" in row
    assert "attainable" not in row
    assert "4 of 5" in row
    lab.finish("01_what_is_slow")
    assert any(line.startswith("01 ") and "done" in line for line in repr(lab.progress()).splitlines())
    assert "03 Prefix caching" in repr(lab.progress())


def test_it_goes_on_where_the_learner_left_off(course: None) -> None:
    assert "Go on with 00 Start here." in repr(lab.progress())
    lab.begin("00_start_here")
    lab.finish("00_start_here")
    assert "Go on with 01 What is slow?." in repr(lab.progress())
    lab.begin("04_batching")
    assert "Go on with 04 Continuous batching." in repr(lab.progress())
    assert '<a href="04_batching.ipynb">' in lab.progress().html()
    lab.begin("01_what_is_slow")
    lab.finish("04_batching")
    assert "Go on with 01 What is slow?." in repr(lab.progress())


def test_the_end_of_a_notebook_links_the_next_that_exists(course: None) -> None:
    assert '<a href="04_batching.ipynb">' in lab.finish("01_what_is_slow").html()
    assert "no further notebook" in repr(lab.finish("04_batching"))


def test_a_notebook_begins_with_its_question_lit(course: None) -> None:
    assert lab.begin("04_batching").alt.endswith("This notebook answers question 3.")
    assert "This notebook answers" not in lab.begin("00_start_here").alt


def test_an_unknown_notebook_is_refused() -> None:
    with pytest.raises(LabError, match="'77_x' is no notebook"):
        lab.begin("77_x")
