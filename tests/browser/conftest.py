"""One JupyterLab server and one Chromium for all browser tests; a notebook and kernel for each."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.browser.notebook import Notebook
from tests.browser.shared_page import SharedPage
from tests.notebook_kernels import KERNEL

TOKEN = "browser-tests"
ROOT = Path(__file__).resolve().parents[2]
START_S = 60
KERNEL_MESSAGE_TORN = re.compile(
    r"Kernel message validation error: "
    r".*\"(stream\.stderr|display_data|comm-\w+)\"\S* is not valid JSON"
)
"""Seen in about one of ten whole runs, its cause not found: JupyterLab reads the topic of a message
where its header should be. It drops that message and continues."""
MODULE_LOADED_LATE = "[anywidget] Failed to initialize model."
"""Said of a widget where the machine is busy; it works all the same, as a test here shows."""
LOCAL = re.compile(r"(http|ws)://127\.0\.0\.1[:/]|data:|blob:|about:")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No other machine can be reached, whatever asks for it.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
SETTINGS: dict[str, dict[str, Any]] = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/apputils-extension/themes": {"theme": "JupyterLab Light"},
    # A notebook that saves itself would hide what the page does about saving.
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}

MakeNotebook = Callable[..., Notebook]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser: `CHROMIUM`, or one on the path. Without one CI fails; elsewhere tests skip."""
    installed = [path for name in CHROMIUM_NAMES if (path := shutil.which(name))]
    found = os.environ.get("CHROMIUM") or next(iter(installed), None)
    if found is None:
        message = (
            "No Chromium: install the package `chromium`, or set CHROMIUM to the browser's path."
        )
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@pytest.fixture(scope="session")
def lab_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where JupyterLab's notebooks, settings and runs of these tests lie."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "notebooks").mkdir()
    return folder


def write_settings(lab_folder: Path) -> None:
    """JupyterLab's settings of these tests, whatever theme the test before has chosen."""
    for name, settings in SETTINGS.items():
        path = lab_folder / "config" / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings), encoding="utf-8")


@pytest.fixture(scope="session")
def lab_environment(lab_folder: Path) -> dict[str, str]:
    """Variables of a JupyterLab and its kernels that know nothing of this account's settings."""
    config = lab_folder / "config"
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(config / "data"),
        "JUPYTERLAB_SETTINGS_DIR": str(config / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(config / "workspaces"),
        "IPYTHONDIR": str(config / "ipython"),
        "WORKBENCH_HOME": str(lab_folder / "home"),
    }


@pytest.fixture(scope="session")
def lab_url(lab_folder: Path, lab_environment: dict[str, str], chromium_path: str) -> Iterator[str]:
    """Address of a running JupyterLab."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"),
        *("--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"),
        "--LabApp.extension_manager=readonly",  # the other one starts node for each page
        "--LabApp.expose_app_in_browser=True",  # notebooks are opened and closed by its commands
        f"--ServerApp.root_dir={lab_folder / 'notebooks'}",
    ]
    log = lab_folder / "lab.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, env=lab_environment)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(url, server, log)
        yield url
    finally:
        server.terminate()
        server.wait(timeout=30)


def wait_until_up(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/api?token={TOKEN}", timeout=2):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
    tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
    pytest.fail(f"JupyterLab did not start within {START_S} s:\n{tail}")


@pytest.fixture(scope="session")
def chromium(chromium_path: str) -> Iterator[Browser]:
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path, args=list(CHROMIUM_FLAGS)
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def context(chromium: Browser) -> BrowserContext:
    """One profile: JupyterLab's scripts are fetched and compiled once."""
    return chromium.new_context()


@pytest.fixture(scope="session")
def shared_page(context: BrowserContext) -> SharedPage:
    return SharedPage(context)


@pytest.fixture
def page(shared_page: SharedPage, lab_url: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that finds nothing left by others. An error in its scripts fails the test, and so does
    a request to another machine."""
    failed = request.session.testsfailed
    page = shared_page.take()
    problems: list[str] = []

    def note(error: Error) -> None:
        problems.append(str(error))

    def note_request(request: Request) -> None:
        if not LOCAL.match(request.url):
            problems.append(f"The page asks for {request.url}")

    page.on("pageerror", note)
    page.on("request", note_request)
    yield page
    page.remove_listener("pageerror", note)
    page.remove_listener("request", note_request)
    shared_page.close_notebooks()
    end_kernels(page, lab_url)
    if request.session.testsfailed > failed or not shared_page.forget():
        shared_page.discard()
    expected = re.compile(f"{KERNEL_MESSAGE_TORN.pattern}|{re.escape(MODULE_LOADED_LATE)}")
    unexpected = [text for text in problems if not expected.search(text)]
    assert not unexpected, "\n".join(unexpected)


def end_kernels(page: Page, lab_url: str) -> None:
    """End every kernel, as a server does that is started again."""
    headers = {"Authorization": f"token {TOKEN}"}
    for session in page.request.get(f"{lab_url}/api/sessions", headers=headers).json():
        page.request.delete(f"{lab_url}/api/sessions/{session['id']}", headers=headers)


@pytest.fixture
def open_notebook(
    page: Page, lab_url: str, lab_folder: Path, request: pytest.FixtureRequest
) -> MakeNotebook:
    """Write a notebook of those cells and open it with a fresh kernel."""

    write_settings(lab_folder)

    def open_one(*cells: str) -> Notebook:
        name = f"{request.node.name.replace('[', '-').rstrip(']')}.ipynb"
        path = lab_folder / "notebooks" / name
        content = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": KERNEL, "display_name": "Python 3"}},
        )
        nbformat.write(content, path)
        notebook = Notebook(page, f"{lab_url}/lab/tree/{name}?token={TOKEN}&reset", path)
        notebook.open()
        return notebook

    return open_one
