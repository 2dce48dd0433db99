"""What can be wrong with a machine, and how to mend it, in plain words.

Each check is a pure function from facts to a `Finding`, so every sick machine can be shown to it in a test.
The facts come from `labkit.lab.probes`. The course runs unless a finding is a problem; a warning costs
comfort, speed or one notebook.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from labkit.machine import Gpu

GIB = 2**30
OLDEST_PYTHON, NEWEST_TESTED_PYTHON = (3, 11), (3, 13)
INSTALL_AGAIN = "run `make lab` again in the course folder: it installs what the lock file names"
SMOLLM2_BYTES = 400_000_000
"""Free disk that fetching SmolLM2 takes: its wheel, the file in it, and room to replace one by the other."""
LITTLE_MEMORY, TOO_LITTLE_MEMORY = 3.5 * GIB, 1.5 * GIB
"""SmolLM2 in fp32 with torch and JupyterLab takes about 2 GiB, the embedded pair less than half of it."""


class Status(StrEnum):
    """How bad: a problem keeps the course from running, a warning does not."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """What a check found, and, unless all is well, what to do about it."""

    check: str
    status: Status
    found: str
    fix: str = ""


@dataclass(frozen=True)
class Package:
    """A package the course needs: the version found (None: not installed), and why it does not import."""

    name: str
    wanted: str
    version: str | None
    satisfied: bool
    import_error: str = ""


@dataclass(frozen=True)
class DriverGpu:
    """A GPU as its driver sees it, whether or not torch can use it."""

    name: str
    memory_bytes: int
    driver: str


Hub = Literal["reachable", "unreachable", "not asked"]


def _ok(check: str, found: str) -> Finding:
    return Finding(check, Status.OK, found)


def _warning(check: str, found: str, fix: str) -> Finding:
    return Finding(check, Status.WARNING, found, fix)


def _problem(check: str, found: str, fix: str) -> Finding:
    return Finding(check, Status.PROBLEM, found, fix)


def python(version: tuple[int, int, int]) -> Finding:
    """The interpreter's version."""
    text = ".".join(map(str, version))
    if version[:2] < OLDEST_PYTHON:
        return _problem(
            "Python", f"{text} is too old", "install Python 3.11, 3.12 or 3.13, then run `make lab` again"
        )
    if version[:2] > NEWEST_TESTED_PYTHON:
        return _warning(
            "Python",
            f"{text} is newer than the course was tested with",
            "if something fails, use Python 3.13",
        )
    return _ok("Python", text)


def package(found: Package) -> Finding:
    """One package: there, in the wanted range, and importable."""
    if found.version is None:
        return _problem(found.name, "not installed", INSTALL_AGAIN)
    if not found.satisfied:
        return _problem(found.name, f"{found.version}, but the course needs {found.wanted}", INSTALL_AGAIN)
    if found.import_error:
        return _problem(
            found.name,
            f"{found.version} is installed but does not import: {found.import_error}",
            f"reinstall it: `python -m pip install --force-reinstall {found.name}=={found.version}`",
        )
    return _ok(found.name, found.version)


def other_packages(found: Sequence[Package]) -> Finding:
    """The packages that need no line of their own."""
    bad = [finding for finding in map(package, found) if finding.status is not Status.OK]
    if bad:
        told = "; ".join(f"{each.check}: {each.found}" for each in bad)
        return _problem("other packages", told, "; ".join(dict.fromkeys(each.fix for each in bad)))
    return _ok("other packages", f"all {len(found)} installed")


def kernels(triton: str | None, gpus: Sequence[Gpu], linux: bool) -> Finding:
    """Which of labkit's kernels will run: Triton's, or their torch references."""
    if gpus and triton:
        return _ok("kernels", f"Triton {triton} on {gpus[0].name}")
    if gpus and linux:
        return _warning(
            "kernels", "there is a GPU but no Triton: the slower torch reference kernels run", INSTALL_AGAIN
        )
    reason = "Triton is installed, but needs a GPU" if triton else "Triton needs Linux and a GPU"
    return _ok("kernels", f"torch reference kernels ({reason})")


def gpu(
    usable: Sequence[Gpu], driver: Sequence[DriverGpu], torch_cuda: str | None, error: str = ""
) -> Finding:
    """The GPU: none is fine, an unusable one is a warning. `error` is what a first small product raised."""
    if usable and error:
        return _warning(
            "GPU", f"{usable[0].name} is there, but a first product on it failed: {error}",
            "free its memory or restart the machine; until then set LABKIT_RUNG=cpu",
        )  # fmt: skip
    if usable:
        version = f", driver {driver[0].driver}" if driver else ""
        memory = "; ".join(f"{each.name}, {each.memory_bytes / GIB:.0f} GiB" for each in usable)
        return _ok("GPU", memory + version)
    if not driver:
        return _ok("GPU", "none; everything runs on the CPU, and GPU measurements are shown as recorded")
    seen = f"{driver[0].name} (driver {driver[0].driver}) is there, but torch cannot use it"
    if torch_cuda is None:
        return _warning(
            "GPU", f"{seen}: this torch was built for the CPU",
            "reinstall torch's CUDA build: `python -m pip install --force-reinstall torch`",
        )  # fmt: skip
    return _warning(
        "GPU",
        f"{seen}: it was built for CUDA {torch_cuda}",
        "update the GPU's driver, then restart the machine",
    )


