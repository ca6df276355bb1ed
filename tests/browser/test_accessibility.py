"""That everyone can use the workbench: roles, names, contrast, keyboard, what is read aloud."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import tab_stops, violations
from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS
from tests.browser.test_workbench_page import open_fake
from tests.representative import WHOLE_TABLES

STEPS = ("Model", "Artifacts", "Train", "Compare", "Runs")
THEMES = ("JupyterLab Dark", "JupyterLab Light")
WIDTHS = {"JupyterLab Dark": 420} | ({"JupyterLab Light": 1400} if WHOLE_TABLES else {})
"""A look takes seconds at each step, so that one theme has to do where time is short."""
WIDE = {"width": 1400, "height": 1300}
ALONE = {
    "ModelView": "wb.ModelView('digits-mlp')",
    "ArtifactBuilder": "wb.ArtifactBuilder('digits-mlp')",
    "Trainer": "wb.Trainer('digits-mlp')",
    "RunBrowser": "wb.RunBrowser()",
    "GraphView": "wb.GraphView(wb.generate_artifacts('digits-mlp', directory='axe-artifacts'))",
    "ComparisonView": "wb.ComparisonView()",
}
TASKS = {
    "Model": ("Installation",),
    "Artifacts": ("Verify gradients", "Device bundle", "Largest batch", "Export cache"),
    "Train": ("Tune kernels", "Your own examples"),
}
TASK_CELL = """
from workbench.controller.tasks.task import Table, TaskResult
rows = tuple((f"layers.{each}.weight", "1.0e-07", "0.1 wrong") for each in range(30))
table = Table("Relative error to PyTorch", ("Gradient of", "ondevice", "ortmodule"), rows)
result = TaskResult("It does not agree.", False, (table,))
tasks = page.artifacts.controller.tasks
tasks._change("verify", result=result)
tasks._change("bundle", about="Something.", doing="writing", problem="Broken.")
"""
"""Sections as they are with results and problems of every kind."""
WATCH_REGIONS = """() => {
  window.told = [];
  const regions = '.wb-page :is([role="status"], [role="alert"], [aria-live])';
  for (const region of document.querySelectorAll(regions)) {
    // What is not shown, as in another step, is not read.
    new MutationObserver(() => region.checkVisibility() && window.told.push(region.textContent))
      .observe(region, { childList: true, characterData: true, subtree: true });
  }
}"""


def test_nothing_serious_in_any_step(open_notebook: MakeNotebook) -> None:
    notebook = open_fake(open_notebook, TASK_CELL)
    page = notebook.page
    notebook.set_number("Epochs", 1)
    notebook.button("Train").click()
    expect(notebook.status).to_contain_text("Trained", timeout=SLOW_MS)
    notebook.run(1)
    for step, titles in TASKS.items():
        notebook.go_to(step)
        for title in titles:
            page.locator(".wb-page summary", has_text=title).click()
    expect(page.locator(".wb-task td", has_text="1.0e-07")).to_have_count(30, timeout=SLOW_MS)
    notebook.set_number("Steps to compare", 60)
    notebook.button("Compare").locator("visible=true").first.click()
    expect(notebook.status).to_contain_text("Compared", timeout=SLOW_MS)
    page.get_by_role("button", name="Code", exact=True).click()
    found = []
    # The menu of the themes is at hand in a wide page only.
    for theme, width in WIDTHS.items():
        page.set_viewport_size(WIDE)
        notebook.use_theme(theme)
        page.set_viewport_size({**WIDE, "width": width})
        for step in STEPS:
            notebook.go_to(step)
            found += [f"{theme}, {width} pixels, {step}: {each}" for each in violations(page)]
    assert not found, "\n".join(found)


@pytest.mark.sweep
def test_nothing_serious_in_a_widget_alone(open_notebook: MakeNotebook) -> None:
    cells = [f"import workbench as wb\n{widget}" for widget in ALONE.values()]
    notebook = open_notebook(*cells)
    page = notebook.page
    for index in range(len(cells)):
        notebook.run(index)
        expect(notebook.cell(index).locator(".wb").first).to_be_attached(timeout=SLOW_MS)
    expect(page.get_by_role("application").first).to_be_visible(timeout=SLOW_MS)
    found = []
    for theme in THEMES:
        notebook.use_theme(theme)
        found += [f"{theme}: {each}" for each in violations(page, ".jp-OutputArea-output")]
    assert not found, "\n".join(found)


@pytest.mark.sweep
def test_every_stop_of_the_tab_key_is_seen(open_notebook: MakeNotebook) -> None:
    notebook = open_fake(open_notebook)
    page = notebook.page
    for step in STEPS:
        if step == "Runs":  # without a run there is nothing to stop at
            notebook.set_number("Epochs", 1)
            notebook.button("Train").click()
            expect(notebook.status).to_contain_text("Trained", timeout=SLOW_MS)
        notebook.go_to(step)
        if step == "Runs":
            expect(page.locator(".wb-run-row").first).to_be_visible(timeout=SLOW_MS)
        tab = page.get_by_role("tab", selected=True).and_(page.locator(".wb-page *"))
        tab.focus()
        stops = tab_stops(page)
        unseen = [stop["what"] for stop in stops if not (stop["outlined"] and stop["seen"])]
        assert not unseen, f"{step}: {unseen}"
        # The bar comes first and then the step: nothing leads back up.
        tops = [stop["top"] for stop in stops]
        assert tops == sorted(tops, reverse=True), f"{step}: {[stop['what'] for stop in stops]}"
        names = " ".join(stop["what"] for stop in stops)
        assert "Train" in names, step
        assert len(stops) > tops.count(True), f"{step}: {names}"
    # In one column the results stand before what they were started with, for the Tab key too.
    page.set_viewport_size({"width": 560, "height": 900})
    notebook.go_to("Train")
    # The page is laid out anew for the width.
    top = "document.querySelector('.wb-step-train .{}').getBoundingClientRect().top"
    page.wait_for_function(f"{top.format('wb-main')} < {top.format('wb-side')}")
    page.wait_for_timeout(500)
    notebook.button("Train").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('.wb-step-panel') !== null"):
            break
    assert page.evaluate("document.activeElement.closest('.wb-step-train .wb-main') !== null")


@pytest.mark.sweep
def test_a_run_is_read_aloud_by_its_beginning_and_end_alone(open_notebook: MakeNotebook) -> None:
    notebook = open_fake(open_notebook, step_ms=5)
    notebook.go_to("Train")
    notebook.set_number("Epochs", 2)
    notebook.page.evaluate(WATCH_REGIONS)
    notebook.button("Train").click()
    expect(notebook.status).to_contain_text("Trained", timeout=SLOW_MS)
    told = notebook.page.evaluate("window.told.filter((text) => text !== '')")
    # Of 88 steps none: what is done to start, that it trains, and what it came to.
    assert "Trained digits-mlp on fake" in told[-1], told
    assert not [text for text in told if "step 1" in text], told
    assert len(told) <= 8, told


@pytest.mark.sweep
def test_motion_is_reduced_for_those_who_ask_for_that(open_notebook: MakeNotebook) -> None:
    notebook = open_fake(open_notebook)
    page = notebook.page
    # What a later style might add; without the preference it moves.
    style = page.add_style_tag(
        content=".wb-page .wb-button { transition: all 9s; animation: none 9s; }"
    )
    moving = "getComputedStyle(document.querySelector('.wb-page .wb-button')).transitionDuration"
    assert page.evaluate(moving) == "9s"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(moving) == "0s"
    style.evaluate("node => node.remove()")  # other tests share the page


@pytest.mark.sweep
def test_plots_bars_and_icons_are_seen_in_forced_colours(open_notebook: MakeNotebook) -> None:
    """Backgrounds are replaced there, but not what a canvas is drawn in."""
    notebook = open_fake(open_notebook)
    page = notebook.page
    style = "name => getComputedStyle(document.querySelector(`.wb-page ${name}`))"
    page.emulate_media(forced_colors="active")
    kept = [
        page.evaluate(f"({style})('{name}').forcedColorAdjust")
        for name in (".wb-plot-frame", ".wb-button-mark")
    ]
    background = page.evaluate(f"({style})('.wb-plot-frame').backgroundColor")
    assert kept == ["none", "none"]
    assert background != "rgba(0, 0, 0, 0)", "that of the theme, not transparent"
    # What is pressed, disabled or chosen is told by more than the background that is replaced.
    code, tab = "[aria-pressed]", ".wb-rail [role=tab]"
    before = page.evaluate(f"({style})('{code}').backgroundColor")
    notebook.button("Code").click()
    expect(notebook.button("Code")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(f"({style})('{code}').backgroundColor") != before
    expect(notebook.button("Train")).to_be_enabled()
    assert page.evaluate(f"({style})('.wb-stop').color") != page.evaluate(
        f"({style})('.wb-train').color"
    )
    assert page.evaluate(
        f"({style})('{tab}[aria-selected=true]').borderBottomColor"
    ) != page.evaluate(f"({style})('{tab}[aria-selected=false]').borderBottomColor")
