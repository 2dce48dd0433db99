"""Text from tokens, one at a time, and never half a character.

A token is a few bytes, and a character can be spread over several tokens. A decoder that prints each token by
itself prints `�`. So bytes are held back until they complete a character; the pieces joined are the text
decoded at once.
"""

import codecs
from collections.abc import Callable
from functools import cache

from labkit.errors import TokenizerError


class StreamDecoder:
    """Hands out the text of a growing sequence of tokens: `push` each token, `flush` at the end."""

    def push(self, token: int) -> str:
        """Take one more token; the text that is now certain, perhaps empty."""
        raise NotImplementedError

    def flush(self) -> str:
        """The rest, at the end of the sequence: an unfinished character comes out as `�`."""
        raise NotImplementedError


class ByteStream(StreamDecoder):
    """For byte-level vocabularies, where a token *is* a string of bytes: an incremental UTF-8 decoder does it all."""

    def __init__(self, token_bytes: Callable[[int], bytes]) -> None:
        self._token_bytes = token_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> str:
        """Take one more token; the text that is now certain, perhaps empty."""
        return self._decoder.decode(self._token_bytes(token))

    def flush(self) -> str:
        """The rest, at the end of the sequence: an unfinished character comes out as `�`."""
        return self._decoder.decode(b"", final=True)


class WindowStream(StreamDecoder):
    """For any other vocabulary: decode a few tokens with and without the new one, and print the difference.

    The window starts at the tokens printed last, which give the new ones their context (some decoders drop a
    leading space), and ends at the newest; so the cost per token does not grow with the text.
    """

    def __init__(self, decode: Callable[[list[int]], str]) -> None:
        self._decode = decode
        self._printed: list[int] = []
        self._waiting: list[int] = []

    def push(self, token: int) -> str:
        """Take one more token; the text that is now certain, perhaps empty."""
        self._waiting.append(token)
        text = self._new_text()
        if not text or text.endswith("�"):
            return ""
        self._printed, self._waiting = self._waiting, []
        return text

    def flush(self) -> str:
        """The rest, at the end of the sequence: an unfinished character comes out as `�`."""
        text = self._new_text()
        self._printed, self._waiting = [], []
        return text

    def _new_text(self) -> str:
        known = self._decode(self._printed)
        return self._decode(self._printed + self._waiting)[len(known) :]


@cache
def byte_of_letter() -> dict[str, int]:
    """GPT-2's alphabet: a visible letter for each of the 256 bytes, so that tokens can be written as text.

    Printable Latin-1 characters stand for themselves; the other bytes, in order, for the letters from U+0100
    on.
    """
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in set(visible)]
    return {chr(byte): byte for byte in visible} | {chr(0x100 + i): byte for i, byte in enumerate(hidden)}


def bytes_of_token(token: str) -> bytes:
    """The bytes a byte-level token stands for; a token with letters outside that alphabet stands for itself."""
    letters = byte_of_letter()
    if all(letter in letters for letter in token):
        return bytes(letters[letter] for letter in token)
    return token.encode("utf-8")


def checked_token(token: int) -> int:
    """The token, if it can be one. Raises TokenizerError."""
    if not isinstance(token, int) or not 0 <= token < 2**32:
        raise TokenizerError(f"token {token!r} is not a token id: a whole number from 0")
    return token
