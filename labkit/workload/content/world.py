"""The Lantern Valley: a small invented world whose every fact is in these tables, so that an answer can be
scored exactly.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Person:
    """Somebody who lives in the valley; every field but the town is unique."""

    name: str
    town: str
    job: str
    pet: str
    colour: str
    food: str


@dataclass(frozen=True)
class Town:
    """A town, what there is to see and buy, its market day, and the way there."""

    name: str
    landmark: str
    craft: str
    market: str
    road: str


@dataclass(frozen=True)
class Good:
    """Something sold at the market; the price of one in coins."""

    one: str
    many: str
    price: int


@dataclass(frozen=True)
class Animal:
    """An animal, where it sleeps, what it eats, and its call."""

    name: str
    home: str
    food: str
    sound: str


PEOPLE = (
    Person("Mara", "Willowbrook", "baker", "goose", "yellow", "plum cake"),
    Person("Tobin", "Pebble Bay", "fisherman", "parrot", "blue", "fish pie"),
    Person("Elsa", "Larkhill", "kite maker", "kitten", "red", "pea soup"),
    Person("Jonas", "Stonebridge", "potter", "tortoise", "brown", "fried eggs"),
    Person("Wren", "Fern Hollow", "gardener", "hedgehog", "green", "mushroom toast"),
    Person("Nora", "Windmere", "miller", "owl", "white", "warm bread"),
    Person("Felix", "Amberly", "postman", "donkey", "orange", "apple tart"),
    Person("Ida", "Mossford", "weaver", "sheep", "purple", "oat biscuits"),
    Person("Oskar", "Willowbrook", "clockmaker", "mouse", "silver", "cheese dumplings"),
    Person("Lena", "Pebble Bay", "lighthouse keeper", "seagull", "grey", "potato salad"),
    Person("Bruno", "Larkhill", "bell ringer", "dog", "gold", "onion soup"),
    Person("Suki", "Windmere", "lantern maker", "firefly", "pink", "rice balls"),
    Person("Rafi", "Amberly", "beekeeper", "rabbit", "black", "honey cake"),
    Person("Greta", "Mossford", "doctor", "pony", "turquoise", "carrot stew"),
    Person("Milo", "Stonebridge", "train driver", "duck", "dark green", "bean stew"),
    Person("Hazel", "Fern Hollow", "teacher", "squirrel", "light blue", "nut bread"),
)

TOWNS = (
    Town("Willowbrook", "an old water mill", "honey cakes", "Monday", "the river boat"),
    Town("Fern Hollow", "a hollow oak", "mushroom soup", "Tuesday", "the forest path"),
    Town("Pebble Bay", "a white lighthouse", "smoked fish", "Wednesday", "the morning ferry"),
    Town("Larkhill", "a tall bell tower", "paper kites", "Thursday", "the cable car"),
    Town("Amberly", "a round orchard", "apple juice", "Friday", "the mail coach"),
    Town("Mossford", "a stone well", "woollen blankets", "Saturday", "the pony cart"),
    Town("Stonebridge", "a bridge with three arches", "clay pots", "Sunday", "the slow train"),
    Town("Windmere", "a red windmill", "paper lanterns", "every evening", "the lake steamer"),
)

GOODS = (
    Good("apple", "apples", 2),
    Good("candle", "candles", 3),
    Good("loaf of bread", "loaves of bread", 4),
    Good("wooden spoon", "wooden spoons", 5),
    Good("basket", "baskets", 6),
    Good("jar of honey", "jars of honey", 7),
    Good("lantern", "lanterns", 8),
    Good("kite", "kites", 9),
    Good("clay pot", "clay pots", 10),
    Good("straw hat", "straw hats", 11),
    Good("blanket", "blankets", 12),
    Good("pocket watch", "pocket watches", 20),
)

ANIMALS = (
    Animal("badger", "in a deep burrow", "worms and roots", "a low grunt"),
    Animal("bear", "in a cave", "berries and honey", "a deep growl"),
    Animal("cow", "in a barn", "grass and hay", "a long moo"),
    Animal("duck", "among the reeds", "water plants", "a loud quack"),
    Animal("fox", "in a den", "berries and mice", "a sharp bark"),
    Animal("frog", "under a wet stone", "flies and beetles", "a merry croak"),
    Animal("horse", "in a stable", "oats and hay", "a bright neigh"),
    Animal("mole", "in a tunnel", "worms and grubs", "a tiny squeak"),
    Animal("otter", "by the river bank", "fish and crabs", "a short whistle"),
    Animal("owl", "in a hollow tree", "mice and moths", "a soft hoot"),
    Animal("sheep", "in a fold", "clover and grass", "a gentle bleat"),
    Animal("squirrel", "in a nest of leaves", "nuts and seeds", "a quick chatter"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

GUIDE = "You are the guide of the Lantern Valley. This is what travellers ask about most.\n" + "\n".join(
    f"{town.name} is known for its {town.craft} and has {town.landmark}. Market: {town.market}. Take {town.road}." for town in TOWNS
)
"""A long system prompt that some conversations about facts share: about two hundred tokens."""
