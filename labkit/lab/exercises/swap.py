"""The learner's function as a part of labkit: put in wherever labkit looks the original up, and taken out again.

A function imported by name lives in several modules, so every labkit module that holds the original gets the learner's.
"""

import functools
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

from labkit.lab.card import Card
from labkit.lab.errors import LabError

_active: dict[str, "Swap"] = {}


@dataclass(frozen=True)
class Target:
    """A replaceable part: `original` is the attribute `name` of `owner`, a module or a class."""

    owner: Any
    name: str
    original: Callable[..., Any]

    @classmethod
    def find(cls, target: str) -> "Target":
        """From "package.module:attribute" or "package.module:Class.method". Raises LabError if there is no such
        function.
        """
        module, _, path = target.partition(":")
        *outer, name = path.split(".")
        try:
            owner: Any = functools.reduce(getattr, outer, import_module(module))
            original = vars(owner)[name]
        except (ImportError, AttributeError, KeyError) as error:
            raise LabError(f"labkit has no {target!r} to replace: {error}") from error
        if not callable(original):
            raise LabError(f"{target!r} is no plain function: it cannot be replaced by one")
        return cls(owner, name, original)

    def put(self, old: Callable[..., Any], new: Callable[..., Any]) -> None:
        """Replace `old` by `new` at the target, and in every labkit module that imported it by name."""
        setattr(self.owner, self.name, new)
        for module_name, module in list(sys.modules.items()):
            if module_name == "labkit" or module_name.startswith("labkit."):
                for key, value in list(vars(module).items()):
                    if value is old:
                        setattr(module, key, new)


class Swap(Card):
    """The state of one exchange: in place until `restore()`, the end of its `with` block, or the next one of the same
    exercise.

    `installed` says whether it is in the engine; `calls` counts how often the engine called it.
    """

    def __init__(
        self, exercise: str, target: Target, answer: Callable[..., Any] | None, *, why_not: str = ""
    ) -> None:
        self.exercise, self.target, self.calls = exercise, target, 0
        self.installed = False
        self._part: Callable[..., Any] | None = None
        if exercise in _active:
            _active[exercise].restore()
        if answer is None:
            super().__init__(f"labkit's own {exercise} stays in the engine.", why_not)
        else:
            super().__init__(
                f"Your {exercise} is now part of labkit.", "Everything below uses it.", tone="good"
            )
            self._install(answer)

    def restore(self) -> None:
        """Put labkit's own function back; does nothing if it is there already."""
        if self.installed and self._part is not None:
            self.target.put(self._part, self.target.original)
            self.installed = False
            _active.pop(self.exercise, None)

    def _install(self, answer: Callable[..., Any]) -> None:
        self._part = self._counted(answer)
        self.target.put(self.target.original, self._part)
        self.installed = True
        _active[self.exercise] = self

    def _counted(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        """The learner's function, counted; if it calls labkit's function itself, it gets the original, not itself
        again.
        """
        original, inside = self.target.original, threading.local()

        @functools.wraps(original)
        def part(*args: Any, **kwargs: Any) -> Any:
            if getattr(inside, "now", False):
                return original(*args, **kwargs)
            self.calls += 1
            inside.now = True
            try:
                return answer(*args, **kwargs)
            finally:
                inside.now = False

        return part

    def __enter__(self) -> Self:
        from IPython.display import display

        display(self)  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()
