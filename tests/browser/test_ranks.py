"""A training in two processes in the page: a line a rank, and the reason where one of them dies."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS

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


@pytest.mark.sweep  # tests/ranks/test_ranks.py: what the page is told of such a run
def test_memory_of_each_rank_and_the_reason_where_one_dies(open_notebook: MakeNotebook) -> None:
    notebook = open_notebook(CELL, KILL_CELL)
    notebook.run(0)
    page = notebook.page
    expect(notebook.status).to_contain_text("digits-mlp is ready", timeout=SLOW_MS)
    notebook.go_to("Train")
    form = page.locator(".wb-settings-form").filter(visible=True)
    for title, label, text in (
        ("Machine and checkpoints", "Processes", "2"),
        ("Length and evaluation", "Steps", "30000"),
    ):
        group = form.get_by_role("group").filter(has_text=title)
        group.locator("summary").click()
        group.get_by_label(label, exact=True).fill(text)
    notebook.button("Train").click()
    memory = page.get_by_role("img", name=re.compile("^Memory")).locator("visible=true")
    # The sum, and of each rank its own.
    of_ranks = re.compile(r" = [\d.,]+ \+ [\d.,]+")
    expect(memory).to_have_accessible_name(of_ranks, timeout=SLOW_MS)
    expect(
        page.get_by_role("img", name=re.compile("samples", re.IGNORECASE)).locator("visible=true")
    ).to_have_count(1)
    notebook.run(1)
    expect(notebook.status).to_contain_text("Rank 1 was killed by SIGKILL", timeout=SLOW_MS)
