"""What the learner has done, and where to go on. Everything stays on this machine, in one file (see `store`)."""

from typing import Any

from labkit.lab import store
from labkit.lab.card import Card, table, text_table
from labkit.lab.course import LESSONS, QUESTIONS, Lesson, lesson_of, notebook_file
from labkit.lab.figures.tree import tree
from labkit.lab.picture import Svg, escape

_HEADER = ("notebook", "state", "exercises passed", "quiz")


def begin(notebook: str) -> Svg:
    """Note that the notebook was opened, and show the tree with its question lit. Raises LabError for an
    unknown notebook.
    """
    number = lesson_of(notebook).number
    _note(number, "visited")
    return tree(lit=next((question.number for question in QUESTIONS if number in question.lessons), None))


def finish(notebook: str) -> Card:
    """Note that the notebook was worked through, and say what is next. Raises LabError for an unknown
    notebook.
    """
    lesson = lesson_of(notebook)
    _note(lesson.number, "ended")
    following = _following(lesson)
    title = f"Finished: {lesson.number} {lesson.title}"
    if following is None:
        return Card(
            title,
            "There is no further notebook here yet: lab.progress() shows the whole course.",
            tone="good",
        )
    file = notebook_file(following.number) or ""
    label = f"{following.number} {following.title}"
    return Card(
        title,
        f"Next: {label} ({file})",
        html=f'<p>Next: <a href="{escape(file)}">{escape(label)}</a></p>',
        tone="good",
    )


def progress() -> Card:
    """A table of the course with what was done, and a link to where the learner left off."""
    document = store.read()
    rows: list[tuple[str, ...]] = [_row(lesson, document) for lesson in LESSONS.values()]
    links = {f"{n} {lesson.title}": file for n, lesson in LESSONS.items() if (file := notebook_file(n))}
    resume = _resume(document)
    link = (
        f'<p>Go on with <a href="{escape(links[resume])}">{escape(resume)}</a>.</p>'
        if resume in links
        else ""
    )
    text = text_table(_HEADER, rows) + (f"\nGo on with {resume}." if resume in links else "")
    return Card("Your progress", text, html=table(_HEADER, rows, links) + link + _where())


def record_exercise(name: str, lesson: str, passed: bool) -> None:
    """Keep that an exercise was tried; once passed it stays passed."""

    def change(document: store.Document) -> None:
        entry = document["exercises"].setdefault(name, {"tries": 0})
        entry["lesson"] = lesson
        entry["tries"] = entry.get("tries", 0) + 1
        if passed:
            entry.setdefault("passed", store.now())

    store.update(change)


def record_quiz(name: str, answers: dict[str, int], right: int, of: int) -> None:
    """Keep a quiz's answers and score; the best score is kept beside the last."""

    def change(document: store.Document) -> None:
        entry = document["quizzes"].setdefault(name, {})
        entry.update(
            answers=answers, right=right, of=of, time=store.now(), best=max(right, entry.get("best", 0))
        )

    store.update(change)


def _note(number: str, what: str) -> None:
    store.update(lambda document: document["notebooks"].setdefault(number, {}).__setitem__(what, store.now()))


def _row(lesson: Lesson, document: store.Document) -> tuple[str, str, str, str]:
    passed = [
        name
        for name, entry in document["exercises"].items()
        if entry.get("lesson") == lesson.number and "passed" in entry
    ]
    scores = [
        f"{entry['right']} of {entry['of']}"
        for name, entry in document["quizzes"].items()
        if _is_of(name, lesson)
    ]
    state = _state(document["notebooks"].get(lesson.number, {}), lesson)
    return (
        f"{lesson.number} {lesson.title}",
        state,
        ", ".join(sorted(passed)) or "–",
        ", ".join(scores) or "–",
    )


def _is_of(name: str, lesson: Lesson) -> bool:
    return name.split("_", 1)[0] == lesson.number


def _state(entry: dict[str, Any], lesson: Lesson) -> str:
    if notebook_file(lesson.number) is None:
        return "planned"
    return "done" if "ended" in entry else "begun" if "visited" in entry else "not yet"


def _resume(document: store.Document) -> str:
    """The notebook begun last and not ended; else the first not ended."""
    seen = document["notebooks"]
    open_ones = [n for n in LESSONS if notebook_file(n) and "ended" not in seen.get(n, {})]
    begun = [n for n in open_ones if "visited" in seen.get(n, {})]
    chosen = max(begun, key=lambda n: seen[n]["visited"]) if begun else next(iter(open_ones), None)
    return f"{chosen} {LESSONS[chosen].title}" if chosen else ""


def _following(lesson: Lesson) -> Lesson | None:
    numbers = list(LESSONS)
    later = numbers[numbers.index(lesson.number) + 1 :]
    return next((LESSONS[n] for n in later if notebook_file(n)), None)


def _where() -> str:
    return "<p style='font-size:90%'>Kept on this machine only; delete the file to start over.</p>"
