"""The one frame of every experiment: knobs, a run button, progress, cancel, a status line, and a picture that redraws.

An experiment is a function of its knobs. The frame adds what a function lacks: it runs beside the notebook and can be
cancelled, keeps the old picture until the new one is ready, says errors in plain words where the learner looks, and
tells in words what the picture shows. Without a browser it is still the function: call it.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from labkit.lab.errors import LabError, in_plain_words
from labkit.lab.picture import Shown, png_bundle
from labkit.lab.widgets.job import Job, Report, unheard
from labkit.lab.widgets.knobs import Knob
from labkit.lab.widgets.view import View


class Experiment:
    """An experiment over `run(**knobs)`, drawn by `draw(result)`.

    run       the work. If it has a parameter `progress`, it is handed `progress(done, total, text="")`, to be called
              often: there a
              cancelled run ends.
    knobs     by the name of run's parameter: `Range`, `Choice`, `Steps` or `Toggle`.
    draw      result → `Picture` or `Svg`.
    describe  result → the sentence under the picture (default: the picture's alt text).
    initial   run once now, with the knobs as they start, so that the picture is there before a click and in static
              exports; an error in
              this run is raised, and the cell fails.
    auto      True: run at every turn of a knob, without a button; for work that takes less than a blink.

    Calling the experiment runs it here and now, and returns the result: `experiment(batch=8)`. `.result` is the last
    one.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        *,
        knobs: Mapping[str, Knob],
        draw: Callable[[Any], Shown],
        title: str = "",
        describe: Callable[[Any], str] | None = None,
        initial: bool = True,
        auto: bool = False,
    ) -> None:
        self._run, self._knobs, self._draw, self._describe = run, dict(knobs), draw, describe
        self._reports = "progress" in inspect.signature(run).parameters
        self.title = title
        self.result: Any = None
        self.picture: Shown | None = None
        self.text = ""
        self._view: View | None = None
        self._auto = auto
        self._job = Job(self._progressed, self._finished, self._failed, self._cancelled)
        _check_knobs(run, self._knobs)
        if initial or auto:
            self._keep(self())

    def __call__(self, **values: Any) -> Any:
        """Run with these knob values (the others as they start), here and now. Raises LabError for a value no knob
        takes.
        """
        return self._work(self._complete(values), unheard)

    @property
    def view(self) -> View:
        """The widgets, made when first asked for."""
        if self._view is None:
            self._view = View(
                self.title, {name: knob.widget(name) for name, knob in self._knobs.items()}, self._auto
            )
            self._view.connect(start=self.start, cancel=self.cancel, turned=self._turned)
            if self.picture is not None:
                self._view.show(self.picture, self.text)
        return self._view

    @property
    def busy(self) -> bool:
        return self._job.busy

    def start(self) -> bool:
        """Run with the knobs as they stand, beside the notebook; False if a run is still going."""
        if self.busy:
            self.view.say("Still running: wait, or press Cancel.")
            return False
        values = self.view.values()
        self.view.running()
        return self._job.start(lambda report: self._work(self._complete(values), report))

    def cancel(self) -> None:
        """Ask the run to stop; it ends at its next progress report."""
        self.view.say("Cancelling …")
        self._job.cancel()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the run has ended; for a later cell, or a test."""
        return self._job.wait(seconds)

    def _complete(self, values: Mapping[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(values) - set(self._knobs))
        if unknown:
            raise LabError(
                f"no knob {unknown[0]!r} in this experiment: it has {', '.join(self._knobs) or 'none'}"
            )
        return {name: knob.check(name, values.get(name, knob.start)) for name, knob in self._knobs.items()}

    def _work(self, values: dict[str, Any], report: Report) -> Any:
        return self._run(**values, progress=report) if self._reports else self._run(**values)

    def _keep(self, result: Any) -> None:
        picture = self._draw(result)
        if not isinstance(picture, Shown):
            raise LabError(
                f"draw returned {type(picture).__name__}: an experiment shows a lab.Picture or a lab.Svg"
            )
        picture.png()  # rendered here, not when the browser asks: the old picture stays until this one is ready
        self.result, self.picture = result, picture
        self.text = self._describe(result) if self._describe else picture.alt

    def _turned(self) -> None:
        try:
            self._finished(self._work(self._complete(self.view.values()), unheard))
        except Exception as error:
            self._failed(error)

    def _progressed(self, done: float, total: float, text: str) -> None:
        self.view.progressed(done, total, text)

    def _finished(self, result: Any) -> None:
        self._keep(result)
        if self.picture is not None:
            self.view.show(self.picture, self.text)
        self.view.ended("done", "Done.")

    def _failed(self, error: Exception) -> None:
        self.view.failed(in_plain_words(error), error)

    def _cancelled(self) -> None:
        self.view.ended("cancelled", "Cancelled. The picture is the one before.")

    def __repr__(self) -> str:
        return (
            f"{self.title}: {self.text}".strip(": ")
            if self.text
            else f"{self.title}: press Run to begin.".strip(": ")
        )

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        png = self.picture.png() if self.picture is not None else None
        data, metadata = png_bundle(png, self.text) if png else ({}, {})
        widget = self.view.box._repr_mimebundle_()
        return {**widget, **data, "text/plain": repr(self)}, metadata


def _check_knobs(run: Callable[..., Any], knobs: Mapping[str, Knob]) -> None:
    parameters = inspect.signature(run).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for name in knobs:
        if name not in parameters or name == "progress":
            raise LabError(
                f"the knob {name!r} turns nothing: run takes {', '.join(parameters) or 'no parameters'}"
            )
