"""A probabilistic grammar that knows how surprising every text it writes is.

A grammar is a table of symbols; each symbol has weighted alternatives, and an alternative is a text with
references in it:

    <symbol>        write the symbol here
    <^symbol>       the same, first letter capitalised
    <name=symbol>   write it, and remember it as `name`
    <$name>         write again what was remembered (free: no new choice)
    <symbol@name>   write the symbol `symbol/VALUE`, where VALUE is what `name` remembers

Memory makes it more than context-free (a hero keeps the same name through a whole story), yet the bookkeeping
stays exact: a text's probability is the product of the choices that made it, so its information content is
the sum of their -ln p. That makes a language model's loss readable: no model of any size can, on average,
fall below the source's own entropy.

The sum is the information of the *derivation*. It equals that of the text only when no text can be written in
two ways; otherwise it is an upper bound. The grammars here are built to be unambiguous, and the tests look
for counterexamples.

Price: such text has none of the long tail of real language. A small model learns it nearly perfectly, which
real text never allows, so nothing about quality on real text can be concluded from it. Source: C. Shannon, "A
mathematical theory of communication" (1948), section 7, for the entropy of a source written as a graph of
choices.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from labkit.errors import ConfigError

Item = TypeVar("Item")
Alternatives = Sequence["str | tuple[float, str]"]

REFERENCE = re.compile(r"<(\^?)(?:(\w+)=)?(\$?)([\w/ -]+?)(?:@(\w+))?>")


@dataclass(frozen=True)
class Rule:
    """A symbol's alternatives and their probabilities, which sum to one."""

    texts: tuple[str, ...]
    probabilities: tuple[float, ...]


class Grammar:
    """Symbols and their weighted alternatives.

    `rules` maps a symbol to texts, or to `(weight, text)` pairs; weights are relative, a bare text weighs 1.
    Raises ConfigError for an empty rule, a weight that is not positive, or a reference to a symbol that does not exist.
    """

    def __init__(self, rules: Mapping[str, Alternatives]) -> None:
        self.rules = {symbol: _rule(symbol, alternatives) for symbol, alternatives in rules.items()}
        for symbol, rule in self.rules.items():
            for text in rule.texts:
                self._check(symbol, text)

    def _check(self, symbol: str, text: str) -> None:
        for _, _, recall, name, given in REFERENCE.findall(text):
            known = (
                recall or name in self.rules or (given and any(s.startswith(name + "/") for s in self.rules))
            )
            if not known:
                raise ConfigError(
                    f"grammar symbol {symbol!r} refers to {name!r}, which has no rule; add one or fix the name"
                )

    def entropy(self, symbol: str) -> float:
        """The exact entropy of a symbol's derivations, in nats, for symbols that do not depend on memory.

        Raises ConfigError where a reference depends on an earlier choice: there only sampling gives the number.
        """
        rule = self.rules[symbol]
        own = -sum(p * math.log(p) for p in rule.probabilities)
        return own + sum(
            p * self._entropy_of_text(text) for p, text in zip(rule.probabilities, rule.texts, strict=True)
        )

    def _entropy_of_text(self, text: str) -> float:
        total = 0.0
        for _, _, recall, name, given in REFERENCE.findall(text):
            if given:
                raise ConfigError(
                    f"<{name}@{given}> depends on an earlier choice; estimate its entropy by sampling"
                )
            total += 0.0 if recall else self.entropy(name)
        return total


def _rule(symbol: str, alternatives: Alternatives) -> Rule:
    pairs = [(1.0, item) if isinstance(item, str) else item for item in alternatives]
    if not pairs or any(not weight > 0 for weight, _ in pairs):
        raise ConfigError(
            f"grammar symbol {symbol!r} needs at least one alternative, all with a weight above 0"
        )
    total = sum(weight for weight, _ in pairs)
    return Rule(tuple(text for _, text in pairs), tuple(weight / total for weight, _ in pairs))


@dataclass
class Writer:
    """One derivation in the making: its random numbers, what it remembers, and the information it has spent.

    `nats` is the sum of -ln p over all choices so far; `choices` lists them, so that two derivations can be compared.
    """

    grammar: Grammar
    rng: random.Random
    memory: dict[str, str] = field(default_factory=dict)
    choices: list[int] = field(default_factory=list)
    nats: float = 0.0

    def pick(self, options: Sequence[Item], weights: Sequence[float] | None = None) -> Item:
        """One of `options`, with probabilities proportional to `weights` (equal without), paid for in `nats`."""
        if weights is None:
            index = self.rng.randrange(len(options))
            probability = 1 / len(options)
        else:
            index = self.rng.choices(range(len(options)), weights)[0]
            probability = weights[index] / sum(weights)
        self.nats -= math.log(probability)
        self.choices.append(index)
        return options[index]

    def pick_new(self, options: Iterable[Item], used: Iterable[Item]) -> Item:
        """One of `options` that is not in `used`; the smaller choice is charged as such."""
        taken = list(used)
        return self.pick([option for option in options if option not in taken])

    def write(self, text: str, **memory: str) -> str:
        """`text` with every reference written out; keyword arguments are remembered first."""
        self.memory.update(memory)
        return REFERENCE.sub(self._reference, text)

    def symbol_new(self, name: str, used: list[str]) -> str:
        """Like `symbol`, but never an alternative in `used`, to which the one taken is added; weights are
        ignored.
        """
        used.append(self.pick_new(self.grammar.rules[name].texts, used))
        return self.write(used[-1])

    def symbol(self, name: str) -> str:
        """A symbol, written out."""
        rule = self.grammar.rules.get(name)
        if rule is None:
            raise ConfigError(f"the grammar has no symbol {name!r}")
        return self.write(self.pick(rule.texts, rule.probabilities))

    def _reference(self, match: re.Match[str]) -> str:
        capital, slot, recall, name, given = match.groups()
        chosen = f"{name}/{self.memory[given]}" if given else name
        text = self.memory[name] if recall else self.symbol(chosen)
        if slot:
            self.memory[slot] = text
        return text[:1].upper() + text[1:] if capital else text
