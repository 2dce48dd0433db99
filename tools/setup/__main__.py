"""`python -m tools.setup lab | test | setup`, started by tools/bootstrap.py."""

import argparse
import os
import sys

from tools.setup.children import call
from tools.setup.explain import SetupFailure, os_failure
from tools.setup.install import install
from tools.setup.place import ROOT, Place, choose, clean_environ, ensure
from tools.setup.say import say
from tools.setup.stages import run_all

STOPPED = 130  # what a shell reports after Ctrl-C


def prepare(part: str) -> Place:
    """The environment with `part` of the lock installed."""
    place = choose(os.environ)
    ensure(place)
    install(place, part)
    return place


def launch(place: Place, arguments: list[str]) -> int:
    """Start JupyterLab on the first notebook; on POSIX it takes this process over, so that Ctrl-C goes to it alone."""
    command = [str(place.python), "-m", "labkit", "launch", *arguments]
    say(f"environment ready in {place.folder}; starting JupyterLab")
    os.chdir(ROOT)
    environ = clean_environ(os.environ)
    if os.name != "nt":
        os.execve(command[0], command, environ)
    return call(command, ROOT, environ)


def run(command: str, rest: list[str]) -> int:
    """Set up, then do what was asked."""
    place = prepare("test" if command == "test" else "lab")
    if command == "lab":
        return launch(place, rest)
    if command == "test":
        return run_all(place)
    say(f"environment ready in {place.folder}")
    return 0


def main(arguments: list[str]) -> int:
    """Parse, run, and put every failure in plain words. The exit status says whether it worked."""
    parser = argparse.ArgumentParser(prog="tools/bootstrap.py", description="Set labkit up and start it.")
    parser.add_argument("command", choices=["lab", "test", "setup"])
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="with lab: handed to `labkit launch`")
    options = parser.parse_args(arguments)
    if options.rest and options.command != "lab":
        parser.error(f"unknown arguments: {' '.join(options.rest)}")
    try:
        return run(options.command, options.rest)
    except SetupFailure as failure:
        trouble = failure
    except OSError as error:
        trouble = os_failure(error)
    except KeyboardInterrupt:
        say("stopped. What is done so far stays; the same command goes on from here.")
        return STOPPED
    print(f"\nlabkit could not be set up.\n{trouble}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
