"""A federated run in the page, while it continues and when it is opened again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS

CELL = """
import workbench as wb

page = wb.Workbench("digits-mlp")
page
"""


@pytest.mark.sweep
def test_rounds_and_clients_are_seen_live_and_in_the_list_of_runs(
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_notebook(CELL)
    notebook.run(0)
    page = notebook.page
    expect(notebook.status).to_contain_text("digits-mlp is ready", timeout=SLOW_MS)
    notebook.go_to("Train")
    page.get_by_text("Federated training", exact=True).locator("visible=true").click()
    for label, choice in (("Federated", "yes"), ("Privacy", "central")):
        notebook.field(label).select_option(choice)
    for label, number in (("Clients", 3), ("Rounds", 3), ("Local steps", 4)):
        notebook.set_number(label, number)
    page.get_by_role("button", name="Train on 3 clients").click()
    reached = page.get_by_role("img", name=re.compile("^Accuracy, round")).locator("visible=true")
    expect(reached).to_have_accessible_name(re.compile("round [123]: global"), timeout=SLOW_MS)
    expect(notebook.status).to_contain_text("ondevice, 3 clients: 3 rounds", timeout=SLOW_MS)
    expect(reached).to_have_accessible_name(re.compile("^Accuracy, round 3: global weights"))
    reached.focus()
    page.keyboard.press("Home")
    expect(reached).to_have_accessible_name(re.compile("^Accuracy, round 1: global weights"))
    expect(page.get_by_role("img", name=re.compile("^Accuracy by epsilon"))).to_be_visible()
    clients = page.get_by_role("table", name="Clients", exact=True).locator("visible=true")
    expect(clients.get_by_role("row")).to_have_count(4)
    page.get_by_text("The rounds as a table").locator("visible=true").click()
    rounds = page.get_by_role("table", name="Rounds", exact=True).locator("visible=true")
    expect(rounds.get_by_role("columnheader", name="Epsilon")).to_be_visible()

    notebook.go_to("Runs")
    page.get_by_role("row").filter(has_text="ondevice, 3 clients").click()
    notebook.button("Open").click()
    expect(reached).to_have_accessible_name(re.compile("^Accuracy, round 3"), timeout=SLOW_MS)
    expect(clients.get_by_role("row")).to_have_count(4)
