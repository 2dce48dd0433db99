"""What can go wrong in the lab itself, in words a learner can act on."""

from labkit.errors import LabkitError


class LabError(LabkitError):
    """A figure, knob, exercise, quiz or prediction was asked for something impossible."""


class Cancelled(Exception):
    """Raised inside a running experiment, at its next progress report, after Cancel was pressed."""


def in_plain_words(error: BaseException) -> str:
    """One sentence for the status line: labkit's own errors speak for themselves, others say what kind they
    are.
    """
    message = str(error).strip()
    if isinstance(error, LabkitError) and message:
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
