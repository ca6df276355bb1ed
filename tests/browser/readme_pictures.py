"""Takes the README's pictures anew: `make pictures`, on an idle machine.

The name of this file keeps it out of the tests.
"""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, MakeNotebook
from tests.browser.notebook import SLOW_MS
from tests.browser.test_pads import draw, of_each
from tests.personalisation.recorded import SYMBOLS

DOCS = ROOT / "docs"
IDLE_S = 600
"""How long the machine is waited for."""
TRIES = 8
"""Comparisons until the machine was quiet during one."""
LOOK_EVERY_S = 10
"""More than twice what the page measures the load over."""

WORKBENCH = """
import workbench as wb
page = wb.Workbench("digits-cnn")
page
"""
GRAPH = """
import workbench as wb
view = wb.GraphView(wb.generate_artifacts("text-bert"))
view
"""
OPENED = """
view.wait()
view.open_group("blocks/layers", graph="forward")
view.open_group("forward/blocks/layers/0", graph="training")
view.select("node_layer_norm", graph="training")
"""
SKETCH_PAD = f"""
import workbench as wb
wb.SketchPad({list(SYMBOLS)})
"""


def wait_until_quiet(page: Page) -> None:
    """Look at the badge now and then.

    `expect` looks all the time, which uses a fifth of a core; the blinking cursor of a cell uses
    some too.
    """
    page.keyboard.press("Escape")
    deadline = time.monotonic() + IDLE_S
    while not page.get_by_text("machine quiet now", exact=True).is_visible():
        assert time.monotonic() < deadline, "other programs use the machine"
        page.wait_for_timeout(1000 * LOOK_EVERY_S)


def test_comparison(open_notebook: MakeNotebook, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its name is in the picture.
    monkeypatch.setattr("tests.browser.conftest.KERNEL", "python3")
    notebook = open_notebook(WORKBENCH)
    page = notebook.page
    page.set_viewport_size({"width": 1400, "height": 900})
    notebook.close_file_browser()
    notebook.run(0)
    expect(notebook.status).to_contain_text("is ready", timeout=SLOW_MS)
    notebook.go_to("Compare")
    verdict = page.locator(".wb-result-bars .wb-verdict")
    for _ in range(TRIES):
        wait_until_quiet(page)
        notebook.button("Compare").click()
        expect(notebook.status).to_contain_text("Comparing", timeout=SLOW_MS)
        expect(notebook.status).to_contain_text("Compared", timeout=SLOW_MS)
        if verdict.get_attribute("data-level") == "quiet":
            break
    wait_until_quiet(page)
    page.locator(".wb-page").evaluate("page => page.scrollIntoView({ block: 'start' })")
    page.screenshot(path=DOCS / "workbench-light.png")


def test_the_graph(open_notebook: MakeNotebook) -> None:
    notebook = open_notebook(GRAPH, OPENED)
    page = notebook.page
    notebook.use_theme("JupyterLab Dark")
    notebook.close_file_browser()
    notebook.run(0)
    training = page.get_by_role("application", name=re.compile("training graph"))
    expect(training).to_be_visible(timeout=SLOW_MS)
    notebook.run(1)
    expect(page.locator(".wb-graph-side")).to_contain_text("node_layer_norm", timeout=SLOW_MS)
    page.wait_for_timeout(1000)  # the opened groups are laid out
    page.locator(".wb-graph").screenshot(path=DOCS / "graph-dark.png")


def test_the_sketch_pad(open_notebook: MakeNotebook) -> None:
    notebook = open_notebook(SKETCH_PAD)
    page = notebook.page
    page.set_viewport_size({"width": 1280, "height": 2000})
    notebook.run(0)
    pad = page.locator(".wb-pad").filter(visible=True)
    area = pad.get_by_role("application", name="Drawing", exact=True)
    for drawing in of_each(hand=1, count=5):
        pad.get_by_role("radio", name=re.compile(f"^{drawing.symbol}")).check()
        draw(page, area, drawing.strokes)
        pad.get_by_role("button", name=f"Add to {drawing.symbol}").click()
    pad.get_by_role("button", name="Fine-tune on examples").click()
    results = pad.get_by_role("region", name="Evaluation on held-out drawings")
    expect(results).to_be_visible(timeout=SLOW_MS)
    top, results_at = pad.bounding_box(), results.bounding_box()
    assert top is not None
    assert results_at is not None
    height = results_at["y"] + results_at["height"] - top["y"]
    page.screenshot(path=DOCS / "sketch-pad-light.png", clip={**top, "height": height})
