"""Exercises: each re-implements one small function of labkit, is checked by its properties, and is plugged into the
engine.

labkit is the answer book: there are no separate solutions. An exercise lives in a module of its own here, with the
wrong answers it must recognise; a test proves that each of them is rejected with its own diagnosis.
"""

from functools import cache
from importlib import import_module

from labkit.lab.errors import LabError
from labkit.lab.exercises.base import Exercise

_MODULES = {
    "tpot": "tpot",
    "kv_bytes_per_token": "kv_bytes_per_token",
    "ridge": "ridge",
    "attainable": "attainable",
}
NAMES = tuple(_MODULES)


@cache
def exercise(name: str) -> Exercise:
    """The exercise of that name, always the same object, which remembers its hints. Raises LabError if unknown."""
    if name not in _MODULES:
        raise LabError(f"no exercise {name!r}: there are {', '.join(NAMES)}")
    made: Exercise = import_module(f"{__name__}.{_MODULES[name]}").make()
    return made
