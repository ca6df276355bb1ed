"""A notebook in JupyterLab, with the workbench page in it, as a person uses them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Locator, Page, expect

SLOW_MS = 90_000
"""For what imports PyTorch or trains: generous, since the machine may be busy."""


OPEN = """async path => {
  await window.jupyterapp.commands.execute("docmanager:open", { path });
}"""
"""Opens a file in the JupyterLab that the page shows."""


class Notebook:
    """The page object of these tests. Every locator is by role and name, as a person finds it."""

    def __init__(self, page: Page, url: str, path: Path) -> None:
        self.page = page
        self.url = url
        self.path = path

    def open(self) -> None:
        """Open it in the JupyterLab that the page shows; load JupyterLab where it shows none."""
        if not self.page.evaluate("'jupyterapp' in window"):
            self.load()
            return
        self.page.evaluate(OPEN, self.path.name)
        self._wait_until_open()

    def load(self) -> None:
        """Load JupyterLab with this notebook, as it is in the file."""
        self.page.goto(self.url)
        self._wait_until_open()

    def _wait_until_open(self) -> None:
        expect(self.page.locator(".jp-Notebook")).to_be_visible(timeout=SLOW_MS)
        self.wait_for_kernel()

    def wait_for_kernel(self) -> None:
        bar = self.page.locator("#jp-main-statusbar")
        expect(bar).to_contain_text(re.compile(r"Python 3.* \| Idle"), timeout=SLOW_MS)

    def close_file_browser(self) -> None:
        """Close it, open or not: it leaves nothing of a page of 400 pixels.

        The key that does so opens it where it is closed, and is lost while a page is busy.
        """
        self.page.evaluate("window.jupyterapp.shell.collapseLeft()")
        browser = self.page.get_by_role("region", name="File Browser Section")
        expect(browser).to_be_hidden(timeout=SLOW_MS)

    def cell(self, index: int) -> Locator:
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(index)

    def run(self, index: int) -> None:
        """Run a cell by the mouse and wait until it has finished."""
        self.start(index)
        prompt = self.cell(index).locator(".jp-InputPrompt")
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"), timeout=SLOW_MS)

    def start(self, index: int) -> None:
        """Run a cell by the mouse and do not wait."""
        self.cell(index).locator(".jp-InputArea-editor").click()
        self.page.get_by_role("button", name=re.compile("^Run this cell")).first.click()

    def output(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-OutputArea-output")

    def choose_model(self, name: str) -> None:
        """Choose a sample by the mouse alone and wait until its layers are shown."""
        self.go_to("Model")
        self.field("Model").click()
        self.page.get_by_role("option", name=name).click()
        expect(self.status).to_contain_text(f"{name} is ready")
        layers = self.page.get_by_role("table").filter(has_text="Parameters")
        expect(layers).to_be_visible(timeout=SLOW_MS)

    def go_to(self, name: str) -> None:
        """Go to a step of the app by its tab, or by the menu where the page is narrow."""
        tab = self.page.get_by_role("tab", name=re.compile(f"^{name}"))
        menu = self.page.get_by_label("Step", exact=True)
        expect(tab.or_(menu).locator("visible=true")).to_have_count(1)
        if tab.is_visible():
            tab.click()
        else:
            menu.select_option(name.lower())

    def field(self, label: str) -> Locator:
        """Of the step that is shown: some settings have a field in several."""
        return self.page.get_by_label(label, exact=True).locator("visible=true")

    def set_number(self, label: str, value: float) -> None:
        self.go_to(
            "Compare" if label in ("Steps to compare", "Wait for idle machine (s)") else "Train"
        )
        self.field(label).fill(str(value))
        self.field(label).press("Tab")

    def engine(self, name: str) -> Locator:
        return self.field("Engines").get_by_role("checkbox", name=name, exact=True)

    def choose_engines(self, *names: str) -> None:
        for box in self.field("Engines").get_by_role("checkbox").all():
            box.set_checked((box.get_attribute("value") or "") in names)

    def button(self, name: str) -> Locator:
        if name == "Train":  # it says what it trains on
            return self.page.get_by_role("button", name=re.compile(r"^Train( on .+)?$"))
        return self.page.get_by_role("button", name=name, exact=True)

    def chart(self, name: str) -> Locator:
        """Of the step that is shown."""
        return self.page.get_by_role("img", name=re.compile(f"^{name}"))

    def use_theme(self, name: str) -> None:
        """Switch JupyterLab's theme by its menu and wait until its style sheet is in force."""
        self.page.get_by_role("menuitem", name="Settings").click()
        self.page.locator(".lm-Menu-item", has_text=re.compile("^Theme$")).hover()
        self.page.locator(".lm-Menu-item", has_text=re.compile(f"^{name}$")).click()
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        self.page.wait_for_timeout(1000)

    @property
    def status(self) -> Locator:
        return self.page.locator(".wb-status").get_by_role("status")

    @property
    def step(self) -> Locator:
        """The step that a run has reached, as `step 12 of 440, epoch 1`."""
        return self.page.locator(".wb-status-detail")

    def wait_for_step(self, at_least: int) -> int:
        """Wait until the run shown has taken so many steps; returns how many it has."""
        self.page.wait_for_function(
            """least => {
                const text = document.querySelector(".wb-status-detail")?.textContent ?? "";
                const step = /step ([\\d,]+) of/.exec(text)?.[1];
                return step !== undefined && Number(step.replace(",", "")) >= least;
            }""",
            arg=at_least,
            timeout=SLOW_MS,
        )
        found = re.search(r"step ([\d,]+)", self.step.inner_text())
        assert found is not None
        return int(found[1].replace(",", ""))

    def wait_for_end(self) -> None:
        expect(self.button("Train")).to_be_enabled(timeout=SLOW_MS)

    def saved_outputs(self, index: int) -> list[dict[str, Any]]:
        """The outputs of a cell as the file holds them; none while JupyterLab writes it."""
        try:
            content = nbformat.read(self.path, as_version=4)
        except nbformat.reader.NotJSONError:
            return []
        return list(content.cells[index].outputs)
