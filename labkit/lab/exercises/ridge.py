"""Exercise: the ridge of a roofline, the intensity from which a machine computes instead of waiting."""

from labkit.lab.exercises.base import Case, Exercise, Mistake, Property, close

MACHINES = (
    ("a data-centre GPU of 989 TFLOP/s and 3350 GB/s", 989e12, 3350e9),
    ("a small GPU of 121 TFLOP/s and 300 GB/s", 121e12, 300e9),
    ("a laptop of 90 GFLOP/s and 22 GB/s", 90e9, 22e9),
    ("an odd machine of 3 FLOP/s and 7 bytes/s", 3.0, 7.0),
)
"""Shared by the two exercises on the roofline; the last one computes slower than it reads."""

_STUB = '''def ridge(flops_per_second, bytes_per_second):
    """FLOP per byte at which reading and computing take the same time."""
    raise NotImplementedError
'''


def make() -> Exercise:
    """The exercise on the ridge."""
    return Exercise(
        name="ridge",
        lesson="01",
        target="labkit.simulate.roofline:ridge",
        task="A machine reads and computes at the same time. For each byte it reads it can do some number of "
        "floating point "
        "operations before the next byte is there. How many? Below that number it waits for memory.",
        stub=_STUB,
        unit="FLOP per byte",
        cases=[Case(says, (flops, bytes_)) for says, flops, bytes_ in MACHINES],
        properties=(
            Property(
                "twice the compute moves the ridge to twice the intensity",
                lambda fn: close(fn(2e12, 1e11), 2 * fn(1e12, 1e11)),
            ),
            Property("twice the bandwidth halves it", lambda fn: close(fn(1e12, 2e11), fn(1e12, 1e11) / 2)),
            Property(
                "at the ridge, reading takes as long as computing",
                lambda fn: close(1 / 22e9, fn(90e9, 22e9) / 90e9),
            ),
        ),
        mistakes=_MISTAKES,
        hints=(
            "Take one second. How many operations could the machine do in it, and how many bytes could it read?",
            "At the ridge both take the same time: bytes / bandwidth = operations / peak. You want operations per "
            "byte.",
            "Solve for operations / bytes: the peak in FLOP/s over the bandwidth in bytes/s.",
        ),
    )


_MISTAKES = (
    Mistake(
        "inverted", lambda f, b: b / f,
        "That is bytes per FLOP, upside down: the ridge is in FLOP per byte.",
    ),
    Mistake(
        "units", lambda f, b: (f / 1e12) / (b / 1e9),
        "You divided TFLOP by GB: a thousand times too small. Both arguments are in plain units, FLOP/s and bytes/s.",
    ),
    Mistake(
        "same unit twice", lambda f, b: (f / 1e12) / b,
        "You turned FLOP into TFLOP, but not the bytes. Both arguments are in plain units already.",
    ),
    Mistake("product", lambda f, b: f * b, "You multiplied. Look at the units: FLOP/s and bytes/s must give FLOP per "
        "byte."),
    Mistake("difference", lambda f, b: f - b, "FLOP and bytes are different things: one cannot be taken from the "
        "other."),
    Mistake("smaller", lambda f, b: min(f, b), "The smaller of two rates is a rate. The ridge is a ratio, in FLOP "
        "per byte."),
    Mistake(
        "fused", lambda f, b: 2 * f / b,
        "Twice too much: a multiply-and-add counts as two FLOP, and the peak given already counts both.",
    ),
    Mistake(
        "per number", lambda f, b: 2 * f / b / 4,
        "Half of it: you divided by the size of a 16-bit number. The ridge is per byte, whatever the bytes hold.",
    ),
    Mistake("bits", lambda f, b: f / (8 * b), "Eight times too small: the bandwidth is in bytes, and you counted "
        "bits."),
    Mistake(
        "floor", lambda f, b: f // b,
        "Almost: // throws the fraction away, and a ridge below 1 FLOP per byte becomes zero.",
    ),
)  # fmt: skip
