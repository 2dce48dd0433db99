"""Questions about the Lantern Valley, several ways to ask each, and the one sentence that answers it.

`{field}` is filled from the tables in `world`; the answer's key word is the field named last.
"""

from __future__ import annotations

# (ways to ask, the reply, the part of it that is the answer)
Question = tuple[tuple[str, ...], str, str]

PEOPLE_QUESTIONS: tuple[Question, ...] = (
    (("Where does {name} live?", "In which town does {name} live?", "Do you know where {name} lives?"),
     "{name} lives in {town}.", "{town}"),
    (("What is {name}'s job?", "What does {name} do for a living?", "What work does {name} do?"),
     "{name} is the {job}.", "{job}"),
    (("Which pet does {name} have?", "What kind of animal lives with {name}?", "Does {name} have a pet?"),
     "{name} has a pet, the {pet}.", "{pet}"),
    (("What is {name}'s favourite colour?", "Which colour does {name} like best?"),
     "{name}'s favourite colour is {colour}.", "{colour}"),
    (("What does {name} like to eat?", "What is {name}'s favourite food?"),
     "{name} likes {food} best.", "{food}"),
    (("Who is the {job}?", "Who works as the {job} in the valley?", "What is the name of the {job}?"),
     "The {job} is {name}.", "{name}"),
    (("Who has the {pet}?", "Whose pet is the {pet}?"),
     "The {pet} belongs to {name}.", "{name}"),
    (("Who loves {food}?", "Who would be glad of some {food}?"),
     "That would be {name}, who loves {food}.", "{name}"),
)

TOWN_QUESTIONS: tuple[Question, ...] = (
    (("What can I see in {name}?", "What is the landmark of {name}?", "What should I visit in {name}?"),
     "In {name} you can see {landmark}.", "{landmark}"),
    (("What is {name} known for?", "What do they make in {name}?"),
     "{name} is known for its {craft}.", "{craft}"),
    (("When is the market in {name}?", "On which day is market day in {name}?"),
     "The market in {name} is on {market}.", "{market}"),
    (("How do I get to {name}?", "What is the best way to reach {name}?"),
     "Take {road} to {name}.", "{road}"),
    (("Which town is known for its {craft}?", "Where do the best {craft} come from?"),
     "The best {craft} come from {name}.", "{name}"),
    (("Which town has {landmark}?", "Where can I find {landmark}?"),
     "You can find {landmark} in {name}.", "{name}"),
)

ANIMAL_QUESTIONS: tuple[Question, ...] = (
    (("Where does the {name} sleep?", "Where does the {name} make its home?"),
     "The {name} sleeps {home}.", "{home}"),
    (("What does the {name} eat?", "What is the {name}'s favourite meal?"),
     "The {name} eats {food}.", "{food}"),
    (("What sound does the {name} make?", "How does the {name} call?"),
     "The {name} makes {sound}.", "{sound}"),
)

PRICE_QUESTIONS: tuple[Question, ...] = (
    (("How much is one {one}?", "What does one {one} cost?", "What is the price of one {one}?"),
     "One {one} costs {price} coins.", "{price}"),
)
PRICES_QUESTIONS: tuple[Question, ...] = (
    (("How much are {count} {many}?", "What do {count} {many} cost?", "I would like {count} {many}. How much is that?"),
     "{count} {many} cost {total} coins.", "{total}"),
)

SUM_QUESTIONS: dict[str, Question] = {
    "plus": (("What is {a} plus {b}?", "How much is {a} + {b}?", "Please add {a} and {b}."),
             "{a} plus {b} is {result}.", "{result}"),
    "minus": (("What is {a} minus {b}?", "How much is {a} - {b}?", "Please take {b} from {a}."),
              "{a} minus {b} is {result}.", "{result}"),
    "times": (("What is {a} times {b}?", "How much is {a} x {b}?", "Please multiply {a} by {b}."),
              "{a} times {b} is {result}.", "{result}"),
}
YES_NO = ("Does {name} live in {guess}?", "Is it true that {name} lives in {guess}?")
