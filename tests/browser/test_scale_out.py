"""In the page: a training in two processes, of which one dies, and federated training."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS, Notebook

CELL = """
import workbench as wb

page = wb.Workbench("digits-mlp", engines=["pytorch"])
page
"""

KILL_CELL = """
import os
import signal

import psutil

run = wb.load_run(wb.runs().iloc[0]["id"])
children = psutil.Process(run.watchdog_pid).children(recursive=True)
ranks = [each for each in children if "workbench.ranks.rank" in each.cmdline()]
(last,) = (each for each in ranks if each.environ()["RANK"] == "1")
os.kill(last.pid, signal.SIGKILL)
"""


@pytest.mark.sweep
def test_ranks_and_clients_are_seen_live(open_notebook: MakeNotebook) -> None:
    notebook = open_notebook(CELL, KILL_CELL)
    notebook.run(0)
    expect(notebook.status).to_contain_text("digits-mlp is ready", timeout=SLOW_MS)
    notebook.go_to("Train")
    a_rank_dies(notebook)
    clients_train(notebook)


def a_rank_dies(notebook: Notebook) -> None:
    page = notebook.page
    form = page.locator(".wb-settings-form").filter(visible=True)
    machine = form.get_by_role("group").filter(has_text="Machine and checkpoints")
    machine.locator("summary").click()
    form.get_by_label("Processes", exact=True).fill("2")
    form.get_by_label("Steps", exact=True).fill("30000")
    notebook.button("Train").click()
    # The sum, and of each rank its own.
    of_ranks = re.compile(r" = [\d.,]+ \+ [\d.,]+")
    expect(chart(notebook, "Memory")).to_have_accessible_name(of_ranks, timeout=SLOW_MS)
    # Of both ranks together.
    of_all = re.compile(r"^Throughput[^:]*: pytorch [\d.,]+[^+]*$")
    expect(chart(notebook, "Throughput")).to_have_accessible_name(of_all)
    notebook.run(1)
    expect(notebook.status).to_contain_text("Rank 1 was killed by SIGKILL", timeout=SLOW_MS)
    form.get_by_label("Steps", exact=True).fill("")  # federated training goes by rounds


def clients_train(notebook: Notebook) -> None:
    page = notebook.page
    page.get_by_text("Federated training", exact=True).locator("visible=true").click()
    for label, choice in (("Federated", "yes"), ("Privacy", "central")):
        notebook.field(label).select_option(choice)
    for label, number in (("Clients", 3), ("Rounds", 3), ("Local steps", 4)):
        notebook.set_number(label, number)
    page.get_by_role("button", name="Train on 3 clients").click()
    reached = chart(notebook, "Accuracy, round")
    of_each = re.compile(r"round [123]: global weights.* [\d.]+.%, each client's .*%")
    expect(reached).to_have_accessible_name(of_each, timeout=SLOW_MS)
    expect(notebook.status).to_contain_text("ondevice, 3 clients: 3 rounds", timeout=SLOW_MS)
    expect(reached).to_have_accessible_name(re.compile("^Accuracy, round 3: global weights"))
    reached.focus()
    page.keyboard.press("Home")
    expect(reached).to_have_accessible_name(re.compile("^Accuracy, round 1: global weights"))
    expect(chart(notebook, "Accuracy by epsilon")).to_be_visible()
    traffic = re.compile(r"sent by the server \d.*B, received \d.*B")
    expect(chart(notebook, "Traffic")).to_have_accessible_name(traffic)
    both_times = re.compile(r"on this machine [\d.]+\ss, on devices \(simulated\) [\d.]+\ss")
    expect(chart(notebook, "Time of a round")).to_have_accessible_name(both_times)
    clients = page.get_by_role("table", name="Clients", exact=True).locator("visible=true")
    expect(clients.get_by_role("row")).to_have_count(4)
    for digit in ("0", "9"):
        expect(clients.get_by_role("columnheader", name=digit, exact=True)).to_have_count(1)
    page.get_by_text("The rounds as a table").locator("visible=true").click()
    rounds = page.get_by_role("table", name="Rounds", exact=True).locator("visible=true")
    expect(rounds.get_by_role("columnheader", name="Epsilon")).to_be_visible()
    page.set_viewport_size({"width": 1440, "height": 900})
    for table in (rounds, clients):
        overflow = "table => table.parentElement.scrollWidth - table.parentElement.clientWidth"
        assert table.evaluate(overflow) <= 0, "all columns beside the file browser"

    notebook.go_to("Runs")
    page.get_by_role("row").filter(has_text="ondevice, 3 clients").click()
    notebook.button("Open").click()
    expect(reached).to_have_accessible_name(re.compile("^Accuracy, round 3"), timeout=SLOW_MS)
    expect(clients.get_by_role("row")).to_have_count(4)


def chart(notebook: Notebook, name: str) -> Locator:
    return notebook.chart(name).locator("visible=true")
