"""The options of ORTModule on the page, changed by mouse and keyboard."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS
from tests.browser.test_workbench_page import fake_cell


def test_options_unfold_and_what_is_changed_reaches_the_settings(
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_notebook(
        fake_cell(), "print(page.ortmodule.settings())", "page.ortmodule.value = {}"
    )
    notebook.run(0)
    expect(notebook.status).to_contain_text("digits-mlp is ready", timeout=SLOW_MS)
    page = notebook.page
    level = page.get_by_label("Memory optimizer", exact=True)
    expect(level).to_be_hidden()
    page.get_by_text("ORTModule options").click()
    expect(level).to_be_visible()
    expect(level).to_have_accessible_description(re.compile("^0: activations are kept"))
    level.select_option("2")
    page.get_by_label("Spinning", exact=True).check()
    notebook.field("Threads").fill("2")
    notebook.field("Threads").press("Tab")
    notebook.field("Folder for graphs").fill("graphs")
    notebook.field("Folder for graphs").press("Tab")
    expect(page.get_by_text("4 changed")).to_be_visible()
    notebook.run(1)
    expect(notebook.output(1)).to_have_text(
        "{'ortmodule': {'memory_optimizer_level': 2, 'threads': 2, 'spinning': True, "
        "'saved_graphs': 'graphs'}}"
    )
    page.get_by_label("Spinning", exact=True).uncheck()
    expect(page.get_by_text("3 changed")).to_be_visible()
    notebook.run(2)
    expect(level).to_have_value("0")
    expect(notebook.field("Threads")).to_have_value("")
    notebook.field("Log level").select_option("info")
    page.get_by_role("button", name="Defaults", exact=True).click()
    expect(notebook.field("Log level")).to_have_value("error")
