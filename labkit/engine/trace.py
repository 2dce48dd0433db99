"""The record of a run: what every step computed and when every token came. All metrics and figures are
functions of it.

Times are seconds on one clock, whose zero is the start of the run; a simulated run writes the same record
from a virtual clock. A trace is saved as JSON lines: a header, then a line a step, then a line a request.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from labkit.errors import LabkitError
from labkit.kvcache.manager import Usage

FinishReason = Literal["stop", "length", "cancelled", "refused"]
"""Why an output ended: an end token, stop token or stop string; max_tokens or the end of the model's context; its
client's wish; or it could never be served.
"""

EventKind = Literal["admit", "preempt", "fork", "finish"]

_HEADER = {"trace": "labkit", "version": 2}


@dataclass(frozen=True)
class Event:
    """Something that happened to a sequence at the beginning or end of a step, and how many tokens it concerns:
    admit (tokens to compute), preempt (computed tokens lost), fork (tokens shared), finish (tokens generated).
    """

    kind: EventKind
    id: str
    tokens: int


@dataclass
class Step:
    """One forward pass: when it began, how long it took, and how many tokens of each sequence it computed.

    - `tokens`: from a sequence's id to (prefill, decode): tokens computed only to fill the context, and tokens that
      had just been generated.
    - `padding`: rows computed and thrown away.
    - `usage`: the slots of the KV cache while it ran, if there is a pool.
    - `waiting`, `running`: sequences in the queue and in the batch.
    """

    start: float
    seconds: float
    tokens: dict[str, tuple[int, int]]
    padding: int = 0
    usage: Usage | None = None
    waiting: int = 0
    running: int = 0
    events: list[Event] = field(default_factory=list)


@dataclass
class RequestRecord:
    """One output: when its request arrived, its prompt's length, and when each of its tokens was there."""

    id: str
    arrival: float
    prompt_tokens: int
    token_times: list[float] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    started: float | None = None  # the beginning of the first step that computed any of it


@dataclass
class Trace:
    """A run's steps and requests, in order of their beginning."""

    steps: list[Step] = field(default_factory=list)
    requests: list[RequestRecord] = field(default_factory=list)

    def save(self, path: str | Path) -> None:
        """Write the trace as JSON lines."""
        lines = [_HEADER]
        lines += [{"step": asdict(step)} for step in self.steps]
        lines += [{"request": asdict(request)} for request in self.requests]
        Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Trace":
        """Read a saved trace. Raises LabkitError naming the line that is not one."""
        with open(path, encoding="utf-8") as file:
            return cls._parse(str(path), file)

    @classmethod
    def _parse(cls, name: str, lines: Iterable[str]) -> "Trace":
        trace = cls()
        number = 0
        for number, line in enumerate(lines, start=1):
            try:
                trace._add(number, json.loads(line))
            except (ValueError, TypeError, KeyError) as error:
                raise LabkitError(
                    f"{name}, line {number}: not a labkit trace ({error}): save it again"
                ) from error
        if number == 0:
            raise LabkitError(f"{name} is empty: not a labkit trace")
        return trace

    def _add(self, number: int, record: dict[str, Any]) -> None:
        if number == 1:
            if record != _HEADER:
                raise ValueError(f"the header is {record}, not {_HEADER}")
        elif "step" in record:
            self.steps.append(_step(**record["step"]))
        else:
            self.requests.append(RequestRecord(**record["request"]))


def _step(tokens: dict[str, Any], usage: dict[str, int] | None, events: list[Any], **rest: Any) -> Step:
    return Step(
        tokens={name: (prefill, decode) for name, (prefill, decode) in tokens.items()},
        usage=None if usage is None else Usage(**usage),
        events=[Event(**event) for event in events],
        **rest,
    )
