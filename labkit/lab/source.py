"""labkit's own source, shown in the notebook: what a learner should read is in the library, and comes from there."""

import inspect
import textwrap
from pathlib import Path
from typing import Any

from labkit.lab.card import Card
from labkit.lab.errors import LabError
from labkit.lab.picture import escape


class Source(Card):
    """Code with the file and line where it lives. `code` is the source text, `place` is "file:line"."""

    def __init__(self, code: str, place: str) -> None:
        self.code, self.place = code, place
        super().__init__(place, code, html=_highlighted(code))


def show_source(obj: Any) -> Source:
    """The source of a function, class, method or module of labkit, highlighted. Raises LabError for what has none."""
    obj = obj.fget if isinstance(obj, property) else obj
    obj = inspect.unwrap(obj) if callable(obj) else obj
    try:
        lines, first = inspect.getsourcelines(obj)
        file = inspect.getsourcefile(obj)
    except (OSError, TypeError) as error:
        raise LabError(
            f"there is no source to show for {obj!r}: give a function, class or module of labkit"
        ) from error
    return Source(textwrap.dedent("".join(lines)).rstrip(), f"{_short(file or '?')}:{max(first, 1)}")


def _short(file: str) -> str:
    """The path from the package on, the same on every machine."""
    parts = Path(file).parts
    return (
        "/".join(parts[len(parts) - 1 - parts[::-1].index("labkit") :])
        if "labkit" in parts[:-1]
        else Path(file).name
    )


def _highlighted(code: str) -> str:
    try:
        from pygments import highlight  # type: ignore[import-untyped]
        from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
        from pygments.lexers import PythonLexer  # type: ignore[import-untyped]
    except ImportError:
        return f"<pre>{escape(code)}</pre>"
    formatter = HtmlFormatter(
        noclasses=True, style="friendly", cssstyles="background:#f7f7f7;color:#111;padding:.5em"
    )
    return str(highlight(code, PythonLexer(), formatter))
