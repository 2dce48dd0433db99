"""A short message to the learner, as HTML for the eye and as plain text for everything else."""

from typing import Any, Literal

from labkit.lab.picture import escape

Tone = Literal["good", "wrong", "note"]
_EDGE = {"good": "#1a7f37", "wrong": "#b35900", "note": "#0b4a8f"}
_WORD = {"good": "✔", "wrong": "✘", "note": "●"}


class Card:
    """A titled message. `html` is the body as HTML, `text` the whole message as plain text; `tone` colours
    its edge.
    """

    def __init__(self, title: str, text: str = "", *, html: str = "", tone: Tone = "note") -> None:
        self.title, self.tone = title, tone
        self.text = f"{title}\n{text}".strip()
        self._body = html or "".join(
            f"<p style='margin:.35em 0'>{escape(line)}</p>" for line in text.splitlines() if line
        )

    def html(self, role: str = "note") -> str:
        """The card as HTML; `role` is the ARIA role of its frame."""
        return (
            f'<div role="{role}" style="border-left:4px solid {_EDGE[self.tone]};padding:.3em '
            f'.8em;margin:.4em 0;max-width:52em">'
            f'<strong><span aria-hidden="true" style="color:{_EDGE[self.tone]}">{_WORD[self.tone]}</span> '
            f"{escape(self.title)}</strong>{self._body}</div>"
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text}


def table(header: tuple[str, ...], rows: list[tuple[str, ...]], links: dict[str, str] | None = None) -> str:
    """An HTML table; a cell whose text is a key of `links` becomes a link."""
    links = links or {}

    def cell(text: str) -> str:
        return f'<a href="{escape(links[text])}">{escape(text)}</a>' if text in links else escape(text)

    head = "".join(f'<th scope="col" style="text-align:left">{escape(text)}</th>' for text in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell(text)}</td>' for text in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """The same table in plain text, columns padded to their widest cell."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    return "\n".join(
        "  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip()
        for row in [header, *rows]
    )
