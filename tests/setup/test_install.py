"""Installing: a stamp that is true, an interrupted install that is resumed, and pip's failures in plain words."""

import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.setup import install as installs
from tools.setup.broken import forget_broken
from tools.setup.explain import SetupFailure, os_failure, reason
from tools.setup.install import install, is_installed, pip, show_progress, stamp_file, write_stamp
from tools.setup.place import Place


def site_packages(place: Place) -> Path:
    """Where an environment's packages lie."""
    return next(place.folder.glob("[Ll]ib/**/site-packages"))


def wheel(folder: Path, name: str, version: str = "1.0") -> Path:
    """A tiny real wheel: one module, built by hand so that no build tool and no network is needed."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f'"""{name}"""\nVALUE = 1\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by-hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    listed = "".join(f"{file},,{len(text)}\n" for file, text in files.items())
    files[f"{info}/RECORD"] = f"{listed}{info}/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return path


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Replace pip by a list of what it was asked."""
    asked: list[list[str]] = []
    monkeypatch.setattr(installs, "pip", lambda place, arguments, log: asked.append(arguments))
    return asked


def test_the_second_time_nothing_is_installed(
    fresh: Place, checkout: Path, recorded: list[list[str]]
) -> None:
    install(fresh, "lab", checkout)
    assert [arguments[-1] for arguments in recorded] == [str(checkout / "requirements.lock"), str(checkout)]
    assert "--compile" in recorded[0]
    recorded.clear()
    install(fresh, "lab", checkout)
    assert recorded == []


def test_the_test_part_includes_the_lab_part(fresh: Place, checkout: Path, recorded: list[list[str]]) -> None:
    install(fresh, "test", checkout)
    assert is_installed(fresh, "lab", checkout)
    assert str(checkout / "requirements-dev.lock") in recorded[0]


def test_the_lab_part_does_not_pass_for_the_test_part(
    fresh: Place, checkout: Path, recorded: list[list[str]]
) -> None:
    install(fresh, "lab", checkout)
    assert not is_installed(fresh, "test", checkout)


@pytest.mark.parametrize("changed", ["requirements.lock", "pyproject.toml", "setup.py"])
def test_a_changed_file_means_a_new_install(fresh: Place, checkout: Path, changed: str) -> None:
    write_stamp(fresh, "test", checkout)
    assert is_installed(fresh, "lab", checkout)
    with (checkout / changed).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert not is_installed(fresh, "lab", checkout)
    assert not is_installed(fresh, "test", checkout)


def test_a_moved_checkout_means_a_new_install(fresh: Place, checkout: Path, tmp_path_factory) -> None:
    write_stamp(fresh, "lab", checkout)
    moved = checkout.rename(tmp_path_factory.mktemp("elsewhere") / "labkit")
    assert not is_installed(Place(moved / ".venv", ours=True), "lab", moved)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"lab": 3}', '"lab"', "\x00\xff"])
def test_a_damaged_stamp_is_not_believed(fresh: Place, checkout: Path, content: str) -> None:
    stamp_file(fresh).write_text(content, encoding="latin-1")
    assert not is_installed(fresh, "lab", checkout)


def test_a_failed_install_leaves_no_stamp(
    fresh: Place, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_stamp(fresh, "lab", checkout)
    (checkout / "requirements.lock").write_text("other==1\n")

    def fail(place: Place, arguments: list[str], log: Path) -> None:
        raise SetupFailure("no network")

    monkeypatch.setattr(installs, "pip", fail)
    with pytest.raises(SetupFailure):
        install(fresh, "lab", checkout)
    assert not stamp_file(fresh).exists()


def installed_wheel(place: Place, folder: Path, name: str) -> Path:
    """Install a small wheel by real pip; return its metadata folder."""
    pip(place, ["--no-index", "--no-deps", str(wheel(folder, name))], folder / "log")
    return next(site_packages(place).glob(f"{name}-*.dist-info"))


def test_half_installed_packages_are_installed_again(fresh: Place, tmp_path: Path) -> None:
    unlisted = installed_wheel(fresh, tmp_path, "unlisted")
    installed_wheel(fresh, tmp_path, "missing")
    installed_wheel(fresh, tmp_path, "short")
    whole = installed_wheel(fresh, tmp_path, "whole")
    (unlisted / "RECORD").unlink()
    (site_packages(fresh) / "missing.py").unlink()
    (site_packages(fresh) / "short.py").write_text("VAL")
    assert forget_broken(site_packages(fresh)) == ["missing", "short", "unlisted"]
    assert whole.exists()
    for name in ("missing", "short", "unlisted"):
        installed_wheel(fresh, tmp_path, name)
    code = "import missing, short, unlisted, whole; print(short.VALUE)"
    assert subprocess.check_output([str(fresh.python), "-c", code], text=True).strip() == "1"
    assert forget_broken(site_packages(fresh)) == []


def test_condas_own_packages_are_left_alone(tmp_path: Path) -> None:
    package = tmp_path / "numpy-2.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Name: numpy\nVersion: 2.0\n")
    (package / "INSTALLER").write_text("conda")
    assert forget_broken(tmp_path) == []
    assert package.exists()


