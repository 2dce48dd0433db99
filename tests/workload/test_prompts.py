"""Prompts as experiments take them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import ConfigError
from labkit.workload import prompts


@given(st.sampled_from(prompts.KINDS), st.integers(0, 10**6))
def test_a_prompt_ends_where_the_assistant_is_to_speak(kind: str, seed: int) -> None:
    prompt = prompts.sample(kind, seed)
    assert prompt.kind == kind
    assert prompt.messages[-1]["role"] in ("user", "tool")
    assert prompt.text == prompt.messages[-1]["content"]
    assert prompt.reference
    assert prompt == prompts.sample(kind, seed)
    if prompt.answer is not None:
        assert prompt.answer in prompt.reference


def test_mixed_prompts_repeat_and_cover_all_kinds() -> None:
    many = prompts.mixed(200, seed=3)
    assert many == prompts.mixed(200, seed=3)
    assert many != prompts.mixed(200, seed=4)
    assert {prompt.kind for prompt in many} == set(prompts.KINDS)


def test_prefixes_are_shared() -> None:
    """A few system prompts serve nearly all prompts that have one."""
    many = prompts.mixed(300)
    systems = [p.messages[0]["content"] for p in many if p.messages[0]["role"] == "system"]
    assert len(systems) > 100
    assert len(set(systems)) <= 6


@pytest.mark.parametrize(
    "call",
    [lambda: prompts.sample("opera", 0), lambda: prompts.sample("chat", -1), lambda: prompts.mixed(-1)],
)
def test_what_cannot_be_sampled_is_refused(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError):
        call()
