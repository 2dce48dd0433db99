"""Pictures carry their words, show at their size, and render once."""

import base64
import io
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image

from labkit.lab import style
from labkit.lab.errors import LabError
from labkit.lab.picture import Picture, Svg, shown_size

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><rect width="5" height="5"/></svg>'


@pytest.fixture
def picture() -> Picture:
    with style.drawing():
        figure = style.figure(height=2, width=4)
        figure.subplots().plot([1, 2])
    return Picture(figure, "A line  that\n rises.")


def test_the_bundle_has_png_alt_text_and_stable_text(picture: Picture) -> None:
    data, metadata = picture._repr_mimebundle_()
    shown = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert shown.size == (4 * style.RENDERED_DOTS_PER_INCH, 2 * style.RENDERED_DOTS_PER_INCH)
    assert data["text/plain"] == "A line that rises." == repr(picture)
    assert metadata["image/png"] == {"alt": "A line that rises.", "width": 384, "height": 192}


def test_displaying_gives_the_picture_and_words_for_screen_readers(
    picture: Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: shown.append(data))
    picture._ipython_display_()
    assert [set(data) for data in shown] == [{"image/png", "text/plain"}, {"text/html"}]
    assert "A line that rises." in shown[1]["text/html"]


def test_as_html_it_is_an_image_with_alt_text_and_a_size(picture: Picture) -> None:
    picture.alt = 'a "quoted" <line>'
    image = ET.fromstring(picture.html().replace('">', '"/>'))
    assert (image.tag, image.get("alt"), image.get("width")) == ("img", 'a "quoted" <line>', "384")
    assert base64.b64decode(image.get("src", "").partition(",")[2]) == picture.png()


def test_a_png_is_shown_at_the_size_of_its_figure(picture: Picture) -> None:
    assert shown_size(picture.png()) == picture.css_size


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_alt_text_is_mandatory(picture: Picture, alt: str) -> None:
    with pytest.raises(LabError, match="alt text"):
        Picture(picture.figure, alt)
    with pytest.raises(LabError, match="alt text"):
        Svg(SVG, alt)


def test_save_writes_the_format_of_the_suffix(picture: Picture, tmp_path: Path) -> None:
    assert Image.open(picture.save(tmp_path / "a.png")).format == "PNG"
    assert ET.parse(picture.save(tmp_path / "a.svg")).getroot().tag.endswith("svg")


def test_svg_is_an_image_with_a_label_unless_it_holds_links() -> None:
    quoted = Svg(SVG, 'a "square" & more')
    root = ET.fromstring(quoted.html())
    assert (root.get("role"), root.get("aria-label")) == ("img", 'a "square" & more')
    linked = Svg(SVG.replace("<rect", '<a href="x"><text>x</text></a><rect'), "a link")
    assert (
        ET.fromstring(linked.html()).get("role") == "group"
    )  # an image's children are hidden from screen readers


def test_svg_falls_back_to_png_and_text(picture: Picture) -> None:
    data, metadata = Svg(SVG, "a square", picture.png())._repr_mimebundle_()
    assert set(data) == {"text/html", "image/png", "text/plain"}
    assert metadata["image/png"]["alt"] == "a square"
    assert set(Svg(SVG, "a square")._repr_mimebundle_()[0]) == {"text/html", "text/plain"}


def test_what_is_no_svg_or_png_is_refused() -> None:
    with pytest.raises(LabError, match="<svg>"):
        Svg("<div></div>", "a div")
    with pytest.raises(LabError, match="not a PNG"):
        shown_size(b"GIF89a")
