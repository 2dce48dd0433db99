"""Files and folders that appear whole or not at all: written under another name, then renamed into place."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labkit.errors import WeightsError


@contextmanager
def new_folder(folder: Path, marker: str) -> Iterator[Path]:
    """A temporary folder to write into; it becomes `folder` if the block ends well, and vanishes if not.

    A folder already there is replaced if it is empty or holds a file named `marker`, so that nothing else can
    be lost. Raises WeightsError if it is something else or cannot be written.
    """
    if folder.exists() and not _replaceable(folder, marker):
        raise WeightsError(
            f"{folder} is not empty and holds no {marker}: choose another folder or empty this one"
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise WeightsError(
            f"cannot write {folder} ({error.strerror}): free space or fix its permissions"
        ) from error
    try:
        written = scratch / "new"
        written.mkdir()
        yield written
        if folder.exists():
            folder.rename(scratch / "old")
        written.rename(folder)
    except OSError as error:
        raise WeightsError(
            f"cannot write {folder} ({error.strerror}): free space or fix its permissions"
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary file to write to; it becomes `path` if the block ends well, and vanishes if not.

    Several processes may do this at once: each writes its own file, and the last rename wins.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        scratch.chmod(0o644)  # born private, as temporary files are
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _replaceable(folder: Path, marker: str) -> bool:
    return folder.is_dir() and ((folder / marker).is_file() or not any(folder.iterdir()))
