"""Find a Python that can run labkit on this machine, then hand over to tools/setup.

`make lab` and `make test` call this file with whatever Python there is, however old, so it stays in syntax that
every Python of the last fifteen years reads: an old one should say what is missing, not stop at a SyntaxError.

    python tools/bootstrap.py lab [--no-browser ...]   set up, then open JupyterLab
    python tools/bootstrap.py test                     set up with the test tools, then run every check
    python tools/bootstrap.py setup                    set up only
"""

from __future__ import print_function

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = (3, 11)
NEWEST_TESTED = (3, 13)
NAMES = ["python3", "python3.13", "python3.12", "python3.11", "python"]
LAUNCHERS = [["py", "-3.13"], ["py", "-3.12"], ["py", "-3.11"]]  # Windows only

# Prints "3 12 yes" where a virtual environment can be made, "3 12 no" where venv or pip's installer is missing.
QUESTION = """
import sys
try:
    import ensurepip, venv
    whole = "yes"
except ImportError:
    whole = "no"
print("%d %d %s" % (sys.version_info[0], sys.version_info[1], whole))
"""


def answer(command):
    """(version, has venv) of the Python that `command` starts, or None where it starts none."""
    try:
        process = subprocess.Popen(command + ["-c", QUESTION], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        words = process.communicate()[0].decode("ascii", "replace").split()
        return (int(words[0]), int(words[1])), words[2] == "yes"
    except (OSError, ValueError, IndexError):
        return None


def found():
    """Every Python that starts here, as (command, version, has venv), the one that runs this file first."""
    commands = [[sys.executable]] if sys.executable else []
    commands += [[name] for name in NAMES] + (LAUNCHERS if os.name == "nt" else [])
    answers = [(command, answer(command)) for command in commands]
    return [(command,) + reply for command, reply in answers if reply]


def rank(python):
    """Sort key: tested versions before newer ones; the order of search decides between equals."""
    return 0 if OLDEST <= python[1] <= NEWEST_TESTED else 1


def choose(pythons):
    """The command of the best Python of `pythons`, or None where none is new enough and whole."""
    usable = [python for python in pythons if python[1] >= OLDEST and python[2]]
    return sorted(usable, key=rank)[0][0] if usable else None


def explain(pythons):
    """Plain words on why none of `pythons` will do, and what to do."""
    new_enough = [python for python in pythons if python[1] >= OLDEST]
    if new_enough:
        command, version, _ = new_enough[0]
        return (
            "%s (Python %d.%d) is new enough, but came without the venv module, which makes environments.\n"
            "  Debian, Ubuntu:  sudo apt install python%d.%d-venv\n"
            "  Elsewhere:       install Python from python.org, or use conda (see README.md)."
        ) % ((" ".join(command),) + version + version)
    seen = (
        ", ".join("%s is %d.%d" % ((" ".join(python[0]),) + python[1]) for python in pythons) or "none at all"
    )
    return (
        "labkit needs Python %d.%d or newer (%d.%d to %d.%d are tested), and this machine has: %s.\n"
        "  Debian 12, Ubuntu 24.04 or newer:  sudo apt install python3 python3-venv\n"
        "  macOS, Windows:                    install Python from python.org\n"
        "  anywhere, with conda:              conda env create -f environment.yml, conda activate labkit"
    ) % (OLDEST + OLDEST + NEWEST_TESTED + (seen,))


def main(arguments):
    """Run tools/setup under the chosen Python; the exit status is its own, or 1 where there is no such Python."""
    pythons = found()
    command = choose(pythons)
    if command is None:
        print("labkit cannot be set up yet.\n" + explain(pythons), file=sys.stderr)
        return 1
    environment = dict(os.environ)
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)  # they bring in other projects' packages, or make every start slow
    return hand_over(command + ["-m", "tools.setup"] + arguments, environment)


def hand_over(command, environment):
    """Become `command` where the system can do that; else run it, and let Ctrl-C be its business alone."""
    os.chdir(ROOT)
    if os.name != "nt":
        os.execvpe(command[0], command, environment)
    process = subprocess.Popen(command, env=environment)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            pass  # it was told too, and says what it does about it


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
