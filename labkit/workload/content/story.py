"""Stories: a small animal, a thing it loves, some trouble, those it meets on the way, and a good end.

`BEATS` lists what a short, a middling and a long story consist of; `meeting` is told several times, each time
with a new animal and a new trouble. Symbols after an `@` depend on what came before: the plot, the hero, the
trouble.
"""

from __future__ import annotations

HEROINES = ("Tilly", "Rosa", "Hetty", "Olive", "Minna")
HEROES = ("Bertram", "Otis", "Hugo", "Linus", "Fenn")
SPECIES = ("hedgehog", "otter", "mouse", "badger", "fox", "rabbit", "mole", "squirrel", "frog", "beaver")
OBJECTS = ("lantern", "bell", "compass", "kite", "teapot", "music box", "umbrella", "clock")
PLOTS = ("lost", "gift", "broken")
HELPERS = ("heron", "toad", "goat", "raven", "donkey", "snail", "goose", "lizard", "cat", "old dog")
TROUBLES = ("sack", "glasses", "boat", "gate", "hungry", "dark", "letter", "bridge")

LENGTHS = {"short": "short story", "middle": "story", "long": "long story"}
ASK = (
    "Tell me a {length} about a {species} and a {object}.",
    "I would like to hear a {length} about a {species} with a {object}.",
    "Please tell me a {length}. There should be a {species} and a {object} in it.",
)
BEATS = {
    "short": ("open", "love", "problem", "leave", "meeting", "climax", "end"),
    "middle": ("open", "habit", "love", "problem", "\n\n", "leave", "weather", "meeting", "meeting", "\n\n", "climax", "end"),
    "long": (
        "open", "habit", "love", "problem", "\n\n", "leave", "weather", "meeting", "meeting", "\n\n",
        "night", "morning", "meeting", "meeting", "\n\n", "climax", "home", "end",
    ),
}  # fmt: skip

