"""Pictures that say in words what they show.

Alt text is not optional here: a learner who cannot see the picture, a static export and a failing image all
fall back to it, and it is the picture's `text/plain`, so notebooks stay comparable (the default repr holds a
memory address).
"""

import base64
import io
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.lab import style
from labkit.lab.errors import LabError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNSEEN = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap"
"""Style of words that are read aloud and not shown."""

Bundle = tuple[dict[str, Any], dict[str, Any]]
"""What Jupyter displays: data by MIME type, and metadata by MIME type."""


class Picture:
    """A matplotlib figure with its alt text.

    Attributes: `figure`, `alt`; `css_size` is the (width, height) in CSS pixels at which it is shown.
    Raises LabError if `alt` is empty.
    """

    def __init__(self, figure: "Figure", alt: str) -> None:
        self.figure = figure
        self.alt = _required(alt)
        self._png: bytes | None = None

    @property
    def css_size(self) -> tuple[int, int]:
        """Width and height in CSS pixels at which it is shown."""
        width, height = self.figure.get_size_inches()
        return round(width * style.CSS_PIXELS_PER_INCH), round(height * style.CSS_PIXELS_PER_INCH)

    def png(self) -> bytes:
        """The picture as PNG bytes; rendered once."""
        if self._png is None:
            buffer = io.BytesIO()
            with style.drawing():
                self.figure.savefig(buffer, format="png", dpi=style.RENDERED_DOTS_PER_INCH)
            self._png = buffer.getvalue()
        return self._png

    def html(self) -> str:
        """The picture as an `<img>` with its alt text."""
        width, height = self.css_size
        return (
            f'<img alt="{escape(self.alt)}" width="{width}" height="{height}" decoding="sync" '
            f'style="max-width:100%;height:auto" src="data:image/png;base64,{_base64(self.png())}">'
        )

    def save(self, path: str | Path) -> Path:
        """Write the picture; the suffix (.png, .svg, .pdf) names the format."""
        path = Path(path)
        with style.drawing():
            self.figure.savefig(path, dpi=style.RENDERED_DOTS_PER_INCH)
        return path

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        return png_bundle(self.png(), self.alt, self.css_size)

    def _ipython_display_(self) -> None:
        """The picture, then its words for screen readers: JupyterLab shows a PNG without its alt text."""
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        display(data, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]
        display({"text/html": f'<span style="{_UNSEEN}">{escape(self.alt)}</span>'}, raw=True)  # type: ignore[no-untyped-call]


class Svg:
    """A vector picture for quick redraws and for links, with its alt text and a PNG for static exports.

    `svg` is one `<svg …>` element. `png` is its raster twin, or None where only live display matters. `text`
    is optional HTML shown below, such as the same links as a list. Raises LabError on an empty alt or another
    element.
    """

    def __init__(self, svg: str, alt: str, png: bytes | None = None, text: str = "") -> None:
        if not svg.lstrip().startswith("<svg"):
            raise LabError(f"Svg needs an <svg> element, got {svg[:40]!r}")
        self.svg, self.alt, self.text = svg, _required(alt), text
        self._png = png

    def html(self) -> str:
        """The picture as HTML: an image to assistive technology unless it holds links, which must stay
        reachable.
        """
        role = "group" if "<a " in self.svg else "img"
        return (
            f'<div role="{role}" aria-label="{escape(self.alt)}" '
            f'style="background:white;color:#111;max-width:100%">'
            f"{self.svg}</div>{self.text}"
        )

    def png(self) -> bytes | None:
        """The raster twin, if there is one."""
        return self._png

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        data, metadata = png_bundle(self._png, self.alt) if self._png else ({"text/plain": self.alt}, {})
        return {**data, "text/html": self.html()}, metadata


Shown = Picture | Svg
"""Anything an experiment can show."""


def png_bundle(png: bytes, alt: str, css_size: tuple[int, int] | None = None) -> Bundle:
    """A display bundle of a PNG with its alt text, shown at `css_size` (default: as rendered, at the screen's
    density).
    """
    width, height = css_size or shown_size(png)
    data = {"image/png": _base64(png), "text/plain": alt}
    return data, {"image/png": {"alt": alt, "width": width, "height": height}}


def shown_size(png: bytes) -> tuple[int, int]:
    """Width and height in CSS pixels of a PNG rendered at the course's density."""
    if png[:8] != b"\x89PNG\r\n\x1a\n":
        raise LabError(f"not a PNG: it starts with {png[:8]!r}")
    width, height = struct.unpack(">II", png[16:24])
    scale = style.CSS_PIXELS_PER_INCH / style.RENDERED_DOTS_PER_INCH
    return round(width * scale), round(height * scale)


def escape(text: object) -> str:
    """Text safe inside HTML, also inside a quoted attribute."""
    import html

    return html.escape(str(text), quote=True)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _required(alt: str) -> str:
    if not alt.strip():
        raise LabError("a picture needs alt text: say in a sentence or two what it shows")
    return " ".join(alt.split())
