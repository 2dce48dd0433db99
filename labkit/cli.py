"""The `labkit` command: one table of commands, one way to print, one way to fail.

A command is a module with `configure(parser)`, which adds its arguments, and `run(args) -> Report`. Modules
are imported only when their command is called, so that `labkit --help` needs no torch.
"""

import argparse
import sys
from importlib import import_module

from labkit.errors import LabkitError

COMMANDS: dict[str, tuple[str, str]] = {
    "doctor": ("labkit.lab.doctor", "check that the course will run on this machine"),
    "launch": ("labkit.lab.launch", "open the course in JupyterLab"),
    "generate": ("labkit.engine.command", "generate text from a prompt, streaming"),
    "train": ("labkit.workload.pair", "train the embedded pair of models from scratch"),
    "bench decode": ("labkit.bench.decode", "single-stream decode against its limit and transformers"),
    "bench engine": ("labkit.bench.engine", "many requests at once: labkit's schedulers and transformers"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit status: 0 only if it did what it was asked."""
    arguments = sys.argv[1:] if arguments is None else arguments
    name = _command_name(arguments)
    if name is None:
        return _usage(arguments)
    module = import_module(COMMANDS[name][0])
    parser = argparse.ArgumentParser(prog=f"labkit {name}", description=(module.__doc__ or "").split("\n")[0])
    module.configure(parser)
    parser.add_argument("--json", metavar="PATH", help='also write the result as JSON ("-": standard output)')
    args = parser.parse_args(arguments[len(name.split()) :])
    try:
        report = module.run(args)
        print(report.text, file=sys.stderr if args.json == "-" else sys.stdout)
        if args.json:
            report.write(args.json)
    except LabkitError as error:
        print(f"labkit {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nlabkit {name}: stopped", file=sys.stderr)
        return 130
    return 0 if report.ok else 1


def _command_name(arguments: list[str]) -> str | None:
    """The longest command name that the arguments begin with."""
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if name in COMMANDS:
            return name
    return None


def _usage(arguments: list[str]) -> int:
    asked_for_help = not arguments or arguments[0] in ("-h", "--help")
    if arguments and arguments[0] == "--version":
        from labkit import __version__

        print(f"labkit {__version__}")
        return 0
    out = sys.stdout if asked_for_help else sys.stderr
    if not asked_for_help:
        print(f"labkit: no command {arguments[0]!r}", file=out)
    print("usage: labkit COMMAND [options]   (labkit COMMAND --help tells more)\n", file=out)
    for name, (_, purpose) in COMMANDS.items():
        print(f"  {name:<14}{purpose}", file=out)
    return 0 if asked_for_help else 2
