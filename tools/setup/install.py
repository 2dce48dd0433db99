"""Install the lock into an environment, once: a stamp written last says that it is whole.

The stamp holds a fingerprint of everything that decides what is installed. While it matches, a start needs no pip
and no network. Where it is missing or old, something changed or an install was interrupted: packages that were left
half unpacked are taken out first (pip would believe them), then pip fills what is missing.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from pathlib import Path

from tools.setup.children import stop
from tools.setup.explain import SetupFailure, pip_failure
from tools.setup.place import ROOT, Place, check_space, clean_environ
from tools.setup.say import say, step

LOCKS = {"lab": ["requirements.lock"], "test": ["requirements.lock", "requirements-dev.lock"]}
INSTALLED_WITH = {"lab": ["lab"], "test": ["lab", "test"]}
DOWNLOAD = re.compile(r"Downloading (?:\S*/)?([^-\s/]+)-\S+ \(([\d.]+) (MB|GB)\)")


def fingerprint(place: Place, part: str, root: Path = ROOT) -> str:
    """A hash over what decides the content of the environment: lock, project file, Python, and this checkout's path."""
    digest = hashlib.sha256()
    for name in [*LOCKS[part], "pyproject.toml", "setup.py"]:
        digest.update((root / name).read_bytes())
    python = subprocess.run([str(place.python), "-VV"], capture_output=True, text=True).stdout
    digest.update(f"{python} {root}".encode())
    return digest.hexdigest()


def stamp_file(place: Place) -> Path:
    """Where an environment's stamp lies."""
    return place.folder / "labkit-installed.json"


def is_installed(place: Place, part: str, root: Path = ROOT) -> bool:
    """Whether the environment's stamp says that `part` ("lab" or "test") is installed as the lock has it now."""
    try:
        stamp = json.loads(stamp_file(place).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(stamp, dict) and stamp.get(part) == fingerprint(place, part, root)


def write_stamp(place: Place, part: str, root: Path = ROOT) -> None:
    """Say that `part`, and what it includes, is installed. Written aside and moved, so never half there."""
    stamp = {name: fingerprint(place, name, root) for name in INSTALLED_WITH[part]}
    with tempfile.NamedTemporaryFile("w", dir=place.folder, delete=False, encoding="utf-8") as file:
        json.dump(stamp, file, indent=1)
    os.replace(file.name, stamp_file(place))


def show_progress(line: str) -> None:
    """Say of pip's output what a waiting person wants to know: the large downloads, and the unpacking."""
    download = DOWNLOAD.search(line)
    if download and (download[3] == "GB" or float(download[2]) >= 10):
        say(f"  downloading {download[1]} ({download[2]} {download[3]})")
    if line.startswith("Installing collected packages:") and line.count(",") > 10:
        say(f"  unpacking {line.count(',') + 1} packages (about a minute)")


def log_file(root: Path = ROOT) -> Path:
    """Where everything that pip says is kept."""
    folder = root / ".labkit"
    folder.mkdir(exist_ok=True)
    return folder / "setup.log"


def pip(place: Place, arguments: list[str], log: Path) -> None:
    """Run pip in the environment, its output into `log`; raise SetupFailure with the reason where it fails."""
    # pip keeps every wheel in the temporary folder until all are there: gigabytes, where /tmp may be small.
    downloads = place.folder / "pip-downloads"
    shutil.rmtree(downloads, ignore_errors=True)  # of a run that was killed
    downloads.mkdir()
    environ = {"TMPDIR": str(downloads), "TEMP": str(downloads)} | clean_environ(os.environ)
    command = [str(place.python), "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
    try:
        output = _run([*command, "--progress-bar", "off", *arguments], environ, log)
    finally:
        shutil.rmtree(downloads, ignore_errors=True)
    if output is not None:
        raise pip_failure(output, str(log))


def _run(command: list[str], environ: dict[str, str], log: Path) -> str | None:
    """Run `command` with its output into `log` and the progress; None where it succeeded, else its last lines."""
    last: deque[str] = deque(maxlen=400)
    with log.open("a", encoding="utf-8", buffering=1) as file:
        file.write(f"$ {' '.join(command)}\n")
        process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        try:
            for line in process.stdout or ():
                file.write(line)
                last.append(line)
                show_progress(line)
            status = process.wait()
        finally:
            stop(process)
    if status < 0:
        last.append(f"pip was ended by signal {-status}\n")
    return "".join(last) if status else None


def remove_broken(place: Place) -> None:
    """Forget packages that an interrupted install left half unpacked, so that pip installs them again."""
    script = Path(__file__).with_name("broken.py")
    reply = subprocess.run([str(place.python), str(script)], capture_output=True, text=True)
    if reply.returncode:
        raise SetupFailure(
            f"The environment {place.folder} is damaged; delete it and run again.\n{reply.stderr}"
        )
    if reply.stdout.strip():
        say(f"  half-installed before, now again: {', '.join(reply.stdout.split())}")


def install(place: Place, part: str, root: Path = ROOT) -> None:
    """Bring the environment to the lock's `part` and labkit's editable install; nothing to do while the stamp holds."""
    if is_installed(place, part, root):
        return
    check_space(place.folder)
    stamp_file(place).unlink(missing_ok=True)
    remove_broken(place)
    log = log_file(root)
    locks = [argument for name in LOCKS[part] for argument in ("-r", str(root / name))]
    with step(
        f"installing the packages of {' and '.join(LOCKS[part])}; the first time takes minutes (log: {log})"
    ):
        pip(place, ["--compile", *locks], log)
    with step("installing labkit itself, editable"):
        pip(place, ["--no-deps", "--no-build-isolation", "-e", str(root)], log)
    write_stamp(place, part, root)
