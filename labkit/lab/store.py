"""The learner's file: one JSON document, changed under a lock, replaced in one move, never thrown away.

Two notebooks may write at the same time, so every change reads the file, changes it and writes it back while it holds
the lock. The lock is the operating system's, so a killed kernel cannot leave it behind. A file that cannot be read is
set aside under another name, and the learner is told.
"""

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from labkit.errors import SetupError
from labkit.paths import state_folder

VERSION = 1
SECTIONS = ("notebooks", "exercises", "quizzes", "predictions")
Document = dict[str, Any]


def path() -> Path:
    """Where the learner's file is."""
    return state_folder() / "progress.json"


def now() -> str:
    """The time in UTC, to the second, as it is written in the file."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read() -> Document:
    """The learner's document; an empty one if there is none yet or the folder cannot be used."""
    try:
        with _locked(path()):
            return _read(path())
    except (OSError, SetupError) as error:
        _warn(f"your progress cannot be read ({error}); the notebook goes on without it")
        return _empty()


def update(change: Callable[[Document], None]) -> None:
    """Apply `change` to the document and keep it. A folder that cannot be written costs a warning, never the lesson."""
    try:
        file = path()
        with _locked(file):
            document = _read(file)
            change(document)
            _write(file, document)
    except (OSError, SetupError) as error:
        _warn(f"your progress is not kept ({error}); the notebook goes on without it")


def _empty() -> Document:
    return {"version": VERSION, **{section: {} for section in SECTIONS}}


def _read(file: Path) -> Document:
    if not file.exists():
        return _empty()
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        _validate(document)
    except (ValueError, RecursionError) as error:
        _set_aside(file, str(error))
        return _empty()
    return {**_empty(), **document}


def _validate(document: object) -> None:
    if not isinstance(document, dict) or not isinstance(document.get("version"), int):
        raise ValueError("it is no progress file")
    if document["version"] > VERSION:
        raise ValueError(f"a newer labkit wrote it (version {document['version']}, this one reads {VERSION})")
    for section in SECTIONS:
        entries = document.get(section, {})
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            raise ValueError(f"its part {section!r} is damaged")


def _set_aside(file: Path, reason: str) -> None:
    kept = file.with_name(f"progress-unreadable-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.json")
    os.replace(file, kept)
    _warn(f"your progress file could not be read ({reason}): it is kept as {kept}, and a new one begins")


def _write(file: Path, document: Document) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".progress-", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(document, out, indent=1, sort_keys=True, ensure_ascii=False)
            out.flush()
            os.fsync(out.fileno())
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with open(file.with_suffix(".lock"), "a+", encoding="utf-8") as lock:
        _acquire(lock)
        yield  # closing the file gives the lock back, on every system


def _acquire(lock: TextIO) -> None:
    if sys.platform == "win32":
        import msvcrt

        lock.seek(0)
        msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=3)
