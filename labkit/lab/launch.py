"""`labkit launch`: JupyterLab on the course's notebooks, with the settings that make its widgets safe.

What is set, and why: the token stays on and only this machine can connect; no news, no update check and no
extension list, so nothing leaves the machine; only notebooks are listed; widget messages stay on the
kernel's main thread (subshells run them beside a running cell, and pictures get mixed up); every cell stays
attached to the page, so widgets keep their state. The learner's own Jupyter settings, kernels and start-up
scripts are neither read nor changed: all of Jupyter's folders lie in labkit's state folder, which keeps a
theme or a layout chosen here for the next start.
"""

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from labkit.errors import SetupError
from labkit.lab.course import notebooks_folder
from labkit.lab.kernel import import_path
from labkit.paths import state_folder
from labkit.report import Report

FIRST = "00_start_here.ipynb"
PORT = 8888
START_SECONDS = 180
"""A cold disk can take minutes to read JupyterLab; a healthy start takes a few seconds."""
STOP_SECONDS = 15
SETTINGS = Path(__file__).resolve().parent / "jupyter"
NOT_FOR_LEARNERS = ("*.py", "*.pyc", "__pycache__", "*.json", "*.jsonl", "*.md", "*.cfg", "*.csv", "*.png")
DROPPED = ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH", "JUPYTER_TOKEN_FILE", "JUPYTER_NO_CONFIG", "JUPYTERLAB_DIR")
"""Variables that would bring someone else's settings, kernels or token back in."""


@dataclass(frozen=True)
class Place:
    """Where a server lives: `root` holds the notebooks, `home` everything that Jupyter keeps."""

    root: Path
    home: Path

    @property
    def runtime(self) -> Path:
        return self.home / "runtime"


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: `url` opens it (with the token), `base` is the address without it."""

    process: "subprocess.Popen[bytes]"
    base: str
    token: str
    port: int
    notebook: str

    @property
    def url(self) -> str:
        return f"{self.base}lab/tree/{self.notebook}?token={self.token}"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `labkit launch`."""
    parser.description = "Open JupyterLab on the course's notebooks."
    parser.add_argument("notebook", nargs="?", default=FIRST, help=f"what to open (default {FIRST})")
    parser.add_argument(
        "--port", type=int, default=PORT, help="first port to try; if busy, the next free one"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("--root", type=Path, help="serve another folder of notebooks")


def run(args: argparse.Namespace) -> Report:
    """Serve until Ctrl-C, or File > Shut Down. Raises SetupError if the server cannot start."""
    place = Place(args.root.resolve() if args.root else notebooks_folder(), state_folder() / "jupyter")
    began, status = time.monotonic(), 0
    server = serve(place, args.notebook, port=args.port, browser=not args.no_browser)
    with suppress(KeyboardInterrupt), _termination_as_interrupt(), server as running:
        _say(welcome(running, args.port, time.monotonic() - began))
        status = running.process.wait()
    row = {"notebook": args.notebook, "root": str(place.root), "exit_status": status}
    return Report("launch", [row], "JupyterLab and its kernels have ended.", status == 0)


def welcome(server: Server, wanted: int, seconds: float) -> str:
    """What the terminal shows once the server answers."""
    moved = f"Port {wanted} is busy, so this one is on {server.port}.\n" if server.port != wanted else ""
    return (
        f"JupyterLab is ready after {seconds:.0f} s. If no browser opened, go to\n\n    {server.url}\n\n"
        f"{moved}Ctrl-C here, or File > Shut Down there, ends it."
    )


def command(place: Place, notebook: str, *, port: int, browser: bool, root_user: bool) -> list[str]:
    """The argument list that starts JupyterLab. Arguments outrank every configuration file on the machine."""
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.root_dir": place.root,
        "ServerApp.open_browser": browser,
        "ServerApp.answer_yes": True,  # Ctrl-C once is enough
        "ServerApp.allow_root": root_user,
        "ServerApp.allow_remote_access": False,
        "ServerApp.kernel_spec_manager_class": "labkit.lab.kernel.ThisPython",
        "LabApp.default_url": f"/lab/tree/{notebook}",
        "LabApp.app_settings_dir": SETTINGS,
        "LabApp.news_url": None,
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.extension_manager": "readonly",
        "LanguageServerManager.autodetect": False,  # it would start npm to look for language servers
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    hidden = [f"--ContentsManager.hide_globs={pattern}" for pattern in NOT_FOR_LEARNERS]
    quiet = ["--ServerApp.log_level=ERROR", "--LabApp.log_level=ERROR"]
    return [sys.executable, "-m", "jupyterlab", *quiet, *arguments, *hidden]


def environment(place: Place, inherited: Mapping[str, str], token: str) -> dict[str, str]:
    """The server's environment: the inherited one, with all of Jupyter's folders moved into `place.home`."""
    kept = {name: value for name, value in inherited.items() if name not in DROPPED}
    return kept | {
        "JUPYTER_CONFIG_DIR": str(place.home / "config"),
        "JUPYTER_DATA_DIR": str(place.home / "data"),
        "JUPYTER_RUNTIME_DIR": str(place.runtime),
        "JUPYTERLAB_SETTINGS_DIR": str(place.home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(place.home / "workspaces"),
        "IPYTHONDIR": str(place.home / "ipython"),
        "JUPYTER_TOKEN": token,  # not an argument: other users see those
        "JUPYTER_PLATFORM_DIRS": "1",
        "PYTHONPATH": import_path(inherited.get("PYTHONPATH")),
        "LABKIT_LAUNCH": "1",  # so that `lab.doctor()` knows which settings are in force
        "PYTHONNOUSERSITE": "1",  # packages of another Python in the home folder must not shadow the course's
    }


@contextmanager
def serve(
    place: Place, notebook: str = FIRST, *, port: int = PORT, browser: bool = False, extra: Sequence[str] = ()
) -> Iterator[Server]:
    """A running server, ended on the way out. `extra` are further JupyterLab arguments.

    Raises SetupError if `notebook` is not there, or if the server ends or stays silent while starting.
    """
    if not (place.root / notebook).is_file():
        raise SetupError(
            f"no notebook {notebook!r} in {place.root}: name one that is there, or start in the course folder"
        )
    for folder in (place.home, place.runtime):
        folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(24)
    line = command(place, notebook, port=port, browser=browser, root_user=_is_root())
    process = subprocess.Popen([*line, *extra], env=environment(place, os.environ, token))
    try:
        yield _answering(process, place, token, notebook)
    finally:
        _end(process)


def _answering(process: "subprocess.Popen[bytes]", place: Place, token: str, notebook: str) -> Server:
    """Wait until the server has written down its address, which it does when it listens."""
    note = place.runtime / f"jpserver-{process.pid}.json"
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SetupError(
                f"JupyterLab ended while starting (exit status {process.returncode}): its message is above; "
                f"run `labkit doctor`"
            )
        try:
            found = json.loads(note.read_text(encoding="utf-8"))
            return Server(process, found["url"], token, found["port"], notebook)
        except (OSError, ValueError):
            time.sleep(0.05)  # not there yet, or half written
    raise SetupError(f"JupyterLab did not answer within {START_SECONDS} s: run `labkit doctor`")


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """A request to terminate ends the server as Ctrl-C does, instead of leaving it behind."""
    previous = signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _as_interrupt(signum: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask, wait, and only then insist."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # standard output belongs to `--json -`


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
