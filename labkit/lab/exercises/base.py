"""What an exercise is: a task, a stub, a check that names the mistake, hints, and a place in the engine.

A wrong answer is diagnosed by agreement: every known mistake is itself a function, and an answer that equals it on all
cases made that mistake. An answer that is wrong in a new way is told which of the properties it breaks, and shown one
case.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from labkit.lab.card import Card, Tone
from labkit.lab.errors import LabError, in_plain_words
from labkit.lab.exercises.swap import Swap, Target
from labkit.lab.figures.bars import number
from labkit.lab.picture import escape
from labkit.lab.progress import record_exercise
from labkit.lab.source import Source, show_source

Answer = Callable[..., Any]
Status = Literal["passed", "wrong", "not attempted"]
_TONE: dict[Status, Tone] = {"passed": "good", "wrong": "wrong", "not attempted": "note"}


@dataclass(frozen=True)
class Case:
    """One input on which an answer is compared with labkit's own; `says` names it to the learner."""

    says: str
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Property:
    """Something that is true of the right function; `holds(fn)` tries it."""

    says: str
    holds: Callable[[Answer], bool]


@dataclass(frozen=True)
class Mistake:
    """A known-wrong answer and its diagnosis, which tells what was overlooked without giving the formula away."""

    name: str
    wrong: Answer
    says: str


class Verdict(Card):
    """What a check found. True exactly if it passed; `mistake` is the name of the known mistake, if it is one."""

    def __init__(self, status: Status, title: str, text: str = "", mistake: str = "") -> None:
        super().__init__(title, text, tone=_TONE[status])
        self.status, self.mistake = status, mistake

    def __bool__(self) -> bool:
        return self.status == "passed"

    def html(self, role: str = "status") -> str:
        return super().html(role)


