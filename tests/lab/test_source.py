"""labkit's source is shown as it is, from where it is."""

import pytest

from labkit import lab
from labkit.lab.card import Card
from labkit.lab.errors import LabError
from labkit.lab.store import now
from labkit.model import config
from labkit.model.config import ModelConfig


def test_a_function_is_shown_with_its_place() -> None:
    shown = lab.show_source(now)
    assert shown.code.startswith("def now() -> str:")
    file, line = shown.place.rsplit(":", 1)
    assert file == "labkit/lab/store.py"
    with open(store_file(), encoding="utf-8") as source:
        assert source.read().splitlines()[int(line) - 1] == "def now() -> str:"


def store_file() -> str:
    from labkit.lab import store

    return str(store.__file__)


def test_methods_are_shown_without_their_indentation() -> None:
    assert lab.show_source(ModelConfig.kv_bytes_per_token).code.startswith("def kv_bytes_per_token(self")
    assert lab.show_source(ModelConfig.parameters).code.startswith("@property\ndef parameters(self)")


def test_classes_and_modules_have_source() -> None:
    assert "class ModelConfig:" in lab.show_source(ModelConfig).code
    assert lab.show_source(config).place == "labkit/model/config.py:1"


def test_html_is_highlighted_and_text_is_plain() -> None:
    data = lab.show_source(now)._repr_mimebundle_()
    assert "<span" in data["text/html"]
    assert "def now() -> str:" in data["text/plain"]


@pytest.mark.parametrize("obj", [len, 3, "text", dict])
def test_what_has_no_source_is_refused(obj: object) -> None:
    with pytest.raises(LabError, match="no source to show"):
        lab.show_source(obj)


def test_a_card_escapes_what_it_is_told() -> None:
    card = Card("a < b", 'x & "y"\n<script>')
    assert "<script>" not in card.html()
    assert "a &lt; b" in card.html()
    assert repr(card) == 'a < b\nx & "y"\n<script>'