def test_no_network_is_said_in_one_sentence(
    fresh: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:  # bound and not listening: nobody answers at this port
        closed.bind(("127.0.0.1", 0))
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null" if sys.platform != "win32" else "nul")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{closed.getsockname()[1]}/simple")
        monkeypatch.setenv("PIP_RETRIES", "1")
        log = tmp_path / "setup.log"
        with pytest.raises(SetupFailure) as raised:
            pip(fresh, ["no-such-package-of-labkit==1.0"], log)
    message = str(raised.value)
    assert "pip cannot reach the package index" in message
    assert str(log) in message
    assert "  | ERROR" in message
    assert "no-such-package-of-labkit" in log.read_text()


def test_downloads_are_not_left_behind(fresh: Place, tmp_path: Path) -> None:
    (fresh.folder / "pip-downloads").mkdir()
    (fresh.folder / "pip-downloads" / "half.whl").write_text("from a run that was killed")
    installed_wheel(fresh, tmp_path, "tidy")
    assert not (fresh.folder / "pip-downloads").exists()


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "disk is full",
        ),
        ("OSError: [WinError 112] There is not enough space on the disk", "disk is full"),
        (
            "Temporary failure in name resolution\nERROR: No matching distribution found for torch==2.13.0",
            "no network",
        ),
        ("ReadTimeoutError: HTTPSConnectionPool: Read timed out.", "no network"),
        (
            "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]')) Max retries exceeded",
            "PIP_CERT",
        ),
        ("ProxyError('Cannot connect to proxy.', OSError('407')) Max retries exceeded", "proxy"),
        ("ERROR: No matching distribution found for torch==2.13.0", "no file for this machine"),
        ("PermissionError: [Errno 13] Permission denied: '.venv/lib'", "may not be written"),
        ("Downloading torch\npip was ended by signal 9", "Something ended pip"),
        ("something nobody has seen before", "last words are below"),
    ],
)
def test_pips_reason_is_recognized(output: str, words: str) -> None:
    assert words in reason(output)


def test_a_full_disk_outside_pip_reads_the_same() -> None:
    assert "disk is full" in str(os_failure(OSError(28, "No space left on device")))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "  Downloading torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (915.1 MB)\n",
            "downloading torch (915.1 MB)",
        ),
        ("  Downloading nvidia_cudnn-9-py3-none.whl (1.2 GB)\n", "downloading nvidia_cudnn (1.2 GB)"),
        ("  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)\n", ""),
        ("  Downloading idna-3.20-py3-none-any.whl (1.1 MB)\n", ""),
        ("Installing collected packages: " + ", ".join("abcdefghijkl") + "\n", "unpacking 12 packages"),
        ("Installing collected packages: labkit\n", ""),
        ("Collecting torch\n", ""),
    ],
)
def test_progress_tells_the_long_steps_only(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_progress(line)
    out = capsys.readouterr().out
    assert said in out
    assert bool(said) == bool(out)


def test_an_interrupted_pip_is_not_left_running(
    fresh: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[str]] = []
    real = subprocess.Popen

    def watched(*arguments, **options):
        started.append(
            real(
                [sys.executable, "-c", "import time; print('x', flush=True); time.sleep(3)"],
                stdout=-1,
                text=True,
            )
        )
        return started[-1]

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(installs.subprocess, "Popen", watched)
    monkeypatch.setattr(installs, "show_progress", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pip(fresh, ["anything"], tmp_path / "log")
    assert started[0].poll() is not None
