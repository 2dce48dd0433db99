"""Quizzes: multiple choice from `data/quizzes/*.json`, where every option, right or wrong, says why.

The file of a notebook is `NN_topic.json`: {"title", "questions": [{"question", "options": [{"text", "why", "right":
true}]}]}.
"""

import json
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.lab import store
from labkit.lab.card import Card
from labkit.lab.errors import LabError
from labkit.lab.picture import escape
from labkit.lab.progress import record_quiz
from labkit.paths import data_folder


@dataclass(frozen=True)
class Option:
    """One answer of a question, and why it is right or wrong."""

    text: str
    why: str
    right: bool = False


@dataclass(frozen=True)
class Question:
    """One question with its options, exactly one of them right."""

    text: str
    options: tuple[Option, ...]


class Quiz:
    """A notebook's quiz. `answer(number, letter)` is the plain route, the widget the other; both are kept in the
    progress.
    """

    def __init__(self, name: str, title: str, questions: tuple[Question, ...]) -> None:
        self.name, self.title, self.questions = name, title, questions
        self.given: dict[int, int] = {}
        self._box: Any = None

    @property
    def right(self) -> int:
        """How many of the answers given so far are right."""
        return sum(self.questions[number].options[chosen].right for number, chosen in self.given.items())

    def answer(self, number: int, letter: str) -> Card:
        """Answer question `number` (from 1) with option `letter` (from "a"); says why it is right or wrong."""
        if number not in range(1, len(self.questions) + 1):
            raise LabError(f"no question {number!r} in this quiz: they are 1 to {len(self.questions)}")
        options = self.questions[number - 1].options
        letters = string.ascii_lowercase[: len(options)]
        chosen = letters.find(letter.strip().lower()) if len(letter.strip()) == 1 else -1
        if chosen < 0:
            raise LabError(f"no option {letter!r} in question {number}: they are {', '.join(letters)}")
        self._give({number - 1: chosen})
        return self._feedback(number - 1)

    @property
    def box(self) -> Any:
        """The widgets: radio buttons per question and one button, made when first shown."""
        if self._box is None:
            self._box = _widgets(self)
        return self._box

    def _give(self, answers: dict[int, int]) -> None:
        self.given.update(answers)
        record_quiz(
            self.name,
            {str(n + 1): chosen for n, chosen in self.given.items()},
            self.right,
            len(self.questions),
        )

    def _feedback(self, index: int) -> Card:
        option = self.questions[index].options[self.given[index]]
        return Card(
            "Right." if option.right else "Not this one.",
            option.why,
            tone="good" if option.right else "wrong",
        )

    def __repr__(self) -> str:
        parts = [f"Quiz: {self.title}"]
        for number, question in enumerate(self.questions, 1):
            parts.append(f"{number}. {question.text}")
            parts += [
                f"   {string.ascii_lowercase[i]}) {option.text}" for i, option in enumerate(question.options)
            ]
        return "\n".join(parts)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {**self.box._repr_mimebundle_(), "text/plain": repr(self)}


def quiz(name: str) -> Quiz:
    """The quiz of a notebook, by its name, such as "01_what_is_slow". Raises LabError if it is unknown or its file
    damaged.
    """
    folder = data_folder() / "quizzes"
    file = folder / f"{name}.json"
    known = sorted(path.stem for path in folder.glob("*.json"))
    if name not in known:
        raise LabError(f"no quiz {name!r}: there are {', '.join(known) or 'none'}")
    made = _load(name, file)
    made.given = _remembered(made)
    return made


def _remembered(made: Quiz) -> dict[int, int]:
    """The answers given last time, as far as the quiz still has them."""
    kept = store.read()["quizzes"].get(made.name, {}).get("answers", {})
    places = {str(index + 1): index for index in range(len(made.questions))}
    return {
        places[number]: chosen
        for number, chosen in kept.items()
        if number in places and chosen in range(len(made.questions[places[number]].options))
    }


def _load(name: str, file: Path) -> Quiz:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        questions = tuple(
            Question(entry["question"], tuple(Option(**option) for option in entry["options"]))
            for entry in content["questions"]
        )
        made = Quiz(name, content["title"], questions)
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(
            f"the quiz file {file.name} is damaged ({error!r}): restore it from the course"
        ) from error
    for number, question in enumerate(made.questions, 1):
        if sum(option.right for option in question.options) != 1 or not all(
            option.why for option in question.options
        ):
            raise LabError(f"{file.name}, question {number}: exactly one option is right, and each says why")
    return made


def _widgets(made: Quiz) -> Any:
    from ipywidgets import HTML, Button, RadioButtons, VBox

    radios, feedback, parts = [], [], []
    for number, question in enumerate(made.questions, 1):
        options = [
            (f"{string.ascii_lowercase[i]}) {option.text}", i) for i, option in enumerate(question.options)
        ]
        radio = RadioButtons(
            options=options,
            value=made.given.get(number - 1),
            description=f"Answer {number}",
            tooltip=question.text,
            layout={"width": "max-content"},
        )
        radios.append(radio)
        feedback.append(HTML())
        parts += [HTML(f"<strong>{number}. {escape(question.text)}</strong>"), radio, feedback[-1]]
    button = Button(description="Check answers", tooltip="Check the answers given so far")
    last_time = f"Last time: {made.right} of {len(radios)} right." if made.given else ""
    score = HTML(last_time)

    def check(_: Any) -> None:
        chosen = {index: radio.value for index, radio in enumerate(radios) if radio.value is not None}
        made._give(chosen)
        for index in chosen:
            feedback[index].value = made._feedback(index).html(role="status")
        told = f"{made.right} of {len(radios)} right, {len(radios) - len(chosen)} not answered."
        score.value = f'<div role="status">{told}</div>'

    button.on_click(check)
    return VBox([HTML(f"<strong>Quiz: {escape(made.title)}</strong>"), *parts, button, score])