RULES: dict[str, tuple[str, ...]] = {
    "hero": HEROINES + HEROES,
    "open": (
        "Once upon a time, <dwelling>, there lived a <$species> named <hero=hero>.",
        "<^dwelling> there was a little house, and in it lived a <$species> whose name was <hero=hero>.",
    ),
    "dwelling": (
        "at the edge of Fern Hollow",
        "under the old bridge in Stonebridge",
        "behind the water mill of Willowbrook",
        "between the dunes of Pebble Bay",
        "on the sunny side of Larkhill",
    ),
    "habit": (
        "Every morning <she@hero> swept the doorstep, watered the beans, and said good day to the sun.",
        "<^she@hero> was not very big and not very brave, but <she@hero> made the best pancakes for miles around.",
        "<^she@hero> knew every path in the wood and hummed the same small tune on all of them.",
    ),
    "love": (
        "Of all <her@hero> things, <she@hero> loved a <look=look> <$object> the most.",
        "On the shelf above the stove stood <her@hero> greatest treasure, a <look=look> <$object>.",
    ),
    "look": ("small silver", "bright red", "round brass", "sky-blue", "very old"),
    "problem": ("<lost@plot>",),
    "lost/lost": (
        "But one day, when <$hero> came home from the market, the <$object> was gone.",
        "One stormy night the wind blew the door open, and in the morning the <$object> had disappeared.",
    ),
    "lost/gift": (
        "One day a letter came from <her@hero> grandmother in Windmere: her own <$object> was lost, and her house had grown so quiet.",
        "Then <$hero> heard that <her@hero> best friend in Windmere was ill, and wished for nothing so much as a <$object>.",
    ),
    "lost/broken": (
        "But three days before the great lantern feast the <$object> fell to the floor and broke.",
        "One evening, just before the lantern feast, the <$object> slipped from the shelf and cracked in two.",
    ),
    "leave": ("<leave@plot>",),
    "leave/lost": (
        'So <$hero> put on <her@hero> warmest scarf. "I shall find it," <she@hero> said, "even if I have to walk to the end of the valley."',
        "<^$hero> cried a little, then <she@hero> packed some bread and cheese and set out to look for it.",
    ),
    "leave/gift": (
        '"Then I know what to do," said <$hero>, wrapped the <$object> in a soft cloth, and set out that very hour.',
        "<^$hero> thought about it all night. At dawn <she@hero> packed the <$object> and some bread, and locked the door.",
    ),
    "leave/broken": (
        'So <$hero> put the pieces into a bag. "Somebody in this valley must be able to mend it," <she@hero> said, and off <she@hero> went.',
        "<^$hero> gathered every piece, tied them up in a handkerchief, and set out to find the clockmaker.",
    ),
    "weather": (
        "The sun was shining, and the road smelled of thyme.",
        "A fine rain was falling, but the puddles were warm.",
        "Mist lay on the fields, and every sound seemed far away.",
    ),
    "meeting": ("<^$place> <$hero> met a <$helper>. <trouble@trouble> <$thanks>",),
    "place": ("by the river", "at the crossroads", "under a chestnut tree", "beside a broken cart", "on top of a hill", "near a quiet pond"),
    "trouble/sack": ("The <$helper> was dragging a sack of flour that was much too heavy, so <$hero> took the other end and they carried it together.",),
    "trouble/glasses": ("The <$helper> had lost a pair of glasses in the tall grass, and <$hero> searched on all fours until they turned up.",),
    "trouble/boat": ("The <$helper> had a boat that was stuck in the mud, and <$hero> pushed with all <her@hero> strength until it floated.",),
    "trouble/gate": ("A fallen gate barred the way of the <$helper>, and <$hero> found a long branch and lifted it up.",),
    "trouble/hungry": ("The <$helper> had eaten nothing since the day before, and <$hero> shared <her@hero> last piece of bread.",),
    "trouble/dark": ("The <$helper> was afraid to go through the dark wood alone, so <$hero> went along and sang the whole way.",),
    "trouble/letter": ("The <$helper> could not read a letter from home, so <$hero> sat down and read it aloud, twice.",),
    "trouble/bridge": ("The plank over the brook had broken, and <$hero> helped the <$helper> to lay a new one.",),
    "thanks/lost": (
        '"Thank you," said the <$helper>. "I saw something shine over there, where the sun goes down."',
        '"You have a good heart," said the <$helper>. "Ask for your <$object> at the next house."',
        '"I shall not forget that," said the <$helper>, and pointed to a narrow path between the trees.',
        'Then the <$helper> thought for a while and said: "A magpie flew by with something bright."',
        "The <$helper> knew nothing about the <$object>, but promised to ask all the birds.",
    ),
    "thanks/gift": (
        '"Thank you," said the <$helper>. "Take the path on the left; it is shorter."',
        '"You have a good heart," said the <$helper>, and gave <him@hero> a flower for the long way.',
        '"I shall not forget that," said the <$helper>, and walked along as far as the next bend.',
        'Then the <$helper> looked at the parcel and said: "Whoever gets that can be glad."',
        "The <$helper> waved until <$hero> was out of sight.",
    ),
    "thanks/broken": (
        '"Thank you," said the <$helper>. "Here is a drop of glue; you may need it."',
        '"You have a good heart," said the <$helper>. "Follow the ticking, and you will find the clockmaker."',
        '"I shall not forget that," said the <$helper>, and gave <him@hero> a tiny screw of silver.',
        'Then the <$helper> looked at the pieces and said: "That can be mended. I am sure of it."',
        "The <$helper> could not mend anything, but knew a cheerful song for the road.",
    ),
    "night": (
        "When it grew dark, <$hero> slept in a haystack and dreamed of home.",
        "That night <she@hero> lay under the open sky and counted the stars until there were none left to count.",
    ),
    "morning": (
        "In the morning there was dew on <her@hero> nose, and the way went on.",
        "A lark woke <him@hero>, and after a breakfast of berries <she@hero> walked on.",
    ),
    "climax": ("<climax@plot>",),
    "climax/lost": (
        "At last <$hero> came to a tall tree, and there, in the nest of a magpie, lay the <$look> <$object>. The magpie gave it back, for she had only wanted something to look at.",
        "At the end of the road stood a tiny house, and in the window was the <$look> <$object>. A lonely old mole had found it in a ditch and had kept it safe and clean.",
    ),
    "climax/gift": (
        "At last <$hero> saw the red windmill of Windmere. A door opened, two arms flew around <her@hero> neck, and the <$look> <$object> was set on the table for all to see.",
        "In the evening <she@hero> knocked at a blue door in Windmere. When the <$look> <$object> came out of its cloth, there was such laughter that the neighbours came to look.",
    ),
    "climax/broken": (
        "At last <$hero> found the clockmaker. He looked at the pieces for a long time, hummed, filed and glued, and then the <$look> <$object> was whole again.",
        "The clockmaker was out, but his tools lay on the bench. So <$hero> tried it alone, piece by piece, and at midnight the <$look> <$object> was as good as new.",
    ),
    "home": (
        "The way home seemed only half as long, for at every bend a friend was waiting to walk along.",
        "On the way home <$hero> stopped at every house, and at every house there was cake.",
    ),
    "end": ("<end@plot>",),
    "end/lost": (
        "From that day on the door of <$hero> was never locked, because the best things come back to those who share.",
        "And whoever passes there in the evening can see the <$object> in the window, shining for everyone.",
    ),
    "end/gift": (
        "And <$hero> learned that a treasure is twice as bright when it is given away.",
        "They drank tea until the moon went down, and <$hero> was never happier.",
    ),
    "end/broken": (
        "The feast was the finest in years, and <$hero> danced until the last lantern went out.",
        "You can still see a thin line where it broke, and <$hero> likes that part best of all.",
    ),
}  # fmt: skip
for _name in HEROINES:
    RULES |= {f"she/{_name}": ("she",), f"her/{_name}": ("her",), f"him/{_name}": ("her",)}
for _name in HEROES:
    RULES |= {f"she/{_name}": ("he",), f"her/{_name}": ("his",), f"him/{_name}": ("him",)}
