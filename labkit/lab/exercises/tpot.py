"""Exercise: time per output token, the first number to agree on, and one that tools define differently."""

from itertools import pairwise
from statistics import median

from labkit.engine.trace import RequestRecord
from labkit.lab.exercises.base import Case, Exercise, Mistake, Property, close

_STUB = '''def tpot(request):
    """Seconds per output token after the first; None if there are fewer than two tokens.

    request.arrival is when the request came, request.token_times when each output token was there, all in seconds.
    """
    raise NotImplementedError
'''


def _request(arrival: float, *times: float) -> RequestRecord:
    return RequestRecord(id="0", arrival=arrival, prompt_tokens=20, token_times=list(times))


_CASES = (
    ("a request that came at 0 s with tokens at 2, 3 and 4 s", _request(0, 2, 3, 4)),
    ("a request that came at 1 s with tokens at 1.5, 1.75, 2.5 and 2.7 s", _request(1, 1.5, 1.75, 2.5, 2.7)),
    ("a request with tokens at 5 and 5.25 s", _request(4, 5, 5.25)),
    ("a long wait and six quick tokens", _request(10, 70, 70.1, 70.2, 70.3, 70.4, 71)),
)


def make() -> Exercise:
    """The exercise on time per output token."""
    return Exercise(
        name="tpot",
        lesson="00",
        target="labkit.engine.metrics:tpot",
        task="The first token waits for the prompt to be read. After it, tokens come one by one. How long does one "
        "of those take, on average?",
        stub=_STUB,
        unit="s",
        cases=[Case(says, (request,)) for says, request in _CASES],
        properties=(
            Property(
                "a later arrival changes nothing",
                lambda fn: close(fn(_request(0, 2, 3)), fn(_request(1, 2, 3))),
            ),
            Property(
                "evenly spaced tokens give the spacing", lambda fn: close(fn(_request(0, 1, 1.5, 2)), 0.5)
            ),
            Property("one token alone has no time between tokens", lambda fn: fn(_request(0, 1)) is None),
            Property("no token at all has none either", lambda fn: fn(_request(0)) is None),
        ),
        mistakes=_MISTAKES,
        hints=(
            "Take the tokens at 2, 3 and 4 seconds. How many gaps are between them, and how long are they together?",
            "The gaps together reach from the first token to the last: token_times[0] to token_times[-1].",
            "(last − first) / (number of tokens − 1); with fewer than two tokens there is no gap: return None.",
        ),
    )


def _gaps(request: RequestRecord) -> list[float]:
    return [later - earlier for earlier, later in pairwise(request.token_times)]


def _span(request: RequestRecord) -> float:
    return request.token_times[-1] - request.token_times[0]


def _waited(request: RequestRecord) -> float:
    return request.token_times[-1] - request.arrival


_MISTAKES = (
    Mistake(
        "divided by n", lambda r: _span(r) / len(r.token_times),
        "Count the gaps, not the tokens: between n tokens there are n − 1. (One tool in use does divide by n.)",
    ),
    Mistake(
        "first token included", lambda r: _waited(r) / len(r.token_times),
        "That starts at the arrival: the wait for the first token is the TTFT, a number of its own.",
    ),
    Mistake(
        "from arrival", lambda r: _waited(r) / (len(r.token_times) - 1),
        "The time must start at the first token, not at the arrival.",
    ),
    Mistake(
        "a rate", lambda r: (len(r.token_times) - 1) / _span(r),
        "That is tokens per second. Asked is the other way round: seconds per token.",
    ),
    Mistake(
        "milliseconds", lambda r: 1000 * _span(r) / (len(r.token_times) - 1),
        "A thousand times too large: the answer is in seconds.",
    ),
    Mistake("whole span", _span, "That is the time of all gaps together: divide by how many there are."),
    Mistake("middle gap", lambda r: median(_gaps(r)), "That is the median gap. Asked is the mean: a slow gap counts."),
    Mistake("last gap", lambda r: _gaps(r)[-1], "That is the last gap only. Asked is the mean over all of them."),
    Mistake("ttft", lambda r: r.token_times[0] - r.arrival, "That is the time to the first token, the TTFT."),
)  # fmt: skip
