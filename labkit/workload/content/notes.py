"""Notes with made-up facts, true only in the prompt: the answer has to be found there and copied.

A kind of note has a sentence for each pair (key, value), where keys are distinct, and the questions about a
key.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NoteKind:
    """A kind of note: its keys and values, the sentence that joins a pair, and the ways to ask for a key."""

    title: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    sentence: str  # also the answer
    questions: tuple[str, ...]


NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Flora", "Gus", "Hanna", "Ivo", "Jette", "Karl", "Lotte", "Max", "Nina", "Otto", "Paula")
COLOURS = ("red", "blue", "green", "yellow", "white", "black", "brown", "purple", "orange", "silver")
ROOMS = ("barn", "mill", "cellar", "kitchen", "attic", "tower", "boathouse", "stable", "library", "workshop", "garden shed", "bakery")
THINGS = ("hammer", "compass", "ribbon", "teapot", "scissors", "map", "whistle", "candle", "brush", "needle", "spoon", "mirror")
PLANTS = ("roses", "beans", "tulips", "pumpkins", "herbs", "lilies", "tomatoes", "daisies", "peas", "violets")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DISHES = ("pea soup", "apple tart", "fish pie", "bean stew", "plum cake", "rice pudding", "potato salad", "mushroom toast", "onion soup", "warm bread")

KINDS = (
    NoteKind("Keys of the farm", COLOURS, ROOMS, "The {key} key opens the {value}.",
             ("What does the {key} key open?", "Which door is the {key} key for?")),
    NoteKind("Where things are", THINGS, COLOURS, "The {key} is in the {value} box.",
             ("Where is the {key}?", "In which box is the {key}?")),
    NoteKind("Who waters what", NAMES, PLANTS, "{key} waters the {value}.",
             ("What does {key} water?", "Which plants does {key} look after?")),
    NoteKind("Meals of the week", DAYS, DISHES, "On {key} there is {value}.",
             ("What is there to eat on {key}?", "What will be cooked on {key}?")),
    NoteKind("What to bring", NAMES, DISHES, "{key} brings the {value}.",
             ("What does {key} bring?", "What will {key} bring to the feast?")),
    NoteKind("Where everyone sleeps", NAMES, ROOMS, "{key} sleeps in the {value}.",
             ("Where does {key} sleep?", "In which room does {key} sleep?")),
)
ASK = "Read this note and answer with its words.\n\n{title}\n{sentences}\n\n{question}"
COUNTS = (3, 4, 5, 6, 7)
