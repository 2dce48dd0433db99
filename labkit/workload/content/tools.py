"""Tool calls: the tools, how people ask for them, and how a result is put into words.

The system prompt with the tools is long and always the same: a prefix that many requests share.
"""

from __future__ import annotations

SYSTEM = """You are a helper with tools. When a tool fits, reply with one JSON object and nothing else. When it has answered, say the result in one sentence.
get_weather(town, day)
set_timer(minutes, label)
buy_goods(item, count)
book_ticket(from, to, day, seats)
send_letter(to, message)
play_music(instrument, mood)"""

LABELS = ("bread", "soup", "tea", "eggs", "cake", "laundry", "nap", "garden")
MINUTES = (2, 3, 4, 5, 8, 10, 12, 15, 20, 25, 30, 40, 45, 60, 90)
INSTRUMENTS = ("flute", "fiddle", "harp", "piano", "drum", "accordion")
MOODS = ("happy", "calm", "sad", "lively", "dreamy")
SKIES = {"sunny": (16, 30), "cloudy": (9, 20), "rainy": (7, 17), "windy": (5, 18), "foggy": (3, 11), "snowy": (0, 4)}
MESSAGES = (
    "The plums are ripe.",
    "I will come on the early train.",
    "Thank you for the beautiful blanket.",
    "The goose is well and sends its love.",
    "Please bring your fiddle.",
    "We have saved a chair for you.",
    "The boat is mended.",
    "Happy birthday!",
)
WHEN = ("today", "tomorrow", "on Monday", "on Tuesday", "on Wednesday", "on Thursday", "on Friday", "on Saturday", "on Sunday")

ASK = {
    "get_weather": ("What will the weather be like in {town} {when}?", "Tell me the weather in {town} {when}.", "Will it be nice in {town} {when}?"),
    "set_timer": ("Set a timer for {minutes} minutes for the {label}.", "Please remind me of the {label} in {minutes} minutes."),
    "buy_goods": ("Buy {count} {item} for me.", "I need {count} {item} from the market.", "Please get me {count} {item}."),
    "book_ticket": ("Book {seats} seats from {from} to {to} {when}.", "I need {seats} tickets from {from} to {to} {when}."),
    "send_letter": ('Send a letter to {to}: "{message}"', 'Please write to {to}: "{message}"'),
    "play_music": ("Play something {mood} on the {instrument}.", "I would like to hear some {mood} {instrument} music."),
}
SAY = {
    "get_weather": "In {town} it will be {sky} {when}, with {degrees} degrees.",
    "set_timer": "The timer for the {label} is set and rings in {minutes} minutes.",
    "buy_goods": "I bought {count} {item} for {coins} coins.",
    "book_ticket": "You have {seats} seats from {from} to {to} {when}, leaving at {hour} o'clock.",
    "send_letter": "Your letter to {to} is on its way and arrives in {days} days.",
    "play_music": "Now you hear a {mood} tune on the {instrument}, called {tune}.",
}
TUNES = ("The Miller's Dance", "Rain on the Roof", "Home by Lantern Light", "The Old Goose", "Seven Bridges")
