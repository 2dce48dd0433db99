"""Where labkit keeps things: what it ships (data), what it can fetch again (cache), what the learner did
(state).
"""

import os
import sys
from pathlib import Path

from labkit.errors import SetupError


def data_folder() -> Path:
    """The shipped `data/` folder: `LABKIT_DATA` if set, else inside the package (a wheel) or beside it (a checkout).

    Raises SetupError if none of them exists.
    """
    package = Path(__file__).resolve().parent
    named = os.environ.get("LABKIT_DATA")
    candidates = [Path(named)] if named else [package / "data", package.parent / "data"]
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise SetupError(
        f"no data folder at {' or '.join(map(str, candidates))}: install labkit from its checkout, or set LABKIT_DATA"
    )


def cache_folder() -> Path:
    """Files that can be fetched again, such as model downloads; `LABKIT_CACHE` overrides the place. Made if
    absent.
    """
    return _made(
        os.environ.get("LABKIT_CACHE") or _base("XDG_CACHE_HOME", ".cache", "Library/Caches") / "labkit"
    )


def state_folder() -> Path:
    """The learner's progress and predictions; `LABKIT_STATE` overrides the place. Made if absent."""
    home = _base("XDG_STATE_HOME", ".local/state", "Library/Application Support")
    return _made(os.environ.get("LABKIT_STATE") or home / "labkit")


def _base(variable: str, elsewhere: str, mac: str) -> Path:
    named = os.environ.get(variable)
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    return Path.home() / (mac if sys.platform == "darwin" else elsewhere)


def _made(folder: str | Path) -> Path:
    path = Path(folder).expanduser()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            f"cannot create {path} ({error.strerror}): free space or fix its permissions"
        ) from error
    return path
