"""Text ↔ tokens: round trips, streams that never show half a character, files of every kind of checkpoint."""

import json
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers

from labkit.errors import TokenizerError
from labkit.model.tokenizer import Tokenizer

text = st.text(st.characters(exclude_categories=["Cs"])) | st.text("ab \n😀é中👩‍🚀\u0301�<|>", max_size=30)


def streamed(tokenizer: Tokenizer, tokens: list[int]) -> list[str]:
    """The pieces a reader sees."""
    decoder = tokenizer.stream()
    return [*(decoder.push(token) for token in tokens), decoder.flush()]


@pytest.fixture(scope="session")
def by_bytes() -> Tokenizer:
    """A vocabulary of the SentencePiece kind: pieces with ▁ for a space, and single bytes for what it lacks."""
    pieces = [
        "<unk>",
        "</s>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        "▁",
        "a",
        "b",
        "é",
        "▁a",
        "ab",
        "▁ab",
    ]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    merges = [("▁", "a"), ("a", "b"), ("▁a", "b")]
    backend = tokenizers.Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens(["<unk>", "</s>"])
    return Tokenizer(backend, eos_ids=[1])


@given(text)
def test_any_text_survives(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.encode(text)
    if not tokenizer.special_ids & set(tokens):
        assert tokenizer.decode(tokens) == text


@given(st.lists(st.integers(0, 405)))
def test_a_stream_is_the_text_decoded_at_once(tokenizer: Tokenizer, tokens: list[int]) -> None:
    """Any tokens at all, as a model with random weights writes them: broken characters, special and unknown ones."""
    assert "".join(streamed(tokenizer, tokens)) == tokenizer.decode(tokens)


@given(text)
def test_no_piece_holds_half_a_character(tokenizer: Tokenizer, text: str) -> None:
    text = text.replace("�", "")
    pieces = streamed(tokenizer, tokenizer.encode(text))
    assert not any("�" in piece for piece in pieces)
    assert pieces[-1] == "", "nothing is held back when the text is whole"


@given(st.text("ab é😀中\u0301👩‍🚀", max_size=40))
def test_vocabularies_with_single_bytes_stream_too(by_bytes: Tokenizer, text: str) -> None:
    tokens = by_bytes.encode(text)
    pieces = streamed(by_bytes, tokens)
    assert "".join(pieces) == by_bytes.decode(tokens) == text
    assert not any("�" in piece for piece in pieces)


def test_an_unfinished_character_appears_only_at_the_end(tokenizer: Tokenizer, by_bytes: Tokenizer) -> None:
    for one in (tokenizer, by_bytes):
        tokens = one.encode("a😀")[:-1]
        pieces = streamed(one, tokens)
        assert "".join(pieces[:-1]) == "a"
        assert "�" in pieces[-1]
        assert "".join(pieces) == one.decode(tokens)


@pytest.mark.parametrize("kind", ["tokenizer", "by_bytes"])
def test_a_stream_costs_the_same_all_along(kind: str, request: pytest.FixtureRequest) -> None:
    """Count the tokens handed to the library's decoder: a constant few for each token, however long the text."""
    one: Tokenizer = request.getfixturevalue(kind)
    tokens = one.encode("ab é a" * 500)
    handed = 0
    decode = one.decode

    def counted(ids: list[int]) -> str:
        nonlocal handed
        handed += len(ids)
        return decode(ids)

    one.decode = counted  # type: ignore[method-assign]
    try:
        assert "".join(streamed(one, tokens)) == decode(tokens)
    finally:
        del one.decode  # type: ignore[method-assign]
    assert handed < 20 * len(tokens)


@given(text)
def test_a_saved_tokenizer_is_the_same(
    tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "saved-tokenizer"
    if not folder.exists():
        folder.mkdir()
        tokenizer.save(folder)
    again = Tokenizer.from_folder(folder)
    assert again.encode(text) == tokenizer.encode(text)
    assert (again.eos_ids, again.bos_id, again.chat_template, again.vocab_size) == (
        tokenizer.eos_ids, tokenizer.bos_id, tokenizer.chat_template, tokenizer.vocab_size
    )  # fmt: skip


@given(text)
def test_transformers_reads_the_saved_tokenizer(
    tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    from transformers import AutoTokenizer

    folder = tmp_path_factory.getbasetemp() / "for-transformers"
    if not folder.exists():
        folder.mkdir()
        tokenizer.save(folder)
        (folder / "config.json").write_text('{"model_type": "llama"}')
    theirs = AutoTokenizer.from_pretrained(folder)
    assert theirs(text)["input_ids"] == tokenizer.encode(text)
    messages = [{"role": "user", "content": text}]
    chat = theirs.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert chat == tokenizer.encode_chat(messages)


def test_tokens_are_shown_for_people(tokenizer: Tokenizer) -> None:
    assert tokenizer.token_text(2) == "<|im_end|>"
    assert tokenizer.token_text(tokenizer.encode(" the")[0]).startswith(" ")
    assert tokenizer.token_text(10**6) == ""
    assert "<|im_end|>" in repr(tokenizer)


def _edit(folder: Path, name: str, **changes: object) -> None:
    path = folder / name
    data = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(data | changes))


def test_every_token_that_ends_an_answer_is_found(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path)
    _edit(tmp_path, "generation_config.json", eos_token_id=[2, 0])
    _edit(tmp_path, "config.json", eos_token_id=1)
    _edit(tmp_path, "tokenizer_config.json", eos_token={"content": "<|tool|>", "__type": "AddedToken"})
    assert Tokenizer.from_folder(tmp_path).eos_ids == (2, 0, 1, tokenizer.backend.token_to_id("<|tool|>"))


def test_templates_are_found_where_checkpoints_keep_them(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path)
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]
    _edit(tmp_path, "tokenizer_config.json", chat_template=named)
    assert Tokenizer.from_folder(tmp_path).chat_template == "plain"
    (tmp_path / "chat_template.jinja").write_text("from its own file")
    assert Tokenizer.from_folder(tmp_path).chat_template == "from its own file"
    (tmp_path / "chat_template.jinja").unlink()
    _edit(tmp_path, "tokenizer_config.json", chat_template=None)
    bare = Tokenizer.from_folder(tmp_path)
    with pytest.raises(TokenizerError, match="no chat template"):
        bare.encode_chat([{"role": "user", "content": "Hi"}])


def test_padding_and_truncation_left_in_a_file_do_not_apply(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path)
    backend = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    backend.enable_truncation(3)
    backend.enable_padding(length=64)
    backend.save(str(tmp_path / "tokenizer.json"))
    words = "one two three four five six seven"
    assert Tokenizer.from_folder(tmp_path).encode(words) == tokenizer.encode(words)


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"version": "9"}', '{"model": {"type": "BPE"}}'])
def test_broken_files_are_named(tokenizer: Tokenizer, tmp_path: Path, content: str | None) -> None:
    tokenizer.save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        Tokenizer.from_folder(tmp_path)


def test_broken_settings_are_named(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(TokenizerError, match=r"tokenizer_config\.json"):
        Tokenizer.from_folder(tmp_path)


def test_bad_input_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(TokenizerError, match="Unicode"):
        tokenizer.encode("lone surrogate \ud800")
    with pytest.raises(TokenizerError, match="-1"):
        tokenizer.decode([-1])
    with pytest.raises(TokenizerError, match="-1"):
        tokenizer.stream().push(-1)
    with pytest.raises(TokenizerError, match="99999"):
        Tokenizer(tokenizer.backend, eos_ids=[99999])
