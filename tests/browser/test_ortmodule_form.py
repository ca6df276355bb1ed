"""The options of ORTModule on the page, changed by mouse and keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS
from tests.browser.test_workbench_page import fake_cell

READ_CELL = """
import time
# The form's messages come to a thread of their own, which may be later than this cell.
while len(page.trainer.ortmodule.value) < 4:
    time.sleep(0.05)
print(page.trainer.ortmodule.value)
"""


@pytest.mark.sweep
def test_options_unfold_and_changes_reach_the_settings(
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_notebook(fake_cell(), READ_CELL, "page.trainer.ortmodule.value = {}")
    notebook.run(0)
    expect(notebook.status).to_contain_text("digits-mlp is ready", timeout=SLOW_MS)
    page = notebook.page
    notebook.go_to("Train")
    level = page.get_by_label("Memory optimizer", exact=True)
    expect(level).to_be_hidden()
    page.get_by_text("ORTModule options").click()
    expect(level).to_be_visible()
    expect(level).to_have_accessible_description(re.compile("^0: saves activations"))
    level.select_option("2")
    page.get_by_label("Spinning", exact=True).check()
    page.locator(".wb-ortmodule-form").get_by_label("Threads", exact=True).fill("2")
    page.locator(".wb-ortmodule-form").get_by_label("Threads", exact=True).press("Tab")
    notebook.field("Folder for graphs").fill("graphs")
    notebook.field("Folder for graphs").press("Tab")
    expect(page.get_by_text("4 changed")).to_be_visible()
    notebook.run(1)
    expect(notebook.output(1)).to_have_text(
        "{'memory_optimizer_level': 2, 'threads': 2, 'spinning': True, 'saved_graphs': 'graphs'}"
    )
    page.get_by_label("Spinning", exact=True).uncheck()
    expect(page.get_by_text("3 changed")).to_be_visible()
    notebook.run(2)
    expect(level).to_have_value("0")
    expect(page.locator(".wb-ortmodule-form").get_by_label("Threads", exact=True)).to_have_value("")
    notebook.field("Log level").select_option("info")
    page.get_by_role("button", name="Defaults", exact=True).click()
    expect(notebook.field("Log level")).to_have_value("error")
