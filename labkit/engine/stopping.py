"""When an output ends, and which of its text may already be shown.

A stop string can arrive in pieces, so text that might be the beginning of one is held back until the next
token decides.
"""

from typing import Protocol


class Decoder(Protocol):
    """Turns tokens into text piece by piece, never half a character (see `Tokenizer.stream`)."""

    def push(self, token: int) -> str:
        """The text that this token completes."""

    def flush(self) -> str:
        """What is left at the end."""


class TextStream:
    """Tokens in, text that is safe to show out; `stopped` once a stop string has come up."""

    def __init__(self, decoder: Decoder, stop: tuple[str, ...] = ()) -> None:
        self.stopped = False
        self._decoder = decoder
        self._stop = stop
        self._held = ""

    def push(self, token: int) -> str:
        """The text that may be shown now that `token` has come."""
        return "" if self.stopped else self._release(self._decoder.push(token))

    def finish(self) -> str:
        """The rest of the text, once no more tokens come."""
        if self.stopped:
            return ""
        shown = self._release(self._decoder.flush())
        shown, self._held = (shown, "") if self.stopped else (shown + self._held, "")
        return shown

    def _release(self, new: str) -> str:
        text = self._held + new
        found = [at for at in map(text.find, self._stop) if at >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        keep = len(text) - max((_overlap(text, stop) for stop in self._stop), default=0)
        self._held = text[keep:]
        return text[:keep]


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that `stop` begins with."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if stop.startswith(text[-n:])), 0)
