"""Notebook 00: a first generation, how far one measurement can be trusted, and where in the tree to begin."""

from dataclasses import dataclass
from statistics import median

from labkit.engine.generation import Completion
from labkit.engine.metrics import tpot
from labkit.engine.sampling import SamplingParams
from labkit.lab.course import QUESTIONS
from labkit.lab.errors import LabError
from labkit.lab.experiments.answers import answer, answer_of_length, milliseconds
from labkit.lab.figures.lines import lines
from labkit.lab.figures.timeline import timeline
from labkit.lab.figures.tree import tree
from labkit.lab.picture import Picture, Svg
from labkit.lab.widgets.job import Report, unheard
from labkit.model.load import LanguageModel

COMPLAINTS: dict[str, int] = {
    "I do not know yet": 0,
    "the model hardly fits, or leaves little memory": 1,
    "every request repeats a long system prompt or history": 2,
    "requests wait for each other": 3,
    "memory is reserved but not used": 4,
    "a single user's answer trickles": 5,
    "long prompts make everybody's answers stutter": 6,
}
"""What people say, and the question of the tree that it belongs to."""


def chat(
    lm: LanguageModel,
    question: str,
    max_tokens: int,
    temperature: float,
    seed: int,
    progress: Report = unheard,
) -> Completion:
    """Answer one question in the model's chat format."""
    params = SamplingParams(max_tokens=max_tokens, temperature=temperature, seed=seed)
    return answer(lm, [{"role": "user", "content": question}], params, progress=progress)


def draw_answer(completion: Completion) -> Picture:
    """When each token of an answer came."""
    return timeline(completion.trace)


def tell_answer(completion: Completion) -> str:
    """The answer, and why it ended."""
    why = "the model ended it" if completion.finish_reason == "stop" else "it reached its limit of tokens"
    return f"“{completion.text.strip()}” ({len(completion.tokens)} tokens; {why})"


def draw_steps(completion: Completion) -> Picture:
    """How long each forward pass of an answer took."""
    return lines(
        {"this answer": [step.seconds * 1000 for step in completion.trace.steps]},
        x_label="forward pass (the first reads the prompt)", y_label="milliseconds",
        title="One forward pass for each output token", concepts={"this answer": "measured"},
    )  # fmt: skip


@dataclass(frozen=True)
class Spread:
    """The same measurement, several times: seconds per output token of each run, the very first one kept apart."""

    first: float
    rest: tuple[float, ...]

    @property
    def text(self) -> str:
        """What one run may be off by, in a sentence."""
        best, middle, worst = min(self.rest), median(self.rest), max(self.rest)
        return (
            f"The first run took {milliseconds(self.first)} a token. The {len(self.rest)} after it took from "
            f"{milliseconds(best)} to {milliseconds(worst)}, median {milliseconds(middle)}: one run alone could have "
            f"been off by {max(worst / middle, middle / best) - 1:.0%}."
        )


def spread(lm: LanguageModel, runs: int, output_tokens: int = 8, progress: Report = unheard) -> Spread:
    """Time the same short answer `runs` times, at least twice."""
    if runs < 2:
        raise LabError(f"runs = {runs}: to see a spread, take at least two")
    times = []
    for done in range(runs):
        progress(done, runs, f"run {done + 1} of {runs}")
        times.append(tpot(answer_of_length(lm, 16, output_tokens).requests[0]) or 0.0)
    return Spread(times[0], tuple(times[1:]))


def draw_spread(found: Spread) -> Picture:
    """Time per token of every run, with the median of all but the first as a line."""
    return lines(
        {"each run": [1000 * seconds for seconds in (found.first, *found.rest)]}, x_label="run",
        y_label="milliseconds per token", title="The same answer, again and again",
        limit=1000 * median(found.rest), limit_label="median without the first", concepts={"each run": "measured"},
    )  # fmt: skip


def begin_at(complaint: str) -> int:
    """The question of the tree where a complaint leads. Raises LabError for one that is not listed."""
    if complaint not in COMPLAINTS:
        raise LabError(f"{complaint!r} is not one of: {'; '.join(COMPLAINTS)}")
    return COMPLAINTS[complaint]


def draw_beginning(question: int) -> Svg:
    """The tree with that question lit."""
    return tree(lit=question)


def tell_beginning(question: int) -> str:
    """Why to begin there."""
    asked = QUESTIONS[question]
    if question == 0:
        return f"Begin with question 0, “{asked.text}”: notebook 01 measures it."
    return (
        f"Question {question} asks: “{asked.text}” If your answer is yes, {asked.technique}. Begin with notebook 01 "
        "all the same: it tells you whether the symptom and the cause are the same thing."
    )
