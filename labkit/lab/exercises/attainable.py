"""Exercise: the roof itself, how fast an operation of a given intensity can run."""

from labkit.lab.exercises.base import Case, Exercise, Mistake, Property, close
from labkit.lab.exercises.ridge import MACHINES

_STUB = '''def attainable(intensity, flops_per_second, bytes_per_second):
    """FLOP per second that an operation of this intensity (FLOP per byte) can reach at most."""
    raise NotImplementedError
'''


def make() -> Exercise:
    """The exercise on the roof."""
    return Exercise(
        name="attainable",
        lesson="01",
        target="labkit.simulate.roofline:attainable",
        task="An operation does `intensity` floating point operations for each byte it reads. The machine reads and "
        "computes at the "
        "same time. How many operations per second can it reach at most?",
        stub=_STUB,
        unit="FLOP/s",
        cases=[
            Case(f"intensity {intensity:g} on {says}", (intensity, flops, bytes_))
            for says, flops, bytes_ in MACHINES
            for intensity in (0.2, 1.0, 30.0, 5000.0)
        ],
        properties=(
            Property(
                "it never exceeds the machine's peak",
                lambda fn: all(fn(i, 1e12, 1e11) <= 1e12 for i in (1, 10, 1e6)),
            ),
            Property(
                "left of the ridge, twice the intensity is twice as fast",
                lambda fn: close(fn(4, 1e12, 1e11), 2 * fn(2, 1e12, 1e11)),
            ),
            Property(
                "right of the ridge, more intensity changes nothing",
                lambda fn: close(fn(20, 1e12, 1e11), fn(40, 1e12, 1e11)),
            ),
            Property(
                "right of the ridge, more bandwidth changes nothing",
                lambda fn: close(fn(20, 1e12, 1e11), fn(20, 1e12, 2e11)),
            ),
        ),
        mistakes=_MISTAKES,
        hints=(
            "Two things can hold an operation back. How fast would it run if only memory did? If only computing did?",
            "Memory delivers bytes_per_second, and each byte feeds `intensity` operations. That is one limit; what "
            "is the other?",
            "The slower of the two limits decides: the minimum of the peak and intensity times bandwidth.",
        ),
    )


_MISTAKES = (
    Mistake(
        "sum", lambda i, f, b: f + i * b,
        "You added the two limits. The operation cannot outrun either of them.",
    ),
    Mistake(
        "larger", lambda i, f, b: max(f, i * b),
        "You took the larger limit, so the two sides of the ridge have changed places. The slower of the two holds the "
        "operation back.",
    ),
    Mistake(
        "memory only", lambda i, f, b: i * b,
        "Right while it waits for memory, but your roof has no flat part: no operation exceeds the machine's peak.",
    ),
    Mistake(
        "peak only", lambda i, f, b: f,
        "That is the machine's peak. An operation of low intensity waits for memory, and never reaches it.",
    ),
    Mistake(
        "bytes per FLOP", lambda i, f, b: min(f, b / i),
        "You divided by the intensity. It is in FLOP per byte: more of it means more work for each byte read.",
    ),
    Mistake(
        "one after the other", lambda i, f, b: 1 / (1 / f + 1 / (i * b)),
        "That is reading first and computing after. The roof assumes that both go on at the same time, so the slower "
        "one decides.",
    ),
    Mistake(
        "bandwidth only", lambda i, f, b: min(f, b),
        "You compared FLOP/s with bytes/s. How many operations does each byte feed?",
    ),
    Mistake(
        "share of the peak", lambda i, f, b: min(1.0, i * b / f),
        "That is the share of the peak. The question is FLOP per second.",
    ),
)  # fmt: skip
