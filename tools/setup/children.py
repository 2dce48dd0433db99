"""Running other programs so that Ctrl-C ends them properly and leaves none behind.

The terminal sends Ctrl-C to every program of the group. The standard library then kills a child after a quarter of a
second, too soon for pip to remove its files or for pytest to say what it had found.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

SECONDS_TO_TIDY_UP = 10


def stop(process: "subprocess.Popen[str]") -> None:
    """Wait for a child that was told to end; after ten seconds end it."""
    if process.poll() is None:
        try:
            process.wait(timeout=SECONDS_TO_TIDY_UP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def call(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> int:
    """Run a command in `folder` with its output shown; its exit status."""
    process = subprocess.Popen(command, cwd=folder, env=environ, text=True)
    try:
        return process.wait()
    finally:
        stop(process)
