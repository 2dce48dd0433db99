"""Small talk: who the helper is, what people say to it, and what it says back.

A topic is a pair of symbols, `user/TOPIC` and `reply/TOPIC`; a reply may remember words of the user's turn.
"""

from __future__ import annotations

PERSONAS = {
    "Juniper": "You are Juniper, a cheerful helper from the Lantern Valley. Answer kindly, number your steps, and take your time with stories.",
    "Basil": "You are Basil, a calm helper who knows the eight towns of the valley. Short questions get short answers.",
    "Clover": "You are Clover, the helper at the market of Willowbrook. You know every price by heart, and you never hurry.",
    "Sage": "You are Sage, an old friend of travellers. Speak simply. Say what you know and no more.",
}

RULES: dict[str, tuple[str | tuple[float, str], ...]] = {
    "season": ("spring", "summer", "autumn", "winter"),
    "mood": ("tired", "sad", "worried", "bored", "lonely", "nervous"),
    "drink": ("mint tea", "warm milk", "apple juice", "hot chocolate"),
    "hobby": ("drawing", "fishing", "knitting", "singing", "gardening", "reading"),
    "weather": ("rainy", "sunny", "windy", "snowy", "foggy"),
    "relative": ("mother", "father", "sister", "brother", "grandmother", "grandfather"),
    "creature": ("cat", "owl", "fox", "hedgehog", "snail", "moon"),
    # ---- topics
    "user/hello": ("Hello!", "Good morning!", "Hi there!", "Good evening!"),
    "reply/hello": (
        "Hello! It is lovely to meet you. What can I do for you today?",
        "Good to see you! How can I help?",
        "Welcome! Ask me anything about the valley.",
    ),
    "user/how": ("How are you?", "How are you today?", "Are you well?"),
    "reply/how": (
        "I am well, thank you. I hope your day is as bright as a lantern.",
        "Very well, thank you! And how are you?",
    ),
    "user/thanks": ("Thank you!", "Thanks a lot.", "That was helpful, thank you."),
    "reply/thanks": ("You are welcome!", "It was a pleasure.", "Any time!"),
    "user/bye": ("Good night!", "Goodbye!", "I have to go now."),
    "reply/bye": (
        "Good night, and sleep well!",
        "Goodbye! Come back soon.",
        "Take care on your way home.",
    ),
    "user/mood": ("I feel <mood=mood> today.", "I am a little <mood=mood>.", "Why am I so <mood=mood>?"),
    "reply/mood": (
        "I am sorry that you feel <$mood>. <comfort@mood>",
        "It is all right to be <$mood> sometimes. <comfort@mood>",
    ),
    "comfort/tired": (
        "Lie down for a while, close your eyes, and let the kettle sing without you.",
        "An early night and a cup of <drink> can do wonders.",
    ),
    "comfort/sad": (
        "Tell someone you trust about it; a shared sorrow weighs only half as much.",
        "Take a slow walk by the water, and be as gentle with yourself as you would be with a friend.",
    ),
    "comfort/worried": (
        "Write your worries on a piece of paper, and then choose the smallest one to start with.",
        "Breathe in slowly, count to four, and breathe out again. Most clouds pass by evening.",
    ),
    "comfort/bored": (
        "Pick something that you have never tried, such as <hobby>, and give it ten minutes.",
        "Open a window, listen, and count the sounds that you can hear.",
    ),
    "comfort/lonely": (
        "Knock at a neighbour's door with some cake; few people can resist that.",
        "Write a letter to your <relative>. A good letter is half a visit.",
    ),
    "comfort/nervous": (
        "Being nervous means that you care. Stand up straight, and begin with a smile.",
        "Have a cup of <drink> first, and remember the last time that things went well.",
    ),
    "user/season": ("What do you like about <season=season>?", "Tell me something nice about <season=season>."),
    "reply/season": ("<about@season>",),
    "about/spring": (
        "In spring the snow melts, the river grows loud, and the first crocuses look out of the grass.",
        "Spring smells of wet earth, and every hedge is full of nests.",
    ),
    "about/summer": (
        "In summer the evenings are long, and the children swim in the lake until the lanterns are lit.",
        "Summer means cherries, bare feet, and a hat with a wide brim.",
    ),
    "about/autumn": (
        "In autumn the orchard at Amberly turns gold, and there is apple juice for everyone.",
        "Autumn brings mushrooms, red leaves, and the best wind for flying kites.",
    ),
    "about/winter": (
        "In winter the whole valley is quiet, and every window has a candle in it.",
        "Winter is the time for thick blankets, hot soup, and long stories by the stove.",
    ),
    "user/drink": ("What should I drink on a <weather=weather> day?", "It is <weather=weather>. What shall I drink?"),
    "reply/drink": ("On a <$weather> day I would choose <drink>.",),
    "user/hobby": ("Is <hobby=hobby> a good hobby?", "I would like to try <hobby=hobby>.", "My <relative> wants to learn <hobby=hobby>."),
    "reply/hobby": ("<^$hobby> is a fine hobby. <tip@hobby>",),
    "tip/drawing": ("Start with simple things, such as a cup or a leaf, and draw a little every day.",),
    "tip/fishing": ("Bring a hat, some bread and a lot of patience.",),
    "tip/knitting": ("Begin with a scarf, because a scarf forgives every mistake.",),
    "tip/singing": ("Sing in the kitchen first, where the soup is a kind listener.",),
    "tip/gardening": ("Plant beans: they grow so fast that you can almost watch them.",),
    "tip/reading": ("Keep a book beside your bed, and read one page more than you meant to.",),
    "user/gift": ("What could I give my <relative=relative> as a present?", "My <relative=relative> has a birthday soon. Any ideas?"),
    "reply/gift": (
        "How about <gift> for your <$relative>? Wrap it in blue paper and tie it with a ribbon.",
        "Your <$relative> might like <gift>. A few kind words on a card make it complete.",
    ),
    "gift": ("a paper lantern", "a woollen blanket", "a jar of honey", "a basket of plums", "a small clay pot"),
    "user/joke": ("Tell me a joke.", "Do you know a joke?", "Make me laugh!"),
    "reply/joke": (
        "Why did the snail paint an S on its coat? So that people would say: look at that S go!",
        "What did the big bell say to the small bell? Give me a ring when you are home.",
        "Why do owls never carry an umbrella? When it is too wet, they do not give a hoot.",
        "What lies under the sea and shakes? A nervous fish.",
    ),
    "user/riddle": ("Do you know a riddle?", "Give me a riddle.", "Ask me a riddle, please."),
    "reply/riddle": (
        "I have hands but cannot clap. What am I? A clock.",
        "I am full of holes and still hold water. What am I? A sponge.",
        "The more you take from me, the bigger I grow. What am I? A hole in the ground.",
        "I have a neck but no head. What am I? A bottle.",
    ),
    "user/poem": ("Write a short poem about the <creature=creature>.", "A little poem about the <creature=creature>, please."),
    "reply/poem": ("<poem@creature>",),
    "poem/cat": ("The cat lies on the garden wall,\nshe does not hear her people call.\nShe hears the mouse, she hears the rain,\nand then she falls asleep again.",),
    "poem/owl": ("The owl looks down with eyes of gold\non fields of silver, still and cold.\nShe says the only word she knew:\nthe night is mine, to whit, to whoo.",),
    "poem/fox": ("The fox goes out across the snow\nwhere only quiet dreamers go.\nHe leaves a line of little dots,\nas if the field were tied in knots.",),
    "poem/hedgehog": ("The hedgehog rolls into a ball\nand is not there for you at all.\nBut put some berries by the door,\nand soon he will come back for more.",),
    "poem/snail": ("The snail has never missed a train,\nshe travels slowly through the rain.\nShe does not mind how far she roams,\nfor where she stops, there is her home.",),
    "poem/moon": ("The moon came up behind the mill\nand poured its milk on every hill.\nThe village slept, the river shone,\nand all the night the light went on.",),
    "user/echo": ("Please repeat after me: <line=saying>", "Say this back to me: <line=saying>", "Can you copy this line? <line=saying>"),
    "saying": (
        "<^number> <colour> <things> <doing> <spot>.",
        "<^number> <colour> <things> and <number> <colour> <things> <doing> <spot>.",
        "<^number> <things>, <number> <things> and <number> <things> <doing> <spot>.",
    ),
    "reply/echo": ("<$line>",),
    "number": ("two", "three", "four", "five", "seven", "nine", "twelve"),
    "colour": ("red", "blue", "green", "yellow", "white", "purple", "orange"),
    "things": ("boats", "apples", "geese", "lanterns", "bells", "ladders", "kittens", "clouds", "buttons", "trains", "letters", "stars"),
    "doing": ("wait", "sing", "dance", "sleep", "rest", "shine"),
    "spot": ("by the river", "under the bridge", "behind the mill", "on the hill", "in the orchard", "near the well"),
}

TOPICS = ("hello", "how", "mood", "season", "drink", "hobby", "gift", "joke", "riddle", "poem", "echo", "name", "thanks", "bye")
NAME_QUESTIONS = ("What is your name?", "Who are you?", "May I ask who you are?")
NAME_REPLY = "My name is {name}. I am here to help."
NO_NAME_REPLY = "I have no name, but I am happy to help."
