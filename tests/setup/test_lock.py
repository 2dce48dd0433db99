"""The lock: complete on every platform, compatible with pyproject.toml, and the same set as conda's."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.lock import closure, direct, environment_yml, environments, marker_for, requirements_of
from tools.setup.place import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(*names: str) -> list[Requirement]:
    """The requirements that the named lock files hold."""
    lines = [line for name in names for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


LAB = pins("requirements.lock")
ALL = pins("requirements.lock", "requirements-dev.lock")


def names_in(requirements: list[Requirement], environment: dict[str, str]) -> set[str]:
    """Names of the requirements whose markers hold in an environment."""
    return {
        canonicalize_name(each.name)
        for each in requirements
        if each.marker is None or each.marker.evaluate(dict(environment))
    }


def test_every_line_pins_one_version() -> None:
    for pin in ALL:
        assert re.fullmatch(r"==[^*,+]+", str(pin.specifier)), pin
        assert not pin.extras, pin
        assert pin.url is None, pin


def test_no_package_is_pinned_twice() -> None:
    names = [canonicalize_name(pin.name) for pin in ALL]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(("part", "locked"), [("lab", LAB), ("dev", ALL)])
def test_the_lock_satisfies_what_pyproject_asks_for(part: str, locked: list[Requirement]) -> None:
    versions = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in locked}
    for wanted in direct(PROJECT, part):
        version = versions[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(version), f"{wanted} is locked at {version}"


@pytest.mark.parametrize(
    "environment", environments(), ids=lambda each: f"{each['sys_platform']}-{each['python_version']}"
)
def test_the_lock_is_complete_on_every_platform(environment: dict[str, str]) -> None:
    lab = direct(PROJECT, "lab")
    assert closure(lab, environment) <= names_in(LAB, environment)
    assert closure([*lab, *direct(PROJECT, "dev")], environment) <= names_in(ALL, environment)


def test_the_lock_holds_nothing_that_nobody_needs() -> None:
    everything = [*direct(PROJECT, "lab"), *direct(PROJECT, "dev")]
    needed = set().union(*(closure(everything, environment) for environment in environments()))
    assert {canonicalize_name(pin.name) for pin in ALL} == needed


def test_triton_is_for_linux_alone() -> None:
    for environment in environments():
        assert ("triton" in names_in(LAB, environment)) == (environment["sys_platform"] == "linux")


def test_condas_pip_part_is_the_lock() -> None:
    recipe = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert recipe["name"] == "labkit"
    conda = [entry for entry in recipe["dependencies"] if isinstance(entry, str)]
    (through_pip,) = [entry["pip"] for entry in recipe["dependencies"] if isinstance(entry, dict)]
    assert [entry.split()[0] for entry in conda] == ["python", "pip"]
    assert {str(Requirement(line)) for line in through_pip} == {str(pin) for pin in LAB}
    assert len(through_pip) == len(LAB)


def test_markers_survive_yaml() -> None:
    lines = ["plain==1", 'marked==2; sys_platform == "linux"']
    recipe = yaml.safe_load(environment_yml(lines))
    assert recipe["dependencies"][-1]["pip"] == lines


def test_conda_takes_the_pythons_that_pyproject_supports() -> None:
    recipe = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    wanted = Requirement(recipe["dependencies"][0]).specifier
    supported = Requirement(f"python{PROJECT['project']['requires-python']}").specifier
    for minor in range(8, 20):
        if f"3.{minor}" in wanted:
            assert f"3.{minor}" in supported


def test_a_package_needed_in_a_mixed_set_of_places_gets_no_marker() -> None:
    everywhere = environments()
    needed = [index % 2 == 0 for index in range(len(everywhere))]
    assert marker_for(needed, everywhere) == ""
    assert (
        marker_for([each["sys_platform"] == "win32" for each in everywhere], everywhere)
        == '; sys_platform == "win32"'
    )


def test_the_pins_agree_with_each_other() -> None:
    versions = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in ALL}
    for environment in environments():
        for name in names_in(ALL, environment):
            for wanted in requirements_of(name):
                holds = wanted.marker is None or wanted.marker.evaluate(dict(environment))
                if holds and (version := versions.get(canonicalize_name(wanted.name))):
                    assert wanted.specifier.contains(version), f"{name} wants {wanted}, locked is {version}"
