"""Things to do step by step. Every task has seven phases in order, each told in one of two ways.

A request for `n` steps gets the phases that `PHASES_FOR[n]` names, so that the length of the answer follows
from the question.
"""

from __future__ import annotations

ASK = (
    "How do I {task}?",
    "How can I {task} in {count} steps?",
    "Please tell me in {count} steps how to {task}.",
    "Give me {count} steps to {task}.",
)
DEFAULT_COUNT = 5
NUMBER_WORDS = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}
PHASES_FOR = {
    3: (1, 3, 6),
    4: (1, 3, 4, 6),
    5: (0, 1, 3, 4, 6),
    6: (0, 1, 2, 3, 4, 6),
    7: (0, 1, 2, 3, 4, 5, 6),
}
INTRO = ("Here is how to {task}:", "To {task}, do this:")

TASKS: dict[str, tuple[tuple[str, str], ...]] = {
    "bake bread": (
        ("Put flour, salt, yeast and water on the table.", "Weigh the flour and warm the water."),
        ("Mix everything in a large bowl.", "Stir flour, yeast, salt and water together."),
        ("Knead the dough until it is smooth.", "Fold and press the dough for ten minutes."),
        ("Let the dough rest under a cloth for an hour.", "Cover the bowl and wait until the dough has doubled."),
        ("Shape a round loaf.", "Form the dough into a loaf and dust it with flour."),
        ("Cut a cross into the top.", "Make the oven very hot."),
        ("Bake it for forty minutes, until it sounds hollow.", "Bake the loaf until the crust is brown, and let it cool."),
    ),
    "plant a tree": (
        ("Choose a place with enough light.", "Find a spot where the tree can grow tall."),
        ("Dig a hole twice as wide as the roots.", "Dig a deep, wide hole."),
        ("Soak the roots in a bucket of water.", "Loosen the earth at the bottom."),
        ("Set the tree into the hole and hold it straight.", "Place the young tree in the middle of the hole."),
        ("Fill the hole with earth and press it down.", "Put the earth back and step on it gently."),
        ("Tie the trunk to a strong stick.", "Put some straw around the trunk."),
        ("Water it well, and again every evening for a month.", "Give it two buckets of water."),
    ),
    "make a kite": (
        ("Find paper, string, glue and two thin sticks.", "Lay out two sticks, some paper and a long string."),
        ("Tie the sticks together in the shape of a cross.", "Cross the two sticks and bind them with string."),
        ("Run a string around the four ends.", "Cut a small notch into each end of the sticks."),
        ("Cut the paper to size and glue it to the frame.", "Stretch the paper over the frame and glue down the edges."),
        ("Make a tail from ribbons.", "Tie a long tail to the bottom."),
        ("Paint a friendly face on it.", "Let the glue dry for an hour."),
        ("Fasten the long string and wait for a windy day.", "Tie on the string and run into the wind."),
    ),
    "cook vegetable soup": (
        ("Pick carrots, leeks, potatoes and an onion.", "Wash the vegetables in cold water."),
        ("Cut the vegetables into small pieces.", "Peel and chop everything."),
        ("Melt some butter in a big pot.", "Fry the onion until it is golden."),
        ("Add the vegetables and cover them with water.", "Put the vegetables into the pot and pour in the water."),
        ("Let the soup simmer for half an hour.", "Cook it slowly until the carrots are soft."),
        ("Stir in a spoon of cream.", "Taste it and add a little pepper."),
        ("Add salt and herbs, and serve it hot.", "Sprinkle parsley on top and call everyone to the table."),
    ),
    "wash a dog": (
        ("Fill a tub with warm water.", "Get a towel, some soap and a warm tub ready."),
        ("Calm the dog with a kind word.", "Lead the dog to the tub and stroke it."),
        ("Brush its coat first.", "Take off its collar."),
        ("Wet the coat from neck to tail.", "Pour water over its back with a jug."),
        ("Rub in the soap, but keep it out of the eyes.", "Wash it gently with a little soap."),
        ("Clean the paws one by one.", "Rinse out all the soap."),
        ("Dry it with a towel and give it a treat.", "Stand back while it shakes, and then dry it."),
    ),
    "light a campfire": (
        ("Find a place far from trees and tents.", "Look for a spot on sand or stone."),
        ("Lay a ring of stones.", "Clear the ground and put stones around it."),
        ("Gather dry twigs and thicker branches.", "Collect wood of three sizes."),
        ("Make a small heap of dry grass and twigs.", "Build a little tent of twigs over some dry grass."),
        ("Light it at the bottom, on the side of the wind.", "Hold a match to the grass."),
        ("Blow softly until the twigs catch fire.", "Add thicker branches one at a time."),
        ("Pour water on it before you leave.", "Stay with the fire, and put it out completely at the end."),
    ),
    "write a letter": (
        ("Sit down at a quiet table.", "Find a good pen and some paper."),
        ("Write the date and a greeting.", "Begin with the name of your friend."),
        ("Thank your friend for the last letter.", "Ask how your friend is."),
        ("Tell what has happened since you last met.", "Describe one small thing that made you smile."),
        ("Ask a question, so that there is something to answer.", "Say when you would like to meet again."),
        ("Read it once more and mend the mistakes.", "Draw something small in the margin."),
        ("Sign it, fold it, and bring it to the post.", "Put it into an envelope and add a stamp."),
    ),
    "make tea": (
        ("Choose a tea that you like.", "Take your favourite cup from the shelf."),
        ("Boil fresh water.", "Fill the kettle and bring it to the boil."),
        ("Warm the pot with a little hot water.", "Set out the cups."),
        ("Put one spoon of leaves into the pot.", "Put the tea leaves into the pot."),
        ("Pour the water over the leaves.", "Fill the pot with hot water."),
        ("Put a cosy over the pot.", "Turn the hourglass over."),
        ("Wait for four minutes and pour the tea.", "Let it stand for a while, then pour it through a sieve."),
    ),
    "clean a window": (
        ("Open the curtains and clear the sill.", "Choose a cloudy day, so that it dries slowly."),
        ("Mix warm water with a drop of soap.", "Fill a bucket with warm, soapy water."),
        ("Brush away the dust and the cobwebs.", "Wipe the frame first."),
        ("Wash the glass from top to bottom.", "Rub the glass with a wet cloth."),
        ("Wipe off the water with a clean, dry cloth.", "Dry the glass with a soft towel."),
        ("Do the same on the other side.", "Look for streaks from the side."),
        ("Polish it with old newspaper and enjoy the view.", "Open the window and let in some fresh air."),
    ),
    "pack for a journey": (
        ("Look at the weather.", "Count the days that you will be away."),
        ("Write a list of what you need.", "Lay everything on the bed."),
        ("Take away a third of it.", "Leave room for a present."),
        ("Put the heavy things at the bottom.", "Start with shoes and books."),
        ("Roll the clothes and fill the gaps with socks.", "Fold the shirts and lay them on top."),
        ("Add a bottle of water and some bread.", "Put your ticket into your pocket."),
        ("Close the bag and see whether you can carry it.", "Lock the door and leave in good time."),
    ),
    "build a birdhouse": (
        ("Get six boards, a saw and some nails.", "Draw a plan with all the sizes."),
        ("Saw the boards to size.", "Cut four walls, a floor and a roof."),
        ("Smooth the edges with sandpaper.", "Mark the middle of the front wall."),
        ("Drill a round hole in the front.", "Make a hole as wide as a plum."),
        ("Nail the walls to the floor.", "Put the walls together with nails."),
        ("Paint the outside, never the inside.", "Leave a small gap for the air."),
        ("Fix the roof and hang it high in a tree.", "Put on the roof and wait for spring."),
    ),
    "fall asleep": (
        ("Put away your work an hour before bed.", "Eat a light supper."),
        ("Dim the lamp.", "Turn the lights low and speak softly."),
        ("Wash your face and brush your teeth.", "Drink something warm."),
        ("Open the window for some cool air.", "Make the bed fresh and cool."),
        ("Lie down and let your arms grow heavy.", "Lie on your side and close your eyes."),
        ("Think of a place where you were happy.", "Listen to your breath."),
        ("Count sheep until you forget the number.", "Count slowly down from one hundred."),
    ),
}