@dataclass
class Exercise:
    """One exercise. `target` is "package.module:attribute", the part of labkit that the learner's function replaces.

    `check(fn)` → Verdict, `hint()` → the next hint, `using(fn)` plugs it into the engine, `answer()` shows labkit's own
    source.
    """

    name: str
    lesson: str
    target: str
    task: str
    stub: str
    unit: str
    cases: Sequence[Case]
    properties: Sequence[Property]
    mistakes: Sequence[Mistake]
    hints: Sequence[str]
    _hinted: int = field(default=0, init=False, repr=False)

    @cached_property
    def part(self) -> Target:
        """Where the function lives in labkit; labkit's own is kept from before any swap."""
        return Target.find(self.target)

    def check(self, answer: object) -> Verdict:
        """Try the answer; never raises, whatever it does."""
        verdict = self.judge(answer)
        if verdict.status != "not attempted":
            record_exercise(self.name, self.lesson, passed=bool(verdict))
        return verdict

    def judge(self, answer: object) -> Verdict:
        """`check` without a note in the learner's progress."""
        if not callable(answer):
            given = type(answer).__name__
            return Verdict(
                "wrong",
                "Hand over the function itself.",
                f"Write check({self.name}), without calling it; got {given}.",
            )
        try:
            values = [_value(answer(*case.args)) for case in self.cases]
        except NotImplementedError:
            return self._not_attempted("The stub is still as it was.")
        except Exception as error:
            return Verdict("wrong", "Your function stopped with an error.", in_plain_words(error))
        if all(value is None for value in values):
            return self._not_attempted("The function returns nothing so far: it needs a return.")
        return self._compare(answer, values)

    def hint(self, level: int | None = None) -> Card:
        """The next hint, or the one of `level` from 1; each says more than the one before. Raises LabError for another
        level.
        """
        if level is None:
            level = min(self._hinted + 1, len(self.hints))
        if level not in range(1, len(self.hints) + 1):
            raise LabError(f"no hint {level!r}: the hints are 1 to {len(self.hints)}")
        self._hinted = level
        last = "\nThat was the last hint; .answer() shows labkit's own." if level == len(self.hints) else ""
        return Card(f"Hint {level} of {len(self.hints)}", self.hints[level - 1] + last)

    def answer(self) -> Source:
        """labkit's own source of this function."""
        return show_source(self.part.original)

    def using(self, answer: Answer) -> Swap:
        """Plug the answer into labkit, from now on or for a `with` block; one that does not pass stays out, and says
        so.
        """
        verdict = self.judge(answer)
        return Swap(self.name, self.part, answer if verdict else None, why_not=verdict.title)

    def _not_attempted(self, why: str) -> Verdict:
        return Verdict(
            "not attempted", "Not attempted yet.", f"{why} The notebook goes on with labkit's own function."
        )

    def _compare(self, answer: Answer, values: list[Any]) -> Verdict:
        expected = [_value(self.part.original(*case.args)) for case in self.cases]
        wrong = [i for i, pair in enumerate(zip(values, expected, strict=True)) if not _agree(*pair)]
        broken = [fact.says for fact in self.properties if not _holds(fact, answer)]
        if not wrong and not broken:
            proven = "\n".join(f"✔ {fact.says}" for fact in self.properties)
            return Verdict("passed", "Right.", f"{proven}\n.using({self.name}) plugs it into the engine.")
        mistake = self._recognise(values)
        if mistake is not None:
            return Verdict("wrong", "Not yet.", mistake.says, mistake.name)
        return Verdict("wrong", "Not yet.", "\n".join(self._shown(values, expected, wrong) + _told(broken)))

    def _recognise(self, values: list[Any]) -> Mistake | None:
        def made(mistake: Mistake) -> bool:
            theirs = [_value(mistake.wrong(*case.args)) for case in self.cases]
            return all(_agree(*pair) for pair in zip(values, theirs, strict=True))

        return next((mistake for mistake in self.mistakes if made(mistake)), None)

    def _shown(self, values: list[Any], expected: list[Any], wrong: list[int]) -> list[str]:
        if not wrong:
            return []
        case, got, want = self.cases[wrong[0]], values[wrong[0]], expected[wrong[0]]
        if not isinstance(got, float):
            return [f"For {case.says} your function returns {got!r}, which is no number."]
        return [
            f"For {case.says} your function gives {number(got)}, labkit's gives {number(want)} "
            f"{self.unit}{_factor(got, want)}."
        ]

    def __repr__(self) -> str:
        return f"Exercise {self.name}\n{self.task}\n\n{self.stub}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        body = (
            f"<p>{escape(self.task)}</p><pre "
            f"style='background:#f7f7f7;color:#111;padding:.5em'>{escape(self.stub)}</pre>"
            f"<p>It replaces <code>{escape(self.target)}</code>. Then: <code>.check({escape(self.name)})</code>, "
            f"and if you are stuck <code>.hint()</code> ({len(self.hints)} of them).</p>"
        )
        return {"text/html": Card(f"Exercise: {self.name}", html=body).html(), "text/plain": repr(self)}


def _value(result: Any) -> Any:
    """A number as a float, nothing (None, …) as None, anything else as it is."""
    if result is None or result is Ellipsis:
        return None
    if isinstance(result, bool | str):
        return result
    try:
        return float(result)
    except (TypeError, ValueError, OverflowError):
        return result


def close(mine: float, theirs: float) -> bool:
    """Equal but for rounding."""
    return math.isclose(mine, theirs, rel_tol=1e-9)


def _agree(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, float) and isinstance(theirs, float):
        return close(mine, theirs)
    return mine is None and theirs is None


def _holds(fact: Property, answer: Answer) -> bool:
    try:
        return bool(fact.holds(answer))
    except Exception:  # an answer that fails here breaks the property; its own error was shown by the cases
        return False


def _told(broken: list[str]) -> list[str]:
    return ["What should be true, and is not:", *(f"✘ {says}" for says in broken[:3])] if broken else []


def _factor(got: float, want: float) -> str:
    if want and math.isfinite(got) and got / want > 0:
        ratio = got / want
        return f" (too {'large' if ratio > 1 else 'small'} by a factor of {number(max(ratio, 1 / ratio))})"
    return ""
