"""The source: reproducible, unambiguous, consistent with its own world, and its tool calls are JSON."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import ConfigError
from labkit.workload.content import lists, notes, story, tools, world
from labkit.workload.conversations import (
    KINDS,
    MIXTURE,
    TURNS,
    Author,
    Conversation,
    converse,
    fix_articles,
    mixed,
)

SEEDS = st.integers(0, 10**9)
REPLY = "assistant"


def replies(conversation: Conversation) -> list[str]:
    return [m["content"] for m in conversation.messages if m["role"] == REPLY]


@given(st.sampled_from(KINDS), SEEDS)
def test_the_same_seed_writes_the_same_text(kind: str, seed: int) -> None:
    assert converse(kind, seed) == converse(kind, seed)


@given(SEEDS)
def test_mixed_conversations_repeat_too(seed: int) -> None:
    assert mixed(seed) == mixed(seed)
    assert mixed(seed).kind in MIXTURE


@given(st.sampled_from(KINDS), SEEDS)
def test_conversations_are_well_formed(kind: str, seed: int) -> None:
    conversation = converse(kind, seed)
    roles = [m["role"] for m in conversation.messages]
    turns = " ".join(roles).removeprefix("system ")
    assert re.fullmatch(r"user assistant( tool assistant)?( user assistant( tool assistant)?)*", turns)
    assert len(conversation.answers) == len(roles)
    assert 0 <= conversation.reply_nats <= conversation.nats
    for message in conversation.messages:
        content = message["content"]
        assert content == content.strip()
        assert not re.search(r"[<>]|  | a [aeio]|\{\w+\}", content) or '"tool"' in content


@given(st.sampled_from(KINDS), SEEDS)
def test_an_answer_is_part_of_its_reply(kind: str, seed: int) -> None:
    conversation = converse(kind, seed)
    for message, answer in zip(conversation.messages, conversation.answers, strict=True):
        if answer is not None:
            assert message["role"] == REPLY
            assert answer in message["content"]


@given(SEEDS)
def test_every_tool_call_is_json_and_names_a_tool_of_the_system_prompt(seed: int) -> None:
    conversation = converse("tool", seed)
    offered = dict(re.findall(r"(\w+)\((.*)\)", conversation.messages[0]["content"]))
    for message in conversation.messages:
        if message["role"] == REPLY and message["content"].startswith("{"):
            call = json.loads(message["content"])
            assert ", ".join(call["arguments"]) == offered[call["tool"]]
        if message["role"] == "tool":
            assert isinstance(json.loads(message["content"]), dict)


@given(SEEDS)
def test_sums_are_right(seed: int) -> None:
    for reply in replies(converse("sum", seed)):
        a, operation, b, result = re.fullmatch(r"(\d+) (plus|minus|times) (\d+) is (\d+)\.", reply).groups()  # type: ignore[union-attr]
        expected = {"plus": int(a) + int(b), "minus": int(a) - int(b), "times": int(a) * int(b)}[operation]
        assert int(result) == expected


@given(SEEDS)
def test_a_note_holds_its_answers_and_only_one_for_each_question(seed: int) -> None:
    conversation = converse("note", seed)
    note = ""
    for message, answer in zip(conversation.messages, conversation.answers, strict=True):
        if message["role"] == "user" and "Read this note" in message["content"]:
            note = message["content"].split("\n")[3]
        if message["role"] == REPLY:
            assert answer is not None
            assert note.count(message["content"]) == 1
            assert note.count(f" {answer}") == 1


@given(SEEDS)
def test_a_list_has_as_many_steps_as_were_asked_for(seed: int) -> None:
    conversation = converse("steps", seed)
    words = {word: number for number, word in lists.NUMBER_WORDS.items()}
    asked = [m["content"] for m in conversation.messages if m["role"] == "user"]
    for question, reply in zip(asked, replies(conversation), strict=True):
        named = [words[word] for word in re.findall(r"\w+", question) if word in words]
        numbers = [int(number) for number in re.findall(r"^(\d+)\. ", reply, re.MULTILINE)]
        assert numbers == list(range(1, (named or [lists.DEFAULT_COUNT])[0] + 1))


@given(SEEDS)
def test_a_story_is_about_what_was_asked_and_as_long(seed: int) -> None:
    conversation = converse("story", seed)
    asked = next(m["content"] for m in conversation.messages if m["role"] == "user")
    (text,) = replies(conversation)
    thing = next(thing for thing in story.OBJECTS if f" {thing}" in asked)
    length = "short" if "short story" in asked else "long" if "long story" in asked else "middle"
    heroes = [name for name in story.HEROINES + story.HEROES if re.search(rf"\b{name}\b", text)]
    assert len(heroes) == 1
    assert text.count(thing) >= 3
    assert len(re.findall(r" met an? ", text)) == story.BEATS[length].count("meeting")
    assert not re.search(
        r"\bhis\b|\bhe\b" if heroes[0] in story.HEROINES else r"\bher\b",
        text.split("clockmaker")[0].split("magpie")[0].split("grandmother")[0],
    )


def test_stories_differ_in_length_by_what_was_asked() -> None:
    lengths: dict[str, list[int]] = {name: [] for name in story.LENGTHS}
    for seed in range(200):
        conversation = converse("story", seed)
        asked = next(m["content"] for m in conversation.messages if m["role"] == "user")
        name = "short" if "short story" in asked else "long" if "long story" in asked else "middle"
        lengths[name].append(len(replies(conversation)[0].split()))
    assert max(lengths["short"]) < min(lengths["middle"])
    assert max(lengths["middle"]) < min(lengths["long"])


def test_equal_texts_come_from_equal_choices() -> None:
    """Looks for ambiguity among 20,000 conversations, short ones of which come up again and again."""
    seen: dict[str, list[int]] = {}
    again = 0
    for seed in range(20_000):
        author = Author(("chat", "fact", "sum", "steps", "tool")[seed % 5], seed)
        author.system()
        TURNS[author.conversation.kind][0](author)
        text = json.dumps(author.conversation.messages)
        again += text in seen
        assert seen.setdefault(text, author.writer.choices) == author.writer.choices
    assert again > 1000


def test_equal_texts_have_equal_information() -> None:
    seen: dict[str, float] = {}
    for seed in range(5000):
        conversation = mixed(seed)
        assert math.isclose(
            seen.setdefault(json.dumps(conversation.messages), conversation.nats), conversation.nats
        )


@given(SEEDS)
def test_a_session_mixes_kinds_so_that_no_other_kind_can_be_it(seed: int) -> None:
    assert len(replies(converse("session", seed))) >= 4


def test_questions_about_the_world_have_one_answer() -> None:
    """Reverse questions need unique jobs, pets, foods, crafts and landmarks."""
    for field in ("name", "job", "pet", "colour", "food"):
        assert len({getattr(person, field) for person in world.PEOPLE}) == len(world.PEOPLE)
    for field in ("name", "landmark", "craft", "market", "road"):
        assert len({getattr(town, field) for town in world.TOWNS}) == len(world.TOWNS)
    assert {person.town for person in world.PEOPLE} == {town.name for town in world.TOWNS}
    for kind in notes.KINDS:
        assert len(set(kind.keys)) == len(kind.keys) >= max(notes.COUNTS)
        assert len(set(kind.values)) == len(kind.values) >= max(notes.COUNTS)
    assert set(tools.ASK) == set(tools.SAY)


@pytest.mark.parametrize(
    ("text", "fixed"),
    [("a otter", "an otter"), ("a old dog and a owl", "an old dog and a owl"), ("a fox", "a fox")],
)
def test_articles(text: str, fixed: str) -> None:
    assert fix_articles(text) == fixed


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ConfigError, match="opera"):
        converse("opera", 0)
