"""Quizzes are well formed, explain every answer, and are kept."""

import json
from pathlib import Path

import pytest

from labkit import lab
from labkit.lab import store
from labkit.lab.course import lesson_of
from labkit.lab.errors import LabError
from labkit.lab.quiz import Quiz
from labkit.paths import data_folder

NAMES = sorted(path.stem for path in (data_folder() / "quizzes").glob("*.json"))


@pytest.fixture
def quiz() -> Quiz:
    return lab.quiz("01_what_is_slow")


def right_letter(quiz: Quiz, number: int) -> str:
    return "abcdef"[next(i for i, option in enumerate(quiz.questions[number - 1].options) if option.right)]


@pytest.mark.parametrize("name", NAMES)
def test_every_quiz_can_be_read_and_belongs_to_a_lesson(name: str) -> None:
    quiz = lab.quiz(name)
    assert lesson_of(name)
    assert len(quiz.questions) >= 3
    for question in quiz.questions:
        assert 3 <= len(question.options) <= 5
        assert len({option.text for option in question.options}) == len(question.options)
        assert len({option.why for option in question.options}) == len(question.options)


@pytest.mark.parametrize("name", NAMES)
def test_the_right_answer_is_not_always_the_same_letter(name: str) -> None:
    quiz = lab.quiz(name)
    letters = [right_letter(quiz, number + 1) for number in range(len(quiz.questions))]
    assert len(set(letters)) >= 3 or len(letters) < 3


@pytest.mark.parametrize("name", NAMES)
def test_the_right_answer_is_not_given_away_by_its_length(name: str) -> None:
    quiz = lab.quiz(name)
    longest = [max(q.options, key=lambda option: len(option.text)).right for q in quiz.questions]
    assert sum(longest) <= len(longest) / 2 + 0.5


def test_every_answer_is_explained(quiz: Quiz) -> None:
    for number, question in enumerate(quiz.questions, 1):
        for letter, option in zip("abcdef", question.options, strict=False):
            card = quiz.answer(number, letter)
            assert option.why in card.text
            assert card.title == ("Right." if option.right else "Not this one.")


def test_the_score_is_kept_and_the_best_too(quiz: Quiz) -> None:
    for number in range(1, len(quiz.questions) + 1):
        quiz.answer(number, right_letter(quiz, number))
    assert quiz.right == len(quiz.questions)
    quiz.answer(1, "a" if right_letter(quiz, 1) != "a" else "b")
    entry = store.read()["quizzes"]["01_what_is_slow"]
    assert (entry["right"], entry["best"], entry["of"]) == (
        len(quiz.questions) - 1,
        len(quiz.questions),
        len(quiz.questions),
    )


def test_the_widget_checks_what_was_chosen(quiz: Quiz) -> None:
    from ipywidgets import HTML, Button, RadioButtons

    radios = [child for child in quiz.box.children if isinstance(child, RadioButtons)]
    (button,) = (child for child in quiz.box.children if isinstance(child, Button))
    assert all(radio.value is None for radio in radios)
    radios[0].index = next(i for i, option in enumerate(quiz.questions[0].options) if option.right)
    button.click()
    said = " ".join(child.value for child in quiz.box.children if isinstance(child, HTML))
    assert "1 of 5 right, 4 not answered." in said
    assert "Right." in said
    assert store.read()["quizzes"]["01_what_is_slow"]["answers"] == {"1": radios[0].index}


def test_a_reopened_quiz_remembers_the_answers() -> None:
    from ipywidgets import RadioButtons

    lab.quiz("01_what_is_slow").answer(2, "c")
    again = lab.quiz("01_what_is_slow")
    radios = [child for child in again.box.children if isinstance(child, RadioButtons)]
    assert [radio.value for radio in radios] == [None, 2, None, None, None]
    assert again.right == 1


def test_answers_the_quiz_no_longer_has_are_forgotten() -> None:
    def older(document: store.Document) -> None:
        document["quizzes"]["01_what_is_slow"] = {"answers": {"1": 9, "77": 0, "3": "b", "2": 0}}

    store.update(older)
    assert lab.quiz("01_what_is_slow").given == {1: 0}


@pytest.mark.parametrize(("number", "letter"), [(0, "a"), (9, "a"), (1, "z"), (1, "ab"), (1, "")])
def test_answers_that_are_not_there_are_refused(quiz: Quiz, number: int, letter: str) -> None:
    with pytest.raises(LabError):
        quiz.answer(number, letter)


def test_the_text_is_the_whole_quiz(quiz: Quiz) -> None:
    text = quiz._repr_mimebundle_()["text/plain"]
    assert all(q.text in text and all(o.text in text for o in q.options) for q in quiz.questions)


def test_an_unknown_quiz_is_refused() -> None:
    with pytest.raises(LabError, match=r"no quiz '99_none': there are .*01_what_is_slow"):
        lab.quiz("99_none")


GOOD = {"text": "yes", "why": "because", "right": True}
BAD = {"text": "no", "why": "because not"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "damaged"),
        ({"title": "t"}, "damaged"),
        ({"title": "t", "questions": [{"question": "q", "options": [{"txt": "a"}]}]}, "damaged"),
        (
            {"title": "t", "questions": [{"question": "q", "options": [BAD, BAD]}]},
            "exactly one option is right",
        ),
        (
            {"title": "t", "questions": [{"question": "q", "options": [GOOD, GOOD]}]},
            "exactly one option is right",
        ),
        (
            {"title": "t", "questions": [{"question": "q", "options": [GOOD, {**BAD, "why": ""}]}]},
            "each says why",
        ),
    ],
)
def test_a_damaged_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: object, says: str
) -> None:
    (tmp_path / "quizzes").mkdir()
    text = content if isinstance(content, str) else json.dumps(content)
    (tmp_path / "quizzes" / "00_x.json").write_text(text)
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path))
    with pytest.raises(LabError, match=says):
        lab.quiz("00_x")
