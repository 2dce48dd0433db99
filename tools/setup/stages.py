"""What `make test` runs after set-up, one stage after another, and its summary.

A failed stage does not end the run: one run shows everything that is wrong.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tools.setup.children import call
from tools.setup.fetch import UNAVAILABLE
from tools.setup.place import ROOT, Place, clean_environ
from tools.setup.say import duration, say

NBVAL = [
    "notebooks", "--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout", "300",
    "--nbval-kernel-startup-timeout", "120", "--nbval-sanitize-with", "tests/nbval.cfg",
]  # fmt: skip


@dataclass(frozen=True)
class Stage:
    """One check: its name, what it proves, the arguments for Python, and whether it may be impossible offline."""

    name: str
    proves: str
    arguments: Sequence[str]
    needs_network: bool = False


STAGES = [
    Stage("ruff", "no likely mistakes", ["-m", "ruff", "check", "."]),
    Stage("format", "one layout", ["-m", "ruff", "format", "--check", "."]),
    Stage("mypy", "types hold, strictly", ["-m", "mypy"]),
    Stage("smollm2", "the real model is in the cache", ["-m", "tools.setup.fetch"], needs_network=True),
    Stage("pytest", "the code does what it says", ["-m", "pytest", "tests"]),
    Stage("notebooks", "every notebook runs from top to bottom", ["-m", "pytest", *NBVAL]),
]


@dataclass(frozen=True)
class Outcome:
    """How a stage ended: "passed", "failed" or "skipped", and its seconds."""

    name: str
    verdict: str
    seconds: float


def verdict(stage: Stage, status: int, environ: Mapping[str, str]) -> str:
    """What an exit status means; missing network is excused unless LABKIT_REQUIRE_SMOLLM2=1."""
    if status == 0:
        return "passed"
    excused = stage.needs_network and environ.get("LABKIT_REQUIRE_SMOLLM2") != "1"
    return "skipped" if excused and status == UNAVAILABLE else "failed"


def run_stage(stage: Stage, python: str) -> Outcome:
    """Run one stage with its output shown as it comes."""
    say(f"{stage.name}: {stage.proves}")
    started = time.monotonic()
    status = call([python, *stage.arguments], ROOT, clean_environ(os.environ))
    outcome = Outcome(stage.name, verdict(stage, status, os.environ), time.monotonic() - started)
    say(f"{stage.name}: {outcome.verdict} in {duration(outcome.seconds)}")
    return outcome


def summary(outcomes: Sequence[Outcome]) -> str:
    """The run in a few lines of plain words."""
    lines = [f"  {each.name:<10} {each.verdict:<8} {duration(each.seconds):>12}" for each in outcomes]
    failed = [each.name for each in outcomes if each.verdict == "failed"]
    skipped = [each.name for each in outcomes if each.verdict == "skipped"]
    total = duration(sum(each.seconds for each in outcomes))
    closing = f"Failed: {', '.join(failed)}." if failed else "Everything passed."
    if skipped:
        closing += (
            " Without network the real model could not be fetched: the tests that need it were skipped."
        )
    return "\n".join([*lines, f"{closing} ({total})"])


def run_all(
    place: Place, stages: Sequence[Stage] = STAGES, run: Callable[[Stage, str], Outcome] = run_stage
) -> int:
    """Run every stage, print the summary; 0 only where none failed."""
    outcomes = [run(stage, str(place.python)) for stage in stages]
    say("summary\n" + summary(outcomes))
    return int(any(outcome.verdict == "failed" for outcome in outcomes))
