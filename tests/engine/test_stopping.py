"""A stop string ends the text wherever token boundaries fall, and nothing of it is ever shown."""

from hypothesis import given
from hypothesis import strategies as st

from labkit.engine.stopping import TextStream

text = st.text(alphabet="abc", max_size=30)


class Pieces:
    """A decoder whose token n is the n-th piece."""

    def __init__(self, pieces, rest=""):
        self.pieces, self.rest = pieces, rest

    def push(self, token):
        return self.pieces[token]

    def flush(self):
        return self.rest


@given(
    pieces=st.lists(text, max_size=12),
    rest=text,
    stop=st.lists(st.text("abc", min_size=1, max_size=4), max_size=3),
)
def test_the_shown_text_ends_before_the_first_stop_string(pieces, rest, stop):
    stream = TextStream(Pieces(pieces, rest), tuple(stop))
    whole = "".join(pieces) + rest
    shown = ""
    for token in range(len(pieces)):
        shown += stream.push(token)
        assert not any(one in shown for one in stop)
        assert whole.startswith(shown)
    shown += stream.finish()
    # Of two matches the later one may end first: what counts is that the text is cut at a match, and only there.
    ends = [whole.find(one) for one in stop if one in whole]
    assert stream.stopped == bool(ends)
    assert shown == whole if not ends else any(shown == whole[:at] for at in ends)


def test_text_that_cannot_begin_a_stop_string_is_shown_at_once():
    stream = TextStream(Pieces(["hello ", "wor", "ld EN", "D"]), ("END",))
    assert [stream.push(n) for n in range(4)] == ["hello ", "wor", "ld ", ""]
    assert stream.stopped
