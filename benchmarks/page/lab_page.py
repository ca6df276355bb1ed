"""The whole interface: a notebook in JupyterLab, shown by headless Chromium."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Page, sync_playwright

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
START_S = 120
PATIENCE_MS = 180_000


class LabPage:
    """The page, and the processes that show it."""

    def __init__(self, page: Page, server: psutil.Process, browser: psutil.Process) -> None:
        self.page = page
        self._roots = (server, browser)

    def run(self, index: int) -> None:
        """Run a cell and wait until it has ended."""
        cell = self.page.locator(".jp-Notebook .jp-CodeCell").nth(index)
        cell.locator(".jp-InputArea-editor").click()
        self.page.keyboard.press("Control+Enter")
        done = self.page.locator(".jp-Notebook .jp-CodeCell").nth(index).locator(".jp-InputPrompt")
        self.page.wait_for_function(
            "node => /\\[\\d+\\]/.test(node.textContent)",
            arg=done.element_handle(),
            timeout=PATIENCE_MS,
        )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Server, kernel and browser do nothing at all meanwhile."""
        processes = self._processes()
        _send(processes, signal.SIGSTOP)
        try:
            yield
        finally:
            _send(processes, signal.SIGCONT)

    def processor_seconds(self) -> float:
        """Processor time that server, kernel and browser have taken since they began."""
        found = 0.0
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                found += times.user + times.system
        return found

    def _processes(self) -> list[psutil.Process]:
        found = []
        for root in self._roots:
            for process in (root, *root.children(recursive=True)):
                # A worker that the kernel started trains; it is not part of the interface.
                with suppress(psutil.NoSuchProcess):
                    if "workbench." not in " ".join(process.cmdline()):
                        found.append(process)
        return found


def _send(processes: Sequence[psutil.Process], number: int) -> None:
    """Send a signal to those that have not ended meanwhile, as helpers of a browser do."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


@contextmanager
def lab_page(*cells: str, environment: dict[str, str] | None = None) -> Iterator[LabPage]:
    """A notebook of those cells, open, with a kernel that is ready."""
    import nbformat

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(notebook, root / "page.ipynb")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        token = secrets.token_hex(8)
        variables = {
            **os.environ,
            **(environment or {}),
            "PYTHONPATH": os.pathsep.join(["", *sys.path]).strip(os.pathsep),
            "JUPYTER_CONFIG_DIR": str(root / "config"),
            "JUPYTERLAB_SETTINGS_DIR": str(root / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(root / "workspaces"),
        }
        plain = {"fetchNews": "false", "checkForUpdates": False}
        settings = root / "settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(plain))
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                *(f"--port={port}", "--ServerApp.port_retries=0"),
                *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"),
            ],
            env=variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until_up(f"http://127.0.0.1:{port}/api?token={token}", server)
            url = f"http://127.0.0.1:{port}/lab/tree/page.ipynb?token={token}&reset"
            with in_chromium(url) as (page, browser):
                yield LabPage(page, psutil.Process(server.pid), browser)
        finally:
            server.terminate()
            server.wait(60)


@contextmanager
def in_chromium(url: str) -> Iterator[tuple[Page, psutil.Process]]:
    """The page, with an idle kernel, and the browser's process."""
    path = next(path for name in CHROMIUM if (path := shutil.which(name)))
    with sync_playwright() as playwright:
        before = {process.pid for process in psutil.Process().children(recursive=True)}
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        started = [
            process
            for process in psutil.Process().children(recursive=True)
            if process.pid not in before and "--headless" in process.cmdline()
        ]
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(PATIENCE_MS)
        page.goto(url)
        page.locator("#jp-main-statusbar", has_text="| Idle").wait_for()
        yield page, started[0]
        browser.close()


def wait_until_up(url: str, server: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start within {START_S} s.")
