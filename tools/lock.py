"""Write requirements.lock, requirements-dev.lock and environment.yml from what is installed in this environment.

`make lock`, after `pip install -e '.[dev]'` into a fresh environment resolved the newest versions. The lock holds the
whole closure of pyproject.toml's requirements, for every platform and Python of the course: pip's own report knows
only the machine it runs on, so the closure is walked here with the markers evaluated for each platform in turn.
"""

import importlib.metadata
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = {
    "linux": {
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": "x86_64",
    },
    "arm": {
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": "aarch64",
    },
    "mac": {
        "sys_platform": "darwin",
        "platform_system": "Darwin",
        "os_name": "posix",
        "platform_machine": "arm64",
    },
    "windows": {
        "sys_platform": "win32",
        "platform_system": "Windows",
        "os_name": "nt",
        "platform_machine": "AMD64",
    },
}
# Needed on the other platforms only, so not installed where the lock is written. None of them requires anything.
ELSEWHERE = {"appnope": "1.0.0", "colorama": "0.4.6", "pywinpty": "3.1.2"}
# torch pins its CUDA packages exactly, and only its CUDA builds have them: the lock leaves them to torch.
LEFT_TO_TORCH = re.compile(r"nvidia-|cuda-")
# Simple markers, tried in this order against the environments in which a package is needed.
MARKERS = [
    'sys_platform == "linux"', 'sys_platform == "win32"', 'sys_platform == "darwin"', 'sys_platform != "win32"',
    'python_version < "3.12"', 'python_version < "3.13"',
]  # fmt: skip
HEADER = """\
# {what}, every package at one version; written by `make lock`, read by pip.
# torch's own CUDA packages are not listed: its CUDA builds pin them exactly, its CPU builds have none.
"""

Environment = Mapping[str, str]


def environments() -> list[Environment]:
    """One marker environment for each supported platform and Python."""
    base = {"implementation_name": "cpython", "platform_python_implementation": "CPython", "extra": ""}
    return [
        base | platform | {"python_version": python, "python_full_version": f"{python}.5"}
        for platform in PLATFORMS.values()
        for python in PYTHONS
    ]


def direct(project: Mapping[str, object], part: str) -> list[Requirement]:
    """pyproject.toml's requirements for "lab" (with those that build labkit itself) or "dev"."""
    table = project["project"]
    if part == "dev":
        return [Requirement(line) for line in table["optional-dependencies"]["dev"]]
    return [Requirement(line) for line in [*project["build-system"]["requires"], *table["dependencies"]]]


def requirements_of(name: str) -> list[Requirement]:
    """What an installed package requires; nothing for those that live on other platforms."""
    if name in ELSEWHERE:
        return []
    return [Requirement(line) for line in importlib.metadata.requires(name) or []]


def closure(requirements: Iterable[Requirement], environment: Environment) -> set[str]:
    """Canonical names of everything that `requirements` bring in, in one environment."""
    todo = [(requirement, "") for requirement in requirements]
    seen: set[tuple[str, str]] = set()
    while todo:
        requirement, extra = todo.pop()
        if requirement.marker and not requirement.marker.evaluate({**environment, "extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        if LEFT_TO_TORCH.match(name):
            continue
        for wanted in {"", *requirement.extras} - {extra for package, extra in seen if package == name}:
            seen.add((name, wanted))
            todo += [(inner, wanted) for inner in requirements_of(name)]
    return {name for name, _ in seen}


def marker_for(needed: list[bool], everywhere: list[Environment]) -> str:
    """The first simple marker that holds just where the package is `needed`; none where no simple one does."""
    for text in MARKERS:
        if [Marker(text).evaluate(dict(environment)) for environment in everywhere] == needed:
            return f"; {text}"
    return ""


def lock_lines(requirements: list[Requirement]) -> list[str]:
    """Sorted pins, with markers, of everything `requirements` need anywhere."""
    everywhere = environments()
    closures = [closure(requirements, environment) for environment in everywhere]
    lines = []
    for name in sorted(set().union(*closures)):
        version = ELSEWHERE.get(name) or importlib.metadata.version(name)
        public = version.split("+")[0]  # torch 2.13.0+cpu and 2.13.0+cu130 are both torch 2.13.0
        lines.append(f"{name}=={public}{marker_for([name in names for names in closures], everywhere)}")
    return lines


def environment_yml(lines: list[str]) -> str:
    """The conda environment: Python and pip from conda, the lock's packages through pip."""
    pins = "\n".join(f"      - {line if ';' not in line else repr(line)}" for line in lines)
    return f"""\
# For conda users: conda env create -f environment.yml && conda activate labkit && make lab
# Written by `make lock`. conda brings only Python and pip; the packages are those of requirements.lock.
name: labkit
channels:
  - conda-forge
dependencies:
  - python >=3.11,<3.14
  - pip
  - pip:
{pins}
"""


def main() -> None:
    """Write the three files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lab = lock_lines(direct(project, "lab"))
    dev = [line for line in lock_lines(direct(project, "dev")) if line.split(";")[0] not in _pins(lab)]
    texts = {
        "requirements.lock": HEADER.format(what="What `make lab` installs") + "\n".join(lab) + "\n",
        "requirements-dev.lock": HEADER.format(what="What `make test` installs besides")
        + "\n".join(dev)
        + "\n",
        "environment.yml": environment_yml(lab),
    }
    for name, text in texts.items():
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"{name}: {text.count('==')} packages")


def _pins(lines: list[str]) -> set[str]:
    return {line.split(";")[0] for line in lines}


if __name__ == "__main__":
    main()
