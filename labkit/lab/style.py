"""One look for every figure of the course: a colour, a hatch and a marker per concept.

A concept keeps its colour in all notebooks, so that a picture is read before its legend. The colours are chosen by a
search over CIELAB distance under normal vision and three simulated colour-vision deficiencies (Machado, Oliveira and
Fernandes 2009), each with a contrast of at least 3:1 to white. Hatches and markers carry the same information, so
colour is never the only carrier. Nothing here touches matplotlib's global settings: they hold inside `drawing()` only,
and only object oriented figures on an Agg canvas are made, because widget callbacks may run beside another cell that
plots.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.lab.errors import LabError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CSS_PIXELS_PER_INCH = 96
"""A picture of 8 inches is shown 768 pixels wide, which fits a notebook beside the file browser."""
RENDERED_DOTS_PER_INCH = 144
"""Pictures are rendered finer than shown, for screens with small pixels."""
WIDTH = 8.0


@dataclass(frozen=True)
class Concept:
    """How one idea of the course looks: `colour` as #rrggbb, `hatch` for areas, `marker` and `dash` for lines."""

    colour: str
    hatch: str
    marker: str
    dash: str


CONCEPTS: dict[str, Concept] = {
    "prefill": Concept("#0067de", "", "o", "-"),
    "decode": Concept("#e86f1b", "//", "s", "-"),
    "cached": Concept("#38a362", "..", "^", "-."),
    "wasted": Concept("#8f8f94", "xx", "x", ":"),
    "draft": Concept("#b560ba", "\\\\", "D", "--"),
    "accepted": Concept("#003902", "++", "P", "-"),
    "rejected": Concept("#95264d", "oo", "X", ":"),
    "weights": Concept("#0067de", "", "o", "-"),
    "kv": Concept("#38a362", "..", "^", "-."),
    "limit": Concept("#111111", "", "_", "--"),
    "measured": Concept("#e86f1b", "", "s", "-"),
    "predicted": Concept("#0067de", "//", "o", "--"),
    "neutral": Concept("#6b6b6b", "", "v", "-."),
}

APART = (
    ("prefill", "decode", "cached", "wasted", "draft", "accepted", "rejected", "limit"),
    ("weights", "kv", "limit", "wasted"),
    ("measured", "predicted", "limit", "neutral"),
)
"""Concepts that appear in one figure, and so must be told apart by every eye."""

SEQUENCE = ("prefill", "decode", "cached", "draft", "rejected", "accepted", "wasted")
"""The order in which series without a concept of their own are coloured."""

_SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.labelcolor": "#222222",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.7,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "text.color": "#111111",
    "hatch.linewidth": 0.6,
    "hatch.color": "white",
    "lines.linewidth": 2.0,
    "lines.markersize": 6,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
}

_drawing = threading.RLock()


def concept(name: str) -> Concept:
    """The look of a concept. Raises LabError for a name the course does not use."""
    if name not in CONCEPTS:
        raise LabError(f"no concept {name!r} in the figure style: use one of {', '.join(CONCEPTS)}")
    return CONCEPTS[name]


@contextmanager
def drawing() -> Iterator[None]:
    """The course's settings, for the block only. One thread draws at a time: matplotlib's settings are global."""
    import matplotlib

    with _drawing, matplotlib.rc_context(_SETTINGS):
        yield


def figure(height: float, width: float = WIDTH) -> "Figure":
    """A new figure on an Agg canvas, in inches; call it, and everything that draws on it, inside `drawing()`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def contrast_to_white(colour: str) -> float:
    """WCAG contrast ratio of `#rrggbb` against white, from 1 (white) to 21 (black)."""
    linear = [_linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 1.05 / (luminance + 0.05)


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
