"""The course's map: the six questions, the techniques that answer them, and which notebook teaches each.

One place, read by the tree picture, the progress table and the notebooks' own headers.
"""

from dataclasses import dataclass
from pathlib import Path

from labkit.lab.errors import LabError
from labkit.paths import data_folder


@dataclass(frozen=True)
class Lesson:
    """One notebook: its number in the file name, and its title."""

    number: str
    title: str


@dataclass(frozen=True)
class Question:
    """One question of the decision tree; `yes` are the lessons that answer a yes, `lit` is its number."""

    number: int
    text: str
    technique: str
    lessons: tuple[str, ...]
    handed_on: str
    """What it means when the answer sends you to the next question."""


LESSONS: dict[str, Lesson] = {
    lesson.number: lesson
    for lesson in (
        Lesson("00", "Start here"),
        Lesson("01", "What is slow?"),
        Lesson("02a", "Quantization"),
        Lesson("02b", "Sparsity"),
        Lesson("02c", "Distillation"),
        Lesson("03", "Prefix caching"),
        Lesson("04", "Continuous batching"),
        Lesson("05", "PagedAttention"),
        Lesson("06", "Speculative decoding"),
        Lesson("07", "Disaggregation"),
        Lesson("08", "Parallelism"),
        Lesson("09", "KV offloading"),
        Lesson("10", "Offline batch"),
        Lesson("11", "Five pitfalls"),
        Lesson("12", "Putting it together"),
    )
}

QUESTIONS: tuple[Question, ...] = (
    Question(
        0,
        "What is slow: reading the prompt, or writing the answer?",
        "measure first",
        ("01",),
        "you know your phase",
    ),
    Question(
        1,
        "Is the model too big to leave room for the KV cache?",
        "shrink or split the model",
        ("02a", "02b", "02c", "08"),
        "room to spare",
    ),
    Question(
        2,
        "Do many requests begin with the same tokens?",
        "reuse the prefix",
        ("03", "09"),
        "prompts are unique",
    ),
    Question(
        3,
        "Do requests overlap, with outputs of unknown length?",
        "batch at every step",
        ("04",),
        "well batched already",
    ),
    Question(
        4, "Do gaps in KV memory cap the batch?", "page the KV cache", ("05",), "memory is no constraint"
    ),
    Question(
        5,
        "Does the time per token matter most?",
        "guess ahead and verify",
        ("06",),
        "no good draft, or high load",
    ),
    Question(
        6,
        "Do prefill and decode fight, at scale?",
        "separate the phases, or wait",
        ("07", "10"),
        "none of these",
    ),
)
OTHERWISE = ("continuous batching + prefix caching", ("12",))
"""Where the tree ends when no question was answered with yes."""


def notebooks_folder() -> Path:
    """The notebooks beside `data/`; in a notebook's kernel this is its own folder."""
    return data_folder().parent / "notebooks"


def notebook_file(number: str) -> str | None:
    """File name of the lesson's notebook, or None while it is only planned."""
    return next((path.name for path in sorted(notebooks_folder().glob(f"{number}_*.ipynb"))), None)


def lesson_of(notebook: str) -> Lesson:
    """The lesson of a notebook's name, `01_what_is_slow` or `01_what_is_slow.ipynb`. Raises LabError for
    another name.
    """
    number = notebook.split("_", 1)[0]
    if number not in LESSONS:
        raise LabError(f"{notebook!r} is no notebook of this course: the numbers are {', '.join(LESSONS)}")
    return LESSONS[number]
