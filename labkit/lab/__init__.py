"""What a person sees: figures, widgets, exercises, quizzes, predictions, progress, and the machine's health.

`from labkit import lab` costs nothing: a name is imported when it is first used, so that a broken plotting
library cannot keep `lab.doctor()` from saying so. Several names (`lab.quiz`, `lab.progress`, `lab.doctor` …)
are functions that live in a module of the same name; `labkit.lab.quiz` is the function, `from labkit.lab.quiz
import …` reaches the module.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.lab.exercises import exercise as exercise
    from labkit.lab.experiments.answers import real_model as real_model
    from labkit.lab.figures.bars import bars as bars
    from labkit.lab.figures.lines import lines as lines
    from labkit.lab.figures.roofline import Point as Point
    from labkit.lab.figures.roofline import Roof as Roof
    from labkit.lab.figures.roofline import roofline as roofline
    from labkit.lab.figures.timeline import timeline as timeline
    from labkit.lab.figures.tree import tree as tree
    from labkit.lab.picture import Picture as Picture
    from labkit.lab.picture import Svg as Svg
    from labkit.lab.predict import compare as compare
    from labkit.lab.predict import predict as predict
    from labkit.lab.progress import begin as begin
    from labkit.lab.progress import finish as finish
    from labkit.lab.progress import progress as progress
    from labkit.lab.quiz import quiz as quiz
    from labkit.lab.source import show_source as show_source
    from labkit.lab.widgets.experiment import Experiment as Experiment
    from labkit.lab.widgets.knobs import Choice as Choice
    from labkit.lab.widgets.knobs import Range as Range
    from labkit.lab.widgets.knobs import Steps as Steps
    from labkit.lab.widgets.knobs import Toggle as Toggle

_HOME = {
    "begin": "progress",
    "finish": "progress",
    "exercise": "exercises",
    "bars": "figures.bars",
    "lines": "figures.lines",
    "Point": "figures.roofline",
    "Roof": "figures.roofline",
    "roofline": "figures.roofline",
    "timeline": "figures.timeline",
    "tree": "figures.tree",
    "Picture": "picture",
    "Svg": "picture",
    "compare": "predict",
    "predict": "predict",
    "progress": "progress",
    "quiz": "quiz",
    "show_source": "source",
    "Experiment": "widgets.experiment",
    "Choice": "widgets.knobs",
    "Range": "widgets.knobs",
    "Steps": "widgets.knobs",
    "Toggle": "widgets.knobs",
    "real_model": "experiments.answers",
    "rung": "rung",
    "doctor": "doctor",
}

__all__ = sorted(_HOME)


class _Lab(ModuleType):
    """Keeps a public name the function it is: Python would rebind `lab.quiz` to the module `labkit.lab.quiz`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"labkit.lab has no {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Lab
