"""The decision tree as a picture whose nodes open the notebooks.

JupyterLab follows links in HTML, but skips `<a>` elements of SVG, so each node is an HTML link inside the drawing.
Where links are stripped (an untrusted notebook, a code host) the same links remain as a list, and exports have a PNG.
"""

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.lab import style
from labkit.lab.course import LESSONS, OTHERWISE, QUESTIONS, Question, notebook_file
from labkit.lab.errors import LabError
from labkit.lab.picture import Picture, Svg, escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, ROW, BOX = 860, 74, 54
"""Pixels: the picture's width, the distance between questions, the height of a box."""
_LEFT, _ASK, _GAP = 8, 330, 50
_ANSWER = _LEFT + _ASK + _GAP
_CHIP = "display:inline-block;white-space:nowrap;padding:1px 6px;border-radius:9px;font:12px sans-serif"
_LIT, _PLAIN, _EDGE = "#fff0c2", "#f5f7fa", "#8793a1"


@dataclass(frozen=True)
class _Node:
    """A lesson in the picture: where it stands, and the file it opens (None: planned)."""

    number: str
    x: float
    y: float
    width: float
    file: str | None

    @property
    def label(self) -> str:
        return f"{self.number} {LESSONS[self.number].title}"


def tree(lit: int | None = None) -> Svg:
    """The decision tree; `lit` is the question this notebook answers. Raises LabError if there is none such."""
    if lit is not None and lit not in range(len(QUESTIONS)):
        raise LabError(f"no question {lit!r} in the tree: the questions are 0 to {len(QUESTIONS) - 1}")
    nodes = [node for row, question in enumerate(QUESTIONS) for node in _nodes(question.lessons, row)]
    nodes += _nodes(OTHERWISE[1], len(QUESTIONS))
    return Svg(_svg(nodes, lit), _alt(lit), _picture(nodes, lit).png(), text=_list(lit))


def _nodes(numbers: tuple[str, ...], row: int) -> list[_Node]:
    """The lessons of a row, side by side, each as wide as its label."""
    nodes: list[_Node] = []
    x = _edge(row) + 10.0
    for number in numbers:
        width = 16 + 6.2 * len(f"{number} {LESSONS[number].title}")
        nodes.append(_Node(number, x, row * ROW + 38, width, notebook_file(number)))
        x += width + 5
    return nodes


def _edge(row: int) -> int:
    """Left edge of a row's answer; the last row is an answer alone."""
    return _ANSWER if row < len(QUESTIONS) else _LEFT


def _question(question: Question) -> list[str]:
    return textwrap.wrap(f"{question.number}. {question.text}", 46)


def _answers() -> list[str]:
    return [question.technique for question in QUESTIONS] + [OTHERWISE[0]]


def _height() -> int:
    return (len(QUESTIONS) + 1) * ROW + 4


def _svg(nodes: list[_Node], lit: int | None) -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_height()}" width="{WIDTH}" '
        f'style="max-width:100%;height:auto;font:13px sans-serif" data-lit="{"" if lit is None else lit}">'
        '<defs><marker id="labkit-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{_EDGE}"/></marker></defs>'
    ]
    parts += [_svg_question(question, lit) for question in QUESTIONS]
    parts += [_svg_answer(row, text, row == lit) for row, text in enumerate(_answers())]
    parts += [_svg_node(node) for node in nodes]
    return "".join(parts) + "</svg>"


def _svg_question(question: Question, lit: int | None) -> str:
    top, is_lit, text = question.number * ROW + 8, question.number == lit, _question(question)
    weight = ' font-weight="bold"' if is_lit else ""
    first = top + BOX / 2 + 4.5 - 8 * (len(text) - 1)
    words = "".join(
        f'<tspan x="{_LEFT + 12}" y="{first + 16 * i}">{escape(line)}</tspan>' for i, line in enumerate(text)
    )
    middle, answer_y = _LEFT + 60, top + BOX / 2
    down = (
        f'<path d="M{middle} {top + BOX}V{top + ROW - 2}" stroke="{_EDGE}" marker-end="url(#labkit-tip)"/>'
        f'<text x="{middle + 8}" y="{top + BOX + 14}" font-size="11" fill="#555">'
        f"{escape(_down(question))}</text>"
    )
    return (
        f'<rect x="{_LEFT}" y="{top}" width="{_ASK}" height="{BOX}" rx="8" fill="{_LIT if is_lit else _PLAIN}" '
        f'stroke="{"#111" if is_lit else _EDGE}" stroke-width="{2.5 if is_lit else 1}"/>'
        f'<text fill="#111"{weight}>{words}</text>'
        f'<path d="M{_LEFT + _ASK} {answer_y}H{_ANSWER - 2}" stroke="{_EDGE}" marker-end="url(#labkit-tip)"/>'
        f'<text x="{_LEFT + _ASK + 14}" y="{answer_y - 6}" font-size="11" fill="#555">{_across(question)}</text>{down}'
    )


def _across(question: Question) -> str:
    return "first" if question.number == 0 else "yes"


def _down(question: Question) -> str:
    return f"then: {question.handed_on}" if question.number == 0 else f"no: {question.handed_on}"


