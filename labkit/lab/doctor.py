"""`labkit doctor`, and `lab.doctor()` in a notebook: will the course run here, and if not, what to do.

The looking is in `labkit.lab.probes`, the judging in `labkit.lab.checks`. Nothing leaves the machine but a
question to the model hub and one to the package index, each with a short time-out; no answer is no problem.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from labkit import machine
from labkit.errors import SetupError
from labkit.lab import checks, probes
from labkit.lab.card import Card, table, text_table
from labkit.lab.checks import Finding, Package, Status
from labkit.lab.rung import rung
from labkit.report import Report

NAMED = ("torch", "jupyterlab", "ipywidgets")
"""Packages with a line of their own; triton's is with the kernels."""
_HEADER = ("check", "status", "found")


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor found: `findings` in the order they were looked at; `ok` if the course will run."""

    findings: list[Finding]

    @property
    def ok(self) -> bool:
        return all(finding.status is not Status.PROBLEM for finding in self.findings)

    @property
    def verdict(self) -> str:
        """Whether the course will run, and how much is to mend, in a sentence."""
        problems, warnings = self._with(Status.PROBLEM), self._with(Status.WARNING)
        if problems:
            return f"The course will not run yet: {_count(len(problems), 'problem')} to mend."
        return "The course will run." + (
            f" {_count(len(warnings), 'warning')}, see below." if warnings else ""
        )

    def fixes(self) -> list[str]:
        """What to do, worst first."""
        ailing = [*self._with(Status.PROBLEM), *self._with(Status.WARNING)]
        return [f"{finding.check}: {finding.fix}." for finding in ailing]

    def _with(self, status: Status) -> list[Finding]:
        return [finding for finding in self.findings if finding.status is status]

    def _rows(self) -> list[tuple[str, ...]]:
        return [(finding.check, str(finding.status), finding.found) for finding in self.findings]

    def __repr__(self) -> str:
        what_to_do = ["", "What to do", *(f"  - {fix}" for fix in self.fixes())] if self.fixes() else []
        return "\n".join([text_table(_HEADER, self._rows()), *what_to_do, "", self.verdict])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        card = Card(self.verdict, "\n".join(self.fixes()), tone="good" if self.ok else "wrong")
        return {"text/html": card.html() + table(_HEADER, self._rows()), "text/plain": repr(self)}


def configure(parser: argparse.ArgumentParser) -> None:
    """`labkit doctor` has no options of its own."""
    parser.epilog = "The exit status is 0 if the course will run here, with or without warnings."


def run(args: argparse.Namespace) -> Report:
    """All findings as a table with the fixes; `ok` only if the course will run."""
    diagnosis = doctor()
    return Report(
        "doctor", [asdict(finding) for finding in diagnosis.findings], repr(diagnosis), diagnosis.ok
    )


def doctor() -> Diagnosis:
    """Look this machine over; takes a few seconds. What cannot be looked at becomes a finding."""
    return Diagnosis(list(_findings()))


def _findings() -> Iterator[Finding]:
    found = {package.name: package for package in probes.packages()}
    yield checks.python(sys.version_info[:3])
    yield from (checks.package(found[name]) for name in NAMED if name in found)
    yield checks.other_packages([package for name, package in found.items() if name not in NAMED])
    yield from _machine(found)
    yield from _models()
    yield checks.widgets(probes.widgets_extension(), probes.in_notebook(), probes.launched_by_labkit())
    yield checks.state(probes.state_error())
    tools = checks.development(probes.packages("dev"), probes.chromium() is not None)
    if tools:
        yield tools


def _machine(found: dict[str, Package]) -> Iterator[Finding]:
    gpus = probes.usable_gpus()
    triton = found["triton"].version if "triton" in found else None
    yield checks.kernels(triton, gpus, sys.platform == "linux")
    yield checks.gpu(gpus, probes.driver_gpus(), probes.torch_cuda(), probes.gpu_error())
    yield checks.memory(machine.memory_bytes(), machine.cpu_cores())
    yield _rung()


def _models() -> Iterator[Finding]:
    cached = probes.smollm2_cached()
    yield checks.disk(probes.free_bytes(), cached)
    yield checks.pair(probes.pair_errors())
    yield checks.smollm2(cached, fetchable=not cached and probes.smollm2_fetchable())
    yield checks.hub(probes.hub())


def _rung() -> Finding:
    try:
        return Finding("rung", Status.OK, rung().summary())
    except SetupError as error:  # its message holds the remedy
        return Finding("rung", Status.PROBLEM, str(error), "correct LABKIT_RUNG or unset it")
    except Exception:  # torch is broken, which has its own finding
        return Finding("rung", Status.WARNING, "unknown while torch does not import", "mend torch first")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"
