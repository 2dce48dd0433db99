"""One server and one browser for all browser tests: JupyterLab as `labkit launch` starts it, on copies of notebooks.

Set LABKIT_SCREENSHOTS to a folder to keep pictures of every notebook as it looks after its test, and of
every failure.
"""

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from playwright.sync_api import sync_playwright

from labkit.lab.launch import Place, Server, serve
from tests.browser.driver import FLAGS, HEIGHT, WIDTH, Lab, Notebook
from tools.notebooks.tidy import KERNEL

Opener = Callable[[str, NotebookNode], Notebook]


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's folder of notebooks."""
    return tmp_path_factory.mktemp("notebooks")


@pytest.fixture(scope="session")
def server(root: Path, chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """JupyterLab with the course's settings; its application object is exposed to the tests."""
    write_cleared(root, "empty.ipynb", nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]))
    home = tmp_path_factory.mktemp("jupyter")
    exposed = ["--LabApp.expose_app_in_browser=True"]
    with serve(Place(root, home), "empty.ipynb", port=18_888, extra=exposed) as running:
        yield running


@pytest.fixture(scope="session")
def lab(server: Server, chromium: str) -> Iterator[Lab]:
    """JupyterLab in Chromium, opened at the address that `labkit launch` prints."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
        page.set_default_timeout(60_000)
        opened = Lab(page)
        opened.goto(server.url, server.notebook)
        yield opened
        browser.close()


@pytest.fixture
def open_notebook(lab: Lab, root: Path, request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Put a notebook on the server without outputs, and open it. It is pictured and closed afterwards."""
    opened: list[tuple[str, Notebook]] = []
    lab.errors.clear()

    def opener(name: str, notebook: NotebookNode) -> Notebook:
        write_cleared(root, name, notebook)
        opened.append((Path(name).stem, lab.open(name)))
        return opened[-1][1]

    yield opener
    folder = os.environ.get("LABKIT_SCREENSHOTS")
    for name, notebook in opened:
        if folder:
            failed = getattr(request.node, "failed", False)
            notebook.screenshots(Path(folder), f"{'failed-' if failed else ''}{name}")
        notebook.close()


def write_cleared(root: Path, name: str, notebook: NotebookNode) -> None:
    """Write a notebook without outputs and counts: stale ones would pass for a run."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata["kernelspec"] = dict(KERNEL)  # without one, JupyterLab asks which to use
    nbformat.write(notebook, root / name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    report = yield
    if report.when == "call":
        item.failed = report.failed  # type: ignore[attr-defined]
    return report
