"""`labkit launch`: safe, local, quiet, on this Python, and nothing of the learner's own Jupyter read or changed."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from labkit.errors import SetupError
from labkit.lab.launch import FIRST, SETTINGS, Place, Server, command, environment, serve

OVERRIDES = "@jupyterlab/apputils-extension:kernels-settings"


def write_notebook(folder: Path, name: str = FIRST) -> Path:
    folder.mkdir(exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")]), folder / name)
    return folder / name


def get(server: Server, path: str, token: str | None = None) -> Any:
    headers = {"Authorization": f"token {server.token if token is None else token}"}
    with urllib.request.urlopen(
        urllib.request.Request(server.base + path, headers=headers), timeout=30
    ) as answer:
        return json.load(answer)


# -------------------------------------------------------------------------------- one server for what it answers


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with another `python3` kernel, no token, another port and the news on."""
    home = tmp_path_factory.mktemp("home")
    kernel = home / ".local/share/jupyter/kernels/python3"
    kernel.mkdir(parents=True)
    spec = {"argv": ["/bin/false", "-f", "{connection_file}"], "display_name": "stray", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    settings = home / ".jupyter"
    settings.mkdir()
    (settings / "jupyter_server_config.json").write_text(
        json.dumps({"IdentityProvider": {"token": ""}, "ServerApp": {"port": 1, "base_url": "/elsewhere/"}})
    )
    startup = home / ".ipython/profile_default/startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("raise SystemExit('the learner\\'s own start-up file ran')")
    return home


@pytest.fixture(scope="module")
def server(hostile_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("launch")
    root = folder / "notebooks"
    write_notebook(root)
    for name in ("conftest.py", "README.md", "numbers.json", "module.pyc"):
        (root / name).write_text("")
    (root / "my experiments").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(hostile_home))
        patch.setenv("JUPYTER_PATH", str(hostile_home / ".local/share/jupyter"))
        patch.setenv("JUPYTER_CONFIG_PATH", str(hostile_home / ".jupyter"))
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
            patch.delenv(name, raising=False)
        with serve(Place(root, folder / "jupyter"), port=free_port()) as running:
            yield running


def test_a_wrong_token_and_none_are_refused(server: Server) -> None:
    for token in ("", "wrong"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            get(server, "api/contents", token)


def test_only_this_machine_can_connect(server: Server) -> None:
    assert server.base.startswith("http://127.0.0.1:")
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("the list of listening sockets is read from /proc, which this system lacks")
    wanted = f":{server.port:04X}"
    addresses = {
        line.split()[1] for line in listening.read_text().splitlines()[1:] if line.split()[3] == "0A"
    }
    assert {address for address in addresses if address.endswith(wanted)} == {f"0100007F{wanted}"}


def test_only_notebooks_and_folders_are_listed(server: Server) -> None:
    assert {entry["name"] for entry in get(server, "api/contents")["content"]} == {FIRST, "my experiments"}


def test_the_kernel_is_this_python_whatever_is_registered(server: Server) -> None:
    found = get(server, "api/kernelspecs")
    assert list(found["kernelspecs"]) == [found["default"]] == ["python3"]
    assert found["kernelspecs"]["python3"]["spec"]["argv"][0] == sys.executable


def test_the_shipped_settings_are_in_force(server: Server) -> None:
    def setting(name: str) -> Any:
        answer = get(server, f"lab/api/settings/{name}")
        return {key: field.get("default") for key, field in answer["schema"]["properties"].items()}

    assert setting(OVERRIDES)["commsOverSubshells"] == "disabled"
    news = setting("@jupyterlab/apputils-extension:notification")
    assert (news["fetchNews"], news["checkForUpdates"]) == ("false", False)
    assert setting("@jupyterlab/notebook-extension:tracker")["windowingMode"] == "none"


def test_the_shipped_settings_exist_in_this_jupyterlab(server: Server) -> None:
    """An override with a name that JupyterLab does not know would be ignored in silence."""
    shipped = json.loads((SETTINGS / "overrides.json").read_text())
    for plugin, values in shipped.items():
        assert set(values) <= set(get(server, f"lab/api/settings/{plugin}")["schema"]["properties"])


def test_nothing_is_written_into_the_learner_s_home(server: Server, hostile_home: Path) -> None:
    get(server, "api/status")
    written = {path.relative_to(hostile_home).parts[0] for path in hostile_home.rglob("*")}
    assert written == {".local", ".jupyter", ".ipython"}
    assert {path.name for path in (hostile_home / ".jupyter").rglob("*")} == {"jupyter_server_config.json"}
    assert {path.name for path in (hostile_home / ".local").rglob("*.json")} == {"kernel.json"}


def test_a_kernel_starts_runs_and_knows_how_it_was_launched(server: Server) -> None:
    from websocket import create_connection

    started = urllib.request.Request(
        f"{server.base}api/kernels", b"{}", {"Authorization": f"token {server.token}"}, method="POST"
    )
    with urllib.request.urlopen(started, timeout=60) as answer:
        kernel = json.load(answer)["id"]
    address = f"{server.base}api/kernels/{kernel}/channels".replace("http", "ws", 1)
    link = create_connection(address, timeout=60, header=[f"Authorization: token {server.token}"])
    try:
        code = "import os, sys; from labkit.lab import probes; print(sys.executable, probes.launched_by_labkit())"
        link.send(json.dumps(_request(code)))
        assert _printed(link).split() == [sys.executable, "True"]
    finally:
        link.close()


def _request(code: str) -> dict[str, Any]:
    header = {"msg_id": "1", "session": "1", "username": "", "msg_type": "execute_request", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    return {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}


def _printed(link: Any) -> str:
    while True:
        message = json.loads(link.recv())
        if message["msg_type"] == "error":
            raise AssertionError(message["content"])
        if message["msg_type"] == "stream":
            return str(message["content"]["text"])


# ------------------------------------------------------------------------------------- what a terminal sees


@pytest.fixture
def launched(tmp_path: Path, state: Path) -> Iterator[tuple[Any, list[str]]]:
    """Start `labkit launch` as a learner does; yields a function that starts it, and ends what was started."""
    write_notebook(tmp_path / "notebooks")
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        line = [
            sys.executable,
            "-m",
            "labkit",
            "launch",
            "--no-browser",
            "--root",
            str(tmp_path / "notebooks"),
        ]
        process = subprocess.Popen(
            [*line, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def read_until(process: "subprocess.Popen[str]", text: str) -> str:
    assert process.stdout is not None
    shown = ""
    for line in process.stdout:
        shown += line
        if text in line:
            return shown
    raise AssertionError(f"{text!r} was never shown: {shown}")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as POSIX does")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_cleanly_and_leaves_nothing_running(launched: Any, number: signal.Signals) -> None:
    process = launched("--port", str(free_port()))
    shown = read_until(process, "http://127.0.0.1")
    assert f"/lab/tree/{FIRST}?token=" in shown
    os.killpg(process.pid, number)  # a terminal's Ctrl-C reaches the whole group
    rest = process.communicate(timeout=60)[0]
    assert process.returncode == 0, rest
    assert "Traceback" not in rest
    assert "y/[n]" not in rest
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # no process of the group is left


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as POSIX does")
def test_a_signal_to_the_command_alone_ends_the_server_too(launched: Any) -> None:
    process = launched("--port", str(free_port()))
    read_until(process, "http://127.0.0.1")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_busy_port_gives_way_to_the_next_free_one(launched: Any) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        process = launched("--port", str(port))
        shown = read_until(process, "Ctrl-C")
        assert f"Port {port} is busy" in shown
        assert f"127.0.0.1:{port}/" not in shown
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_a_notebook_that_is_not_there_is_told_at_once(launched: Any, tmp_path: Path) -> None:
    process = launched("99_nothing.ipynb")
    shown = process.communicate(timeout=60)[0]
    assert process.returncode == 1
    assert "no notebook '99_nothing.ipynb'" in shown
    assert "Traceback" not in shown


def test_a_server_that_dies_is_told_with_a_remedy(tmp_path: Path) -> None:
    write_notebook(tmp_path)
    place = Place(tmp_path, tmp_path / "jupyter")
    with pytest.raises(SetupError, match="labkit doctor"), serve(place, extra=["--ServerApp.port=none"]):
        pass


# ------------------------------------------------------------------------------------------ the pure parts


def test_the_token_is_no_argument_that_other_users_could_list() -> None:
    place = Place(Path("notebooks"), Path("jupyter"))
    line = command(place, FIRST, port=1, browser=False, root_user=False)
    assert not any("token" in argument.lower() for argument in line)
    assert environment(place, {}, "secret")["JUPYTER_TOKEN"] == "secret"


def test_root_is_allowed_only_for_root(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path / "jupyter")
    for root_user in (True, False):
        line = command(place, FIRST, port=1, browser=False, root_user=root_user)
        assert f"--ServerApp.allow_root={root_user}" in line


def test_every_folder_of_jupyter_lies_in_one_place_and_the_rest_is_inherited(tmp_path: Path) -> None:
    inherited = {
        "PATH": "/bin",
        "JUPYTER_PATH": "/x",
        "JUPYTER_CONFIG_PATH": "/x",
        "JUPYTER_CONFIG_DIR": "/x",
    }
    made = environment(Place(tmp_path, tmp_path / "jupyter"), inherited, "secret")
    assert made["PATH"] == "/bin"
    assert "/x" not in made.values()
    folders = [value for name, value in made.items() if name.endswith(("_DIR", "IPYTHONDIR"))]
    assert len(folders) == 6
    assert all(Path(folder).is_relative_to(tmp_path / "jupyter") for folder in folders)


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])
