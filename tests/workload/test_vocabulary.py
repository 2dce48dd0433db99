"""The pair's tokenizer and chat format: nothing is lost, and every renderer says the same."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.model.tokenizer import Tokenizer
from labkit.paths import data_folder
from labkit.workload.conversations import KINDS, converse, mixed
from labkit.workload.pair import shared_tokenizer
from labkit.workload.vocabulary import BEGIN, END, SPECIALS, document, render

FOLDERS = [data_folder() / "models" / name for name in ("tiny", "tiny-draft")]
SEEDS = st.integers(0, 10**9)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_folder(FOLDERS[0])


@given(text=st.text())
def test_any_text_comes_back(tokenizer: Tokenizer, text: str) -> None:
    if not any(special in text for special in SPECIALS):
        assert tokenizer.decode(tokenizer.encode(text)) == text


@given(seed=SEEDS)
def test_conversations_come_back_with_their_marks(tokenizer: Tokenizer, seed: int) -> None:
    messages = mixed(seed).messages
    ids = document(tokenizer, messages)
    assert tokenizer.backend.decode(ids, skip_special_tokens=False) == render(messages) + BEGIN
    assert ids.count(tokenizer.eos_ids[0]) == len(messages)


def test_every_mark_is_one_token(tokenizer: Tokenizer) -> None:
    for special in SPECIALS:
        assert len(tokenizer.encode(special)) == 1
    assert tokenizer.token_text(tokenizer.eos_ids[0]) == END


def test_both_models_share_the_tokenizer_which_training_makes_again(tokenizer: Tokenizer) -> None:
    first, second = ((folder / "tokenizer.json").read_bytes() for folder in FOLDERS)
    assert first == second
    assert shared_tokenizer().backend.to_str() == tokenizer.backend.to_str()


@given(kind=st.sampled_from(KINDS), seed=SEEDS)
def test_the_template_renders_what_training_reads(tokenizer: Tokenizer, kind: str, seed: int) -> None:
    messages = converse(kind, seed).messages
    assert tokenizer.render_chat(messages, add_generation_prompt=False) == render(messages)
    ids = document(tokenizer, messages)
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            prompt = tokenizer.encode_chat(messages[:at])
            assert ids[: len(prompt)] == prompt


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_transformers_renders_and_encodes_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = Tokenizer.from_folder(folder)
    assert (theirs.bos_token, theirs.eos_token, theirs.pad_token) == (BEGIN, END, "<|pad|>")
    for seed in range(60):
        messages = mixed(seed).messages
        assert theirs.apply_chat_template(messages, tokenize=False) == render(messages)
        prompt = theirs.apply_chat_template(messages[:-1], tokenize=False, add_generation_prompt=True)
        assert prompt == render(messages[:-1], add_generation_prompt=True)
        assert theirs(prompt, add_special_tokens=False)["input_ids"] == ours.encode_chat(messages[:-1])
