"""The source the embedded pair learns: whole conversations of eight kinds, sampled with their exact
information.

chat       small talk, poems, riddles, lines to repeat; one to four turns
fact       questions about the Lantern Valley; one to five turns, one sentence each
sum        arithmetic on small numbers
steps      numbered lists whose length the question names
story      short, middling and long stories
tool       a JSON tool call, often followed by the tool's result and its one-sentence report
note       facts found in a note in the prompt
session    several of these under one system prompt: long shared histories, the longest training text

A conversation's `nats` is the information of all its text, end included: what a perfect model's summed loss
over the conversation would be on average. `reply_nats` is the share spent in the assistant's turns.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.errors import ConfigError
from labkit.workload.content import chat, facts, lists, notes, story, tools, world
from labkit.workload.grammar import Grammar, Writer

GRAMMAR = Grammar({**chat.RULES, **story.RULES})
Message = dict[str, str]


@dataclass
class Conversation:
    """Messages as chat templates take them, the key words of each assistant turn where they are known, and
    the information.
    """

    kind: str
    messages: list[Message] = field(default_factory=list)
    answers: list[str | None] = field(
        default_factory=list
    )  # one for each message; None where no exact answer exists
    nats: float = 0.0
    reply_nats: float = 0.0

    def say(self, role: str, content: str, answer: str | None = None) -> None:
        self.messages.append({"role": role, "content": content})
        self.answers.append(answer)


class Author:
    """Writes one conversation: a Writer for the choices, a Conversation for the result."""

    def __init__(self, kind: str, seed: int) -> None:
        self.writer = Writer(GRAMMAR, random.Random(f"{kind}:{seed}"))
        self.conversation = Conversation(kind)
        self.persona: str | None = None

    def system(self) -> None:
        """A system prompt that the kind allows, or none: a few prompts, each shared by many conversations."""
        if self.conversation.kind == "tool":
            self.conversation.say("system", tools.SYSTEM)
        elif self.conversation.kind == "fact" and self.writer.pick((True, False), (1, 11)):
            self.conversation.say("system", world.GUIDE)
        elif self.writer.pick((True, False), (3, 2)):
            self.persona = self.writer.pick(tuple(chat.PERSONAS))
            self.conversation.say("system", chat.PERSONAS[self.persona])

    def user(self, content: str) -> None:
        self.conversation.say("user", content)

    def reply(self, compose: Callable[[], str], answer: str | None = None) -> None:
        """The assistant's turn; what its choices cost is kept apart."""
        before = self.writer.nats
        self.conversation.say("assistant", compose(), answer)
        self.conversation.reply_nats += self.writer.nats - before

    def turns(self, turn: Callable[[], None], weights: tuple[float, ...]) -> None:
        """`turn` once, or more often: entry i of `weights` is the relative chance of i + 1 times."""
        for _ in range(self.writer.pick(range(1, len(weights) + 1), weights)):
            turn()

    def session(self) -> None:
        """Four to seven turns of mixed kinds. The second differs from the first: no session can pass for
        another kind.
        """
        used: list[str] = []
        for _ in range(self.writer.pick((4, 5, 6, 7))):
            kinds = [kind for kind in SESSION_PARTS if len(used) != 1 or kind not in used]
            used.append(self.writer.pick(kinds, [SESSION_PARTS[kind] for kind in kinds]))
            TURNS[used[-1]][0](self)

    # ---- one turn of each kind

    def chat_turn(self) -> None:
        """Small talk, or a line to repeat."""
        topic = self.writer.pick(chat.TOPICS)
        if topic == "name":
            self.user(self.writer.pick(chat.NAME_QUESTIONS))
            name = self.persona
            text = chat.NAME_REPLY.format(name=name) if name else chat.NO_NAME_REPLY
            self.reply(lambda: text, name)
            return
        self.user(self.writer.symbol(f"user/{topic}"))
        answer = self.writer.memory["line"] if topic == "echo" else None
        self.reply(lambda: self.writer.symbol(f"reply/{topic}"), answer)

    def fact_turn(self) -> None:
        """A question about the valley, and the one sentence that answers it."""
        subject = self.writer.pick(("person", "town", "animal", "price", "prices", "yes"), (8, 5, 3, 1, 2, 2))
        if subject == "yes":
            self._yes_no()
            return
        questions, fields = self._subject(subject)
        ways, reply, answer = self.writer.pick(questions)
        self._exact(ways, reply, answer, fields)

    def _subject(self, subject: str) -> tuple[tuple[facts.Question, ...], dict[str, Any]]:
        pick = self.writer.pick
        if subject == "person":
            return facts.PEOPLE_QUESTIONS, vars(pick(world.PEOPLE))
        if subject == "town":
            return facts.TOWN_QUESTIONS, vars(pick(world.TOWNS))
        if subject == "animal":
            return facts.ANIMAL_QUESTIONS, vars(pick(world.ANIMALS))
        good = pick(world.GOODS)
        if subject == "price":
            return facts.PRICE_QUESTIONS, vars(good)
        count = pick((2, 3, 4, 5))
        return facts.PRICES_QUESTIONS, {**vars(good), "count": count, "total": count * good.price}

    def _yes_no(self) -> None:
        person = self.writer.pick(world.PEOPLE)
        if self.writer.pick((True, False)):
            guess = person.town
        else:
            guess = self.writer.pick_new([town.name for town in world.TOWNS], [person.town])
        word = "Yes" if guess == person.town else "No"
        fields = {"name": person.name, "town": person.town, "guess": guess}
        self._exact(facts.YES_NO, word + ", {name} lives in {town}.", word, fields)

    def _exact(self, ways: tuple[str, ...], reply: str, answer: str, fields: dict[str, Any]) -> None:
        self.user(self.writer.pick(ways).format(**fields))
        self.reply(lambda: reply.format(**fields), answer.format(**fields))

    def sum_turn(self) -> None:
        """A small sum, and its result."""
        operation = self.writer.pick(("plus", "minus", "times"))
        if operation == "times":
            a, b = self.writer.pick(range(1, 11)), self.writer.pick(range(1, 11))
        else:
            a, b = self.writer.pick(range(1, 13)), self.writer.pick(range(1, 11))
            a = a + b if operation == "minus" else a
        result = {"plus": a + b, "minus": a - b, "times": a * b}[operation]
        ways, reply, answer = facts.SUM_QUESTIONS[operation]
        self._exact(ways, reply, answer, {"a": a, "b": b, "result": result})

    def steps_turn(self) -> None:
        """How to do something, in as many steps as were asked for."""
        task = self.writer.pick(tuple(lists.TASKS))
        way = self.writer.pick(lists.ASK)
        count = self.writer.pick(tuple(lists.PHASES_FOR)) if "{count}" in way else lists.DEFAULT_COUNT
        self.user(way.format(task=task, count=lists.NUMBER_WORDS[count]))
        self.reply(lambda: self._steps(task, count))

    def _steps(self, task: str, count: int) -> str:
        lines = [self.writer.pick(lists.INTRO).format(task=task)]
        for number, phase in enumerate(lists.PHASES_FOR[count], 1):
            lines.append(f"{number}. {self.writer.pick(lists.TASKS[task][phase])}")
        return "\n".join(lines)

    def story_turn(self) -> None:
        """A story about a given animal and thing, as long as was asked for."""
        length = self.writer.pick(tuple(story.LENGTHS))
        species, thing = self.writer.pick(story.SPECIES), self.writer.pick(story.OBJECTS)
        way = self.writer.pick(story.ASK)
        self.user(fix_articles(way.format(length=story.LENGTHS[length], species=species, object=thing)))
        self.reply(lambda: self._story(length, species, thing))

    def _story(self, length: str, species: str, thing: str) -> str:
        self.writer.memory.update(species=species, object=thing)
        used: dict[str, list[str]] = {"helper": [species], "trouble": [], "place": [], "thanks": []}
        text = ""
        for beat in story.BEATS[length]:
            if beat == "problem":
                self.writer.memory["plot"] = self.writer.pick(story.PLOTS)
            if beat == "meeting":
                self._meet(used)
            gap = "" if beat == "\n\n" or text[-1:] in ("", "\n") else " "
            text += gap + (beat if beat == "\n\n" else self.writer.symbol(beat))
        return fix_articles(text)

    def _meet(self, used: dict[str, list[str]]) -> None:
        """Choose whom the hero meets, where and how it ends; nothing is told twice in one story."""
        writer, memory = self.writer, self.writer.memory
        memory["place"] = writer.symbol_new("place", used["place"])
        for name, options in (("helper", story.HELPERS), ("trouble", story.TROUBLES)):
            used[name].append(writer.pick_new(options, used[name]))
            memory[name] = used[name][-1]
        memory["thanks"] = writer.symbol_new(f"thanks/{memory['plot']}", used["thanks"])

    def tool_turn(self) -> None:
        """A wish and the call that grants it; mostly the tool's result and a report follow."""
        name = self.writer.pick(tuple(tools.ASK))
        arguments, spoken = self._arguments(name)
        self.user(self.writer.pick(tools.ASK[name]).format(**arguments, **spoken))
        call = json.dumps({"tool": name, "arguments": arguments})
        self.reply(lambda: call, call)
        if self.writer.pick((True, False), (3, 1)):
            result = self._result(name, arguments)
            self.conversation.say("tool", json.dumps(result))
            sentence = tools.SAY[name].format(**{**arguments, **spoken, **result})
            self.reply(lambda: sentence, sentence)

    def _arguments(self, name: str) -> tuple[dict[str, Any], dict[str, str]]:
        """A call's arguments, and words that the question and the report use but the call does not."""
        pick, towns = self.writer.pick, [town.name for town in world.TOWNS]
        if name == "set_timer":
            return {"minutes": pick(tools.MINUTES), "label": pick(tools.LABELS)}, {}
        if name == "buy_goods":
            return {"item": pick(world.GOODS).many, "count": pick(range(2, 10))}, {}
        if name == "send_letter":
            return {"to": pick(world.PEOPLE).name, "message": pick(tools.MESSAGES)}, {}
        if name == "play_music":
            return {"instrument": pick(tools.INSTRUMENTS), "mood": pick(tools.MOODS)}, {}
        when = pick(tools.WHEN)
        day = when.removeprefix("on ")
        if name == "get_weather":
            return {"town": pick(towns), "day": day}, {"when": when}
        start = pick(towns)
        return {
            "from": start,
            "to": self.writer.pick_new(towns, [start]),
            "day": day,
            "seats": pick(range(2, 7)),
        }, {"when": when}

    def _result(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        pick = self.writer.pick
        if name == "get_weather":
            sky = pick(tuple(tools.SKIES))
            return {"sky": sky, "degrees": pick(range(*tools.SKIES[sky]))}
        if name == "buy_goods":
            price = next(good.price for good in world.GOODS if good.many == arguments["item"])
            return {"coins": price * arguments["count"]}
        if name == "book_ticket":
            return {"hour": pick(range(6, 21))}
        if name == "send_letter":
            return {"days": pick(range(2, 7))}
        if name == "play_music":
            return {"tune": pick(tools.TUNES)}
        return {"status": "set"}

    def note_turn(self) -> None:
        """A note with made-up facts, and one to three questions about it."""
        self._note(lambda count: self.writer.pick((1, 2, 3)))

    def drill_turn(self) -> None:
        """A note, and a question about every line of it: practice in finding things, for training only."""
        self._note(lambda count: count)

    def _note(self, questions: Callable[[int], int]) -> None:
        kind, count = self.writer.pick(notes.KINDS), self.writer.pick(notes.COUNTS)
        pairs: dict[str, str] = {}
        for _ in range(count):
            key = self.writer.pick_new(kind.keys, pairs)
            pairs[key] = self.writer.pick_new(kind.values, pairs.values())
        sentences = {key: kind.sentence.format(key=key, value=value) for key, value in pairs.items()}
        ask = notes.ASK.replace("{title}", kind.title).replace("{sentences}", " ".join(sentences.values()))
        asked: list[str] = []
        for turn in range(questions(count)):
            asked.append(self.writer.pick_new(tuple(sentences), asked))
            question = self.writer.pick(kind.questions).format(key=asked[-1])
            self.user(question if turn else ask.replace("{question}", question))
            self.reply(lambda: sentences[asked[-1]], pairs[asked[-1]])


def fix_articles(text: str) -> str:
    """'a owl' becomes 'an owl'; names of animals and things decide it after the choice was made."""
    for word in ("otter", "umbrella", "old dog"):
        text = text.replace(f"a {word}", f"an {word}")
    return text


TURNS: dict[str, tuple[Callable[[Author], None], tuple[float, ...]]] = {
    "chat": (Author.chat_turn, (3, 3, 2, 1)),
    "fact": (Author.fact_turn, (2, 2, 2, 2, 2)),
    "sum": (Author.sum_turn, (2, 1, 1, 1, 1)),
    "steps": (Author.steps_turn, (5, 1)),
    "story": (Author.story_turn, (1,)),
    "tool": (Author.tool_turn, (3, 2)),
    "note": (Author.note_turn, (3, 1)),
}
DRILL = (Author.drill_turn, (1.0,))
SESSION_PARTS = {"chat": 3.0, "fact": 3.0, "sum": 1.0, "steps": 2.0, "story": 1.0}
KINDS = (*TURNS, "session")
# How often each kind comes in training text, by conversations.
MIXTURE = {
    "chat": 16.0,
    "fact": 28.0,
    "sum": 10.0,
    "steps": 9.0,
    "story": 10.0,
    "tool": 9.0,
    "note": 15.0,
    "session": 3.0,
}
REVISION = {**MIXTURE, "drill": 60.0}  # for a later phase of training: the same, and much practice with notes


def converse(kind: str, seed: int) -> Conversation:
    """The conversation of this kind and seed: always the same one. Raises ConfigError for an unknown kind."""
    if kind not in KINDS:
        raise ConfigError(f"no conversation kind {kind!r}; choose one of {', '.join(KINDS)}")
    return _converse(kind, Author(kind, seed))


def mixed(seed: int, mixture: Mapping[str, float] = MIXTURE) -> Conversation:
    """A conversation of a kind drawn from `mixture`; the kind's surprisal is part of its information."""
    author = Author("mixed", seed)
    kind = author.writer.pick(tuple(mixture), tuple(mixture.values()))
    author.conversation.kind = kind
    return _converse(kind, author)


def _converse(kind: str, author: Author) -> Conversation:
    author.system()
    if kind == "session":
        author.session()
    else:
        turn, weights = DRILL if kind == "drill" else TURNS[kind]
        author.turns(lambda: turn(author), weights)
    author.conversation.nats = author.writer.nats
    return author.conversation
