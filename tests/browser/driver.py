"""Driving JupyterLab in a real browser: open a notebook, run it, turn knobs, look at pictures.

JupyterLab's own application object, which the test server exposes, tells when a notebook is ready and when
it is done: what the page shows lags behind, and Run All pressed too early silently does nothing.
"""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
WIDTH, HEIGHT = 1280, 1000
OPENING, RUNNING = 120_000, 600_000
"""Milliseconds after which opening, or running all cells, counts as hung; a busy machine is slow, not wrong."""

OPEN = """async path => {
  const panel = await jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'});
  jupyterapp.shell.activateById(panel.id);
}"""
READY = """path => {
  const panel = jupyterapp.shell.currentWidget, kernel = panel?.context?.sessionContext?.session?.kernel;
  return panel?.context?.path === path && panel.context.isReady && panel.content.widgets.length > 0
    && kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
CELLS = """() => jupyterapp.shell.currentWidget.content.widgets
  .filter(cell => cell.model.type === 'code' && cell.model.sharedModel.source.trim())
  .map(cell => ({
    count: cell.model.executionCount,
    running: cell.model.executionState === 'running'
      || cell.node.querySelector('.jp-InputPrompt')?.textContent.includes('*'),
    errors: cell.model.outputs.toJSON()
      .filter(output => output.output_type === 'error')
      .map(output => `${output.ename}: ${output.evalue}`),
  }))"""
DONE = f"""() => {{
  const cells = ({CELLS})();
  const kernel = jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
  const failed = cells.some(cell => cell.errors.length);
  return kernel.status === 'idle' && !cells.some(cell => cell.running)
    && (failed || cells.every(cell => cell.count !== null));
}}"""
CLOSE = """async () => {
  const panel = jupyterapp.shell.currentWidget;
  await panel.context.sessionContext.shutdown();
  await panel.context.save();
  panel.close();
}"""
HASH = """async node => {
  const bytes = node.tagName === 'IMG'
    ? await (await fetch(node.src)).arrayBuffer()
    : new TextEncoder().encode(node.outerHTML);
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest)).map(byte => byte.toString(16).padStart(2, '0')).join('');
}"""


class Lab:
    """JupyterLab on one page. `requests` are the addresses it asked for, `errors` what its scripts complained about."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def goto(self, url: str, notebook: str) -> None:
        """Open JupyterLab at this address, and wait until it stands with the notebook in front."""
        self.page.goto(url, wait_until="domcontentloaded")
        self.page.wait_for_function("() => window.jupyterapp?.restored", timeout=OPENING)
        self.page.evaluate("async () => { await jupyterapp.restored }")
        self.page.wait_for_function(READY, arg=notebook, timeout=OPENING)

    def open(self, name: str) -> "Notebook":
        """Open a notebook and wait until its kernel is ready."""
        self.page.evaluate(OPEN, name)
        self.page.wait_for_function(READY, arg=name, timeout=OPENING)
        return Notebook(self)


class Notebook:
    """The notebook in front."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.page = lab, lab.page

    def run_all(self) -> list[str]:
        """Run every cell and wait for the last; returns the errors that cells ended in."""
        self.page.evaluate("() => { jupyterapp.commands.execute('notebook:run-all-cells') }")
        self.page.wait_for_function(DONE, timeout=RUNNING)
        return [error for cell in self.page.evaluate(CELLS) for error in cell["errors"]]

    def counts(self) -> list[Any]:
        """Execution counts of the code cells; None for one that has not run."""
        return [cell["count"] for cell in self.page.evaluate(CELLS)]

    def find(self, css: str) -> Locator:
        """Elements of this notebook."""
        return self.page.locator(f".jp-NotebookPanel:not(.lm-mod-hidden) {css}")

    def experiments(self) -> list["Frame"]:
        """Every experiment frame in the notebook, in order."""
        marks = self.find(".labkit-status")
        return [Frame(self, index) for index in range(marks.count())]

    def close(self) -> None:
        """Shut its kernel down and close it."""
        self.page.evaluate(CLOSE)

    def screenshots(self, folder: Path, name: str) -> list[Path]:
        """The whole notebook from top to bottom, a screen at a time."""
        folder.mkdir(parents=True, exist_ok=True)
        outer = self.find(".jp-WindowedPanel-outer")
        whole, screen = outer.evaluate("node => [node.scrollHeight, node.clientHeight]")
        paths = []
        for number, top in enumerate(range(0, whole, screen)):
            outer.evaluate("(node, top) => { node.scrollTop = top }", top)
            paths.append(folder / f"{name}-{number:02}.png")
            outer.screenshot(path=paths[-1])
        return paths


class Frame:
    """One experiment: its knobs, buttons, status line and picture."""

    def __init__(self, notebook: Notebook, index: int) -> None:
        self.status = notebook.find(".labkit-status").nth(index)
        self.box = self.status.locator("xpath=ancestor::*[contains(@class, 'jp-OutputArea-output')][1]")
        self.page = notebook.page

    @property
    def runs(self) -> int:
        """How many runs have ended in this frame."""
        return int(self.status.get_attribute("data-runs") or 0)

    @property
    def state(self) -> str:
        """idle, running, done, failed or cancelled."""
        return self.status.get_attribute("data-state") or ""

    @property
    def sliders(self) -> Locator:
        return self.box.locator(".widget-slider [role=slider]")

    @property
    def has_run_button(self) -> bool:
        return self.button("Run").count() > 0

    def button(self, name: str) -> Locator:
        return self.box.get_by_role("button", name=name, exact=True)

    def picture(self) -> str:
        """A hash of the picture's content."""
        shown = self.box.locator("img:visible, svg:visible").last
        expect(shown).to_be_visible()
        return str(shown.evaluate(HASH))

    def press(self, slider: Locator, key: str) -> tuple[float, float]:
        """Press a key on a slider; its value before and after."""
        before = float(slider.get_attribute("aria-valuenow") or "nan")
        slider.focus()
        self.page.keyboard.press(key)
        return before, float(slider.get_attribute("aria-valuenow") or "nan")

    def move(self, slider: Locator) -> tuple[float, float]:
        """Move a slider by the keyboard one step up, or down if it stands at its end."""
        before, after = self.press(slider, "ArrowRight")
        return (before, after) if after != before else self.press(slider, "ArrowLeft")

    def wait_for(self, state: str, timeout: int = RUNNING) -> None:
        expect(self.status).to_have_attribute("data-state", re.compile(f"^({state})$"), timeout=timeout)

    def wait_for_run(self, number: int, timeout: int = RUNNING) -> None:
        """Until the run of this number has ended, however."""
        expect(self.status).to_have_attribute("data-runs", str(number), timeout=timeout)
