"""The tree opens notebooks that exist, marks those that do not, and lights one question."""

import io
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from labkit import lab
from labkit.lab.course import LESSONS, OTHERWISE, QUESTIONS, lesson_of
from labkit.lab.errors import LabError

XHTML = "{http://www.w3.org/1999/xhtml}"
Shelf = Callable[..., Path]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """A course folder holding just the named notebooks."""

    def fill(*names: str) -> Path:
        (tmp_path / "data").mkdir()
        (tmp_path / "notebooks").mkdir()
        for name in names:
            (tmp_path / "notebooks" / name).touch()
        monkeypatch.setenv("LABKIT_DATA", str(tmp_path / "data"))
        return tmp_path / "notebooks"

    return fill


def links(svg: str) -> dict[str, str]:
    return {"".join(a.itertext()): a.get("href", "") for a in ET.fromstring(svg).iter(f"{XHTML}a")}


def test_nodes_open_the_notebooks_that_exist(shelf: Shelf) -> None:
    shelf("01_what_is_slow.ipynb", "04_batching.ipynb")
    tree = lab.tree()
    assert links(tree.svg) == {
        "01 What is slow?": "01_what_is_slow.ipynb",
        "04 Continuous batching": "04_batching.ipynb",
    }
    assert 'href="01_what_is_slow.ipynb"' in tree.text  # the same link in the list
    assert "03 Prefix caching (planned)" in tree.text


def test_every_lesson_of_the_tree_is_drawn(shelf: Shelf) -> None:
    shelf()
    drawn = "".join(ET.fromstring(lab.tree().svg).itertext())
    for number in {n for q in QUESTIONS for n in q.lessons} | set(OTHERWISE[1]):
        assert f"{number} {LESSONS[number].title}" in drawn


def test_nodes_of_a_row_do_not_overlap_or_leave_the_picture(shelf: Shelf) -> None:
    shelf()
    root = ET.fromstring(lab.tree().svg)
    width = float(root.get("width", 0))
    rows: dict[str, list[tuple[float, float]]] = {}
    for node in root.iter("{http://www.w3.org/2000/svg}foreignObject"):
        x = float(node.get("x", 0))
        rows.setdefault(node.get("y", ""), []).append((x, x + float(node.get("width", 0))))
    for spans in rows.values():
        ends = [end for _, end in spans]
        assert all(end <= start for end, (start, _) in zip(ends, spans[1:], strict=False))
        assert max(ends) < width


def test_one_question_is_lit(shelf: Shelf) -> None:
    shelf()
    pictures = {lab.tree(lit=lit).png() for lit in (None, 0, 3)}
    assert len(pictures) == 3
    assert lab.tree(lit=3).alt.endswith("This notebook answers question 3.")
    assert ET.fromstring(lab.tree(lit=3).svg).get("data-lit") == "3"


def test_the_fallback_is_a_picture(shelf: Shelf) -> None:
    shelf()
    assert Image.open(io.BytesIO(lab.tree().png() or b"")).width > 600


@pytest.mark.parametrize("lit", [-1, 7, "one"])
def test_an_unknown_question_is_refused(lit: int) -> None:
    with pytest.raises(LabError, match="no question"):
        lab.tree(lit=lit)


def test_every_question_leads_to_a_known_lesson() -> None:
    assert [question.number for question in QUESTIONS] == list(range(7))
    assert all(number in LESSONS for question in QUESTIONS for number in question.lessons)


def test_a_notebook_is_known_by_its_number() -> None:
    assert lesson_of("02b_sparsity.ipynb") is LESSONS["02b"]
    with pytest.raises(LabError, match="'99_x' is no notebook"):
        lesson_of("99_x")
