"""The command line of `tools.notebooks`."""

import argparse
import sys
import time
from pathlib import Path

import nbformat
from nbformat.reader import NotJSONError

from tools.notebooks.execute import execute
from tools.notebooks.rules import broken_rules
from tools.notebooks.tidy import tidy, write


def main(arguments: list[str] | None = None) -> int:
    """Handle each notebook; the status is 0 only if all succeeded and keep the rules."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.notebooks", description="Run, tidy, check notebooks."
    )
    parser.add_argument("what", choices=("run", "tidy", "check"))
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--timeout", type=float, default=600, help="seconds one cell may take (default 600)")
    args = parser.parse_args(arguments)
    results = [_handle(path, args.what, args.timeout) for path in args.notebooks]
    return 0 if all(results) else 1


def _handle(path: Path, what: str, timeout: float) -> bool:
    try:
        notebook = nbformat.read(path, as_version=4)
    except (OSError, NotJSONError) as error:
        return _tell(path, "cannot be read", [str(error).splitlines()[0]])
    if what == "run":
        began = time.monotonic()
        problems = execute(notebook, path.parent, timeout)
        if problems:  # the file stays as it was, so a failed run loses nothing
            return _tell(path, f"failed after {time.monotonic() - began:.0f} s, file unchanged", problems)
        print(f"{path}: ran in {time.monotonic() - began:.0f} s")
    if what != "check":
        write(tidy(notebook), path)
    return _tell(path, f"{path.stat().st_size / 1e6:.2f} MB", broken_rules(notebook, path))


def _tell(path: Path, headline: str, problems: list[str]) -> bool:
    print(f"{path}: {headline}" + ("" if problems else ", keeps the rules"))
    for problem in problems:
        print(f"    {problem}")
    return not problems


sys.exit(main())