def _svg_answer(row: int, text: str, is_lit: bool) -> str:
    top = row * ROW + 8
    x, fill = _edge(row), _LIT if is_lit else "#fff"
    return (
        f'<rect x="{x}" y="{top}" width="{WIDTH - x - 8}" height="{BOX}" rx="8" fill="{fill}" stroke="{_EDGE}"/>'
        f'<text x="{x + 12}" y="{top + 17}" fill="#111" font-weight="bold">{escape(text)}</text>'
    )


def _svg_node(node: _Node) -> str:
    label = escape(node.label)
    if node.file is None:
        inside = (
            f'<span style="{_CHIP};color:#595959;border:1px dashed #8c8c8c" title="planned">{label}</span>'
        )
    else:
        look = f"{_CHIP};color:#0b4a8f;border:1px solid #0b4a8f;background:#eaf2fb"
        inside = f'<a href="{escape(node.file)}" style="{look}">{label}</a>'
    return (
        f'<foreignObject x="{node.x}" y="{node.y - 4}" width="{node.width}" height="24">'
        f'<div xmlns="http://www.w3.org/1999/xhtml">{inside}</div></foreignObject>'
    )


def _picture(nodes: list[_Node], lit: int | None) -> Picture:
    """The same drawing by matplotlib, for the PNG."""
    with style.drawing():
        inches = style.CSS_PIXELS_PER_INCH
        figure = style.figure(height=_height() / inches, width=WIDTH / inches)
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(_height(), 0))
        axes.set_axis_off()
        for question in QUESTIONS:
            _paint_question(axes, question, lit)
        for row, text in enumerate(_answers()):
            x = _edge(row)
            _paint_box(axes, x, row * ROW + 8, WIDTH - x - 8, "#ffffff" if row != lit else _LIT, 1)
            axes.text(x + 12, row * ROW + 17, text, fontsize=9.5, fontweight="bold", va="top")
        for node in nodes:
            _paint_node(axes, node)
    return Picture(figure, _alt(lit))


def _paint_question(axes: "Axes", question: Question, lit: int | None) -> None:
    top, is_lit = question.number * ROW + 8, question.number == lit
    _paint_box(axes, _LEFT, top, _ASK, _LIT if is_lit else _PLAIN, 2.5 if is_lit else 1)
    weight = "bold" if is_lit else "normal"
    axes.text(
        _LEFT + 12, top + BOX / 2, "\n".join(_question(question)), fontsize=9, va="center", fontweight=weight
    )
    arrow = {"arrowstyle": "-|>", "color": _EDGE, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (_ANSWER, top + BOX / 2), (_LEFT + _ASK, top + BOX / 2), arrowprops=arrow)
    axes.annotate("", (_LEFT + 60, top + ROW), (_LEFT + 60, top + BOX), arrowprops=arrow)
    axes.text(_LEFT + _ASK + 14, top + BOX / 2 - 5, _across(question), fontsize=8, color="#555555")
    axes.text(_LEFT + 68, top + BOX + 14, _down(question), fontsize=8, color="#555555")


def _paint_box(axes: "Axes", x: float, y: float, width: float, fill: str, line: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    edge = "#111111" if line > 1 else _EDGE
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            BOX,
            boxstyle="round,pad=0,rounding_size=8",
            facecolor=fill,
            edgecolor=edge,
            linewidth=line,
        )
    )


def _paint_node(axes: "Axes", node: _Node) -> None:
    planned = node.file is None
    frame = {"boxstyle": "round,pad=0.25", "facecolor": "white" if planned else "#eaf2fb", "linewidth": 0.9}
    frame |= {"edgecolor": "#8c8c8c" if planned else "#0b4a8f", "linestyle": "--" if planned else "-"}
    axes.text(
        node.x + 6,
        node.y + 6,
        node.label,
        fontsize=8,
        va="center",
        color="#595959" if planned else "#0b4a8f",
        bbox=frame,
    )


def _list(lit: int | None) -> str:
    rows = "".join(
        f"<li value='{question.number}'>{escape(question.text)} <em>{escape(question.technique)}</em>: "
        f"{', '.join(_link(number) for number in question.lessons)}"
        f"{' (this notebook)' if question.number == lit else ''}</li>"
        for question in QUESTIONS
    )
    otherwise = ", ".join(_link(number) for number in OTHERWISE[1])
    return (
        f"<details><summary>The same tree as a list of links</summary><ol start='0'>{rows}</ol>"
        f"<p>None of these: {escape(OTHERWISE[0])}: {otherwise}</p></details>"
    )


def _link(number: str) -> str:
    file, label = notebook_file(number), f"{number} {LESSONS[number].title}"
    return f'<a href="{escape(file)}">{escape(label)}</a>' if file else f"{escape(label)} (planned)"


def _alt(lit: int | None) -> str:
    told = " ".join(
        f"Question {q.number}: {q.text} {q.technique[0].upper() + q.technique[1:]} (notebook {', '.join(q.lessons)})."
        for q in QUESTIONS
    )
    here = f" This notebook answers question {lit}." if lit is not None else ""
    return (
        f"The decision tree. {told} None of these: {OTHERWISE[0]} (notebook {', '.join(OTHERWISE[1])}).{here}"
    )