def memory(total_bytes: int | None, cores: int) -> Finding:
    """Main memory and cores."""
    if total_bytes is None:
        return _ok("memory", f"the system does not tell its size; {cores} cores")
    found = f"{total_bytes / GIB:.1f} GiB, {cores} core{'s' if cores > 1 else ''}"
    if total_bytes < TOO_LITTLE_MEMORY:
        return _problem(
            "memory", f"{found}: too little for torch and JupyterLab", "use a machine with 4 GiB or more"
        )
    if total_bytes < LITTLE_MEMORY:
        return _warning(
            "memory",
            f"{found}: enough for the embedded pair only",
            "close other programs before using SmolLM2",
        )
    return _ok("memory", found)


def disk(free_bytes: int, smollm2_cached: bool) -> Finding:
    """Free space where models are kept."""
    found = f"{free_bytes / 1e9:.1f} GB free"
    if free_bytes >= SMOLLM2_BYTES or (smollm2_cached and free_bytes >= SMOLLM2_BYTES / 10):
        return _ok("disk", found)
    fix = "free some space, or set LABKIT_CACHE to a folder on another disk"
    return _warning(
        "disk", f"{found}, but a model needs {SMOLLM2_BYTES / 1e9:.1f} GB while it is fetched", fix
    )


def state(error: str = "") -> Finding:
    """Whether the learner's progress can be kept."""
    if error:
        fix = "make the folder writable, or set LABKIT_STATE to one that is"
        return _warning("progress", f"your progress cannot be kept: {error}", fix)
    return _ok("progress", "can be kept on this machine")


def pair(errors: dict[str, str]) -> Finding:
    """The embedded pair: `errors` by model name, an empty text for one that loaded."""
    bad = {name: error for name, error in errors.items() if error}
    if bad:
        told = "; ".join(f"{name}: {error}" for name, error in bad.items())
        fix = "restore the folder data/models from the course's archive, or train the pair: `labkit train`"
        return _problem("embedded models", told, fix)
    return _ok("embedded models", " and ".join(errors) + " load")


def smollm2(cached: bool, fetchable: bool) -> Finding:
    """The real model: on this machine, or still to be fetched from the package index."""
    if cached:
        return _ok("SmolLM2", "on this machine")
    if fetchable:
        return _ok("SmolLM2", "not here yet; fetched at its first use, about 100 MB")
    fix = "connect to the network once, or copy labkit's cache folder from another machine; until then use 'tiny'"
    return _warning("SmolLM2", "not here yet, and the package index does not offer it now", fix)


def hub(found: Hub) -> Finding:
    """The model hub: comfort only, so never worse than a sentence."""
    return _ok("model hub", {
        "reachable": "reachable",
        "unreachable": "not reachable; only models that are not on this machine need it",
        "not asked": "not asked: offline mode is set",
    }[found])  # fmt: skip


def widgets(extension_found: bool, in_notebook: bool, launched: bool) -> Finding:
    """Whether widgets will show and behave: the page's part is there, messages stay on the main thread."""
    if not extension_found:
        return _problem(
            "widgets", "JupyterLab's part of ipywidgets is missing: no widget would show", INSTALL_AGAIN
        )
    if in_notebook and not launched:
        return _warning(
            "widgets", "this Jupyter was not started by labkit: pictures of two cells may get mixed up",
            "start with `make lab` or `labkit launch`; or in JupyterLab, Settings > Kernels, "
            "set 'Kernel Comms over subshells' to Disabled",
        )  # fmt: skip
    return _ok(
        "widgets", "their messages stay on the main thread" if launched else "`labkit launch` makes them safe"
    )


def development(found: Sequence[Package], chromium: bool) -> Finding | None:
    """The tools for `make test`: no finding at all for a learner who has none of them."""
    missing = [each.name for each in found if each.version is None]
    if not found or len(missing) == len(found):
        return None
    if missing:
        return _warning("test tools", f"missing: {', '.join(missing)}", "run `make test`: it installs them")
    if not chromium:
        fix = "install Chromium from the system's packages (Debian, Ubuntu: `sudo apt-get install chromium`)"
        return _warning("test tools", "no Chromium: the browser tests will be skipped", fix)
    return _ok("test tools", "all there, Chromium too")
