"""What an experiment looks like: it holds every widget and no logic.

The picture has a fixed place, so nothing jumps; its bytes are replaced only when the next picture is complete. States
are told three ways: in words (the status line, a live region), in `data-state` (for tests), and by what can be pressed.
"""

import traceback
from collections.abc import Callable
from typing import Any, Literal

from ipywidgets import HTML, Box, Button, FloatProgress, HBox, VBox

from labkit.lab.picture import Picture, Shown, escape

State = Literal["idle", "running", "done", "failed", "cancelled"]


class View:
    """The widgets of one experiment; `knobs` by name. `auto` has no run button: it redraws as a knob turns."""

    def __init__(self, title: str, knobs: dict[str, Any], auto: bool) -> None:
        self.knobs = knobs
        self.run = Button(
            description="Run", button_style="primary", tooltip="Run with the knobs as they stand"
        )
        self.cancel = Button(description="Cancel", tooltip="Stop the run", disabled=True)
        self.bar = FloatProgress(min=0, max=1, value=0, layout={"width": "16em", "visibility": "hidden"})
        self.status = HTML()
        self.drawing = HTML()  # an Image widget would have no alt text
        self.words = HTML()
        self.canvas = Box([self.drawing], layout={"overflow": "auto", "flex": "0 0 auto"})
        self.runs = 0
        self._auto = auto
        controls = [] if auto else [HBox([self.run, self.cancel, self.bar], layout={"flex_flow": "row wrap"})]
        head = [HTML(f"<strong>{escape(title)}</strong>")] if title else []
        self.box = VBox([*head, *knobs.values(), *controls, self.status, self.canvas, self.words])
        self._tell("idle", "Turn a knob: the picture follows." if auto else "Turn the knobs, then press Run.")

    def connect(
        self, *, start: Callable[[], Any], cancel: Callable[[], Any], turned: Callable[[], Any]
    ) -> None:
        """Tie the buttons, and in automatic mode the knobs, to what they do."""
        self.run.on_click(lambda _: start())
        self.cancel.on_click(lambda _: cancel())
        if self._auto:
            for knob in self.knobs.values():
                knob.observe(lambda _: turned(), names="value")

    def values(self) -> dict[str, Any]:
        """What the knobs stand at, by name."""
        return {name: widget.value for name, widget in self.knobs.items()}

    def running(self) -> None:
        """A run began."""
        self.cancel.disabled = False  # Run stays enabled: a disabled button loses the keyboard's focus
        self.bar.value, self.bar.layout.visibility = 0, "visible"
        self._tell("running", "Running …")

    def progressed(self, done: float, total: float, text: str) -> None:
        """A run is `done` of `total` on its way."""
        self.bar.max, self.bar.value = max(total, 1e-9), done
        self._tell("running", text or f"Running: {done:g} of {total:g}")

    def say(self, text: str) -> None:
        """Words in the status line while a run goes on."""
        self._tell("running", text)

    def show(self, picture: Shown, text: str) -> None:
        """Replace the picture and its words."""
        if isinstance(picture, Picture):
            self._reserve(picture.css_size[1])
        self.drawing.value = picture.html()
        self.words.value = f'<p style="max-width:52em;line-height:1.4" aria-live="polite">{escape(text)}</p>'

    def ended(self, state: State, text: str) -> None:
        """A run ended: done, failed or cancelled."""
        self.runs += 1
        self.cancel.disabled = True
        self.bar.layout.visibility = "hidden"
        self._tell(state, text)

    def failed(self, text: str, error: Exception) -> None:
        """Say what went wrong in plain words; the traceback is there for those who want it."""
        self.ended("failed", text)
        trace = escape("".join(traceback.format_exception(error)))
        details = f"<details><summary>Details</summary><pre>{trace}</pre></details>"
        self.status.value = self._status("failed", "alert", f"That did not work. {text}") + details

    def _reserve(self, height: int) -> None:
        """The picture's place only grows, so that what is below stays where it is."""
        current = int((self.canvas.layout.min_height or "0px").removesuffix("px"))
        if height > current:
            self.canvas.layout.min_height = f"{height}px"

    def _tell(self, state: State, text: str) -> None:
        self.status.value = self._status(state, "status", text)

    def _status(self, state: State, role: str, text: str) -> str:
        colour = "#b3261e" if role == "alert" else "inherit"
        return (
            f'<div role="{role}" class="labkit-status" data-state="{state}" data-runs="{self.runs}" '
            f'style="color:{colour};line-height:1.4;white-space:normal">{escape(text)}</div>'
        )
