"""What a newcomer meets first says the truth: README, Makefile, licence, the wheel, continuous integration."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from labkit.cli import COMMANDS
from tools import bootstrap
from tools.setup.place import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^(\w+):", MAKEFILE, re.MULTILINE))
    named = set(re.findall(r"make (\w+)(?=[`\s])", README)) - {"wheels"}
    assert {"lab", "test"} <= named & targets
    assert set(re.findall(r"`make (\w+)", README)) <= targets


def test_every_command_is_listed() -> None:
    assert set(re.findall(r"^\| `labkit ([\w ]+)` \|", README, re.MULTILINE)) == set(COMMANDS)


def test_the_notebooks_said_to_exist_do() -> None:
    numbers = {path.name.split("_")[0] for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert "This release has notebooks 00 (start here) and 01" in README
    assert numbers == {"00", "01"}


def test_the_files_and_folders_named_in_the_house_exist() -> None:
    for folder in re.findall(r"^  (\w+)/ ", README, re.MULTILINE):
        assert (ROOT / "labkit" / folder).is_dir(), folder
    for path in re.findall(r"`(labkit/[\w/]+\.py)`", README):
        assert (ROOT / path).is_file(), path


def test_the_licence_is_the_whole_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert len(text.splitlines()) == 202


def test_ci_runs_the_tested_pythons_and_the_same_script() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["test"]
    (oldest, newest) = bootstrap.OLDEST, bootstrap.NEWEST_TESTED
    tested = [f"3.{minor}" for minor in range(oldest[1], newest[1] + 1)]
    assert job["strategy"]["matrix"]["python"] == tested
    assert "bash .ci/run" in [step.get("run") for step in job["steps"]]


@pytest.mark.skipif(shutil.which("bash") is None, reason="this machine has no bash")
def test_the_ci_script_requires_what_a_newcomer_may_lack() -> None:
    script = ROOT / ".ci/run"
    subprocess.run(["bash", "-n", str(script)], check=True)
    text = script.read_text(encoding="utf-8")
    for wanted in (
        "LABKIT_REQUIRE_SMOLLM2=1",
        "LABKIT_REQUIRE_BROWSER=1",
        "make test",
        "</dev/null",
        "pipefail",
    ):
        assert wanted in text


def test_a_wheel_carries_the_course(tmp_path: Path) -> None:
    source = tmp_path / "source"
    ignore = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, source, ignore=ignore)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "-q", "-w", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True)
    (wheel,) = tmp_path.glob("labkit-*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    code = "import labkit.paths as p; print(p.__file__); print(p.data_folder())"
    environ = {name: value for name, value in os.environ.items() if name != "LABKIT_DATA"}
    said = subprocess.run(
        [sys.executable, "-c", code],
        cwd=installed,
        env=environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    assert Path(said[0]).is_relative_to(installed), "the test looked at the checkout, not at the wheel"
    data = Path(said[1])
    assert data.is_relative_to(installed)
    shipped = {path.relative_to(ROOT / "data") for path in (ROOT / "data").rglob("*") if path.is_file()}
    assert shipped <= {path.relative_to(data) for path in data.rglob("*")}
    modules = {
        path.relative_to(ROOT) for path in (ROOT / "labkit").rglob("*") if path.suffix in {".py", ".json"}
    }
    assert modules <= {path.relative_to(installed) for path in installed.rglob("*")}
    assert not list(installed.glob("tests")) + list(installed.glob("tools"))
