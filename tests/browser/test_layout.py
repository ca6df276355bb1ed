"""Where things stand in the workbench page: on a projector, narrow, wide, and with larger type."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS
from tests.browser.test_workbench_page import open_fake
from tests.representative import WHOLE_TABLES

PROJECTOR = {"width": 853, "height": 480}
"""1280 x 720 at 150 %, in CSS pixels."""
WIDTHS = (400, 600, 853, 1300, 2200) if WHOLE_TABLES else (400, 853, 2200)
OVERFLOWING = """() => {
            const page = document.querySelector(".wb-page");
            const right = page.getBoundingClientRect().right + 1;
            return [...page.querySelectorAll("*")]
                .filter((one) => one.getClientRects().length > 0)
                .filter((one) => {
                    for (let at = one.parentElement; at !== page; at = at.parentElement)
                        if (getComputedStyle(at).overflowX !== "visible") return false;
                    return true;
                })
                .filter((one) => one.getBoundingClientRect().right > right
                    // A list of many runs, which other tests have left, scrolls.
                    || (getComputedStyle(one).overflowY === "auto" && !one.matches(".wb-run-grid")
                        && one.scrollHeight > one.clientHeight + 1))
                .map((one) => `${one.tagName}.${one.className}`);
        }"""
OVERLAPPING = """() => {
  const seen = '.wb-page :is(button, input, select, summary, h2, h3, .wb-status, canvas)';
  const boxes = [...document.querySelectorAll(seen)]
    .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    .map((one) => [one, one.getBoundingClientRect()])
    .filter(([, box]) => box.width > 2 && box.height > 2);
  const found = [];
  for (const [a, p] of boxes) for (const [b, q] of boxes) {
    if (a === b || a.contains(b) || b.contains(a)) continue;
    // What scrolls passes below the bar.
    if (!a.closest(".wb-top") !== !b.closest(".wb-top")) continue;
    if (a.closest(".wb-graph-surface") && b.closest(".wb-graph-surface")) continue;
    if (a.closest(".wb-plot") && b.closest(".wb-plot")) continue;
    if (a.closest('[role="grid"]') && b.closest('[role="grid"]')) continue;
    const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    const [over, under] = [a, b].map((one) => one.outerHTML.slice(0, 80));
    if (across > 2 && down > 2) found.push(`${over} over ${under}`);
  }
  return found;
}"""


def test_the_buttons_and_a_curve_are_seen_together_on_a_projector(
    open_notebook: MakeNotebook, page: Page
) -> None:
    page.set_viewport_size(PROJECTOR)
    notebook = open_fake(open_notebook, step_ms=10)
    notebook.button("Train").focus()
    page.keyboard.press("Enter")
    notebook.wait_for_step(3)
    expect(notebook.button("Train")).to_be_focused()
    # Without scrolling: the page goes to the step Train and begins at its top.
    expect(notebook.chart("Loss").locator("visible=true")).to_be_in_viewport(ratio=1)
    for name in ("Train", "Pause", "Stop"):
        expect(notebook.button(name)).to_be_in_viewport(ratio=1)
    # The buttons stay while the rest scrolls, and the status keeps its height.
    memory = notebook.chart("Memory").locator("visible=true")
    memory.evaluate("one => one.scrollIntoView({block: 'end'})")
    expect(notebook.button("Stop")).to_be_in_viewport(ratio=1)
    height = "document.querySelector('.wb-status').offsetHeight"
    running = page.evaluate(height)
    notebook.button("Stop").click()
    notebook.wait_for_end()
    assert page.evaluate(height) == running
    # A run that begins in the step that is shown is seen too.
    memory.evaluate("one => one.scrollIntoView({block: 'end'})")
    notebook.button("Train").click()
    expect(notebook.chart("Loss").locator("visible=true")).to_be_in_viewport(ratio=1)
    notebook.button("Stop").click()
    notebook.wait_for_end()
    # And of the recorded runs there is one in view.
    notebook.go_to("Runs")
    expect(page.locator(".wb-run-row").first).to_be_in_viewport(ratio=0.5)
    # Of a comparison its sentence, too.
    notebook.go_to("Compare")
    notebook.set_number("Steps to compare", 20)
    notebook.button("Compare").click()
    expect(notebook.status).to_contain_text("Compared fake", timeout=SLOW_MS)
    expect(notebook.chart("Loss").locator("visible=true")).to_be_in_viewport(ratio=1)
    expect(page.locator(".wb-verdict").locator("visible=true")).to_be_in_viewport(ratio=1)
    expect(notebook.button("Compare")).to_be_in_viewport(ratio=1)
    # Presented, all charts.
    notebook.button("Present").click()
    for name in ("Loss", "Throughput", "Memory"):
        expect(notebook.chart(name).locator("visible=true")).to_be_in_viewport(ratio=1)
    notebook.go_to("Train")
    for metric in ("loss", "throughput", "memory", "metric"):
        expect(page.locator(f".wb-panel-{metric} >> visible=true")).to_be_in_viewport(ratio=1)


def test_a_presentation_fills_the_window_until_escape_or_a_question(
    open_notebook: MakeNotebook, page: Page
) -> None:
    page.set_viewport_size(PROJECTOR)
    notebook = open_fake(open_notebook, step_ms=10)
    shown, present = page.locator(".wb-page"), notebook.button("Present")
    scroll = "document.querySelector('.jp-WindowedPanel-outer').scrollTop"
    before, place = page.evaluate(scroll), shown.bounding_box()
    cells = page.locator(".jp-CodeCell").count()
    assert place is not None
    assert place["width"] < PROJECTOR["width"]
    present.click()
    assert shown.bounding_box() == {"x": 0, "y": 0, **PROJECTOR}
    expect(present).to_be_focused()
    # The tabs, without a menu in their place, the charts and the buttons.
    notebook.go_to("Train")
    notebook.button("Train").click()
    notebook.wait_for_step(3)
    for metric in ("Loss", "Throughput"):
        expect(notebook.chart(metric).locator("visible=true")).to_be_in_viewport(ratio=1)
    for name in ("Train", "Pause", "Stop"):
        expect(notebook.button(name)).to_be_in_viewport(ratio=1)
    memory = notebook.chart("Memory").locator("visible=true")
    memory.evaluate("one => one.scrollIntoView({block: 'end'})")
    expect(notebook.button("Stop")).to_be_in_viewport(ratio=1)
    assert once_settled(page, OVERLAPPING) == []
    # A step of the page begins at its top, and keys do nothing to the notebook behind it.
    notebook.go_to("Model")
    expect(page.locator(".wb-step-model h2").first).to_be_in_viewport(ratio=1)
    page.mouse.click(PROJECTOR["width"] - 3, PROJECTOR["height"] - 3)
    page.keyboard.press("b")
    assert page.locator(".jp-CodeCell").count() == cells
    # A chart has Escape first, while it has a cursor.
    notebook.go_to("Train")
    notebook.chart("Loss").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Escape")
    expect(present).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(present).to_have_attribute("aria-pressed", "false")
    assert page.evaluate(scroll) == before
    notebook.button("Stop").click()
    notebook.wait_for_end()
    # What JupyterLab asks is not hidden behind the page.
    present.click()
    expect(present).to_have_attribute("aria-pressed", "true")
    page.evaluate("void window.jupyterapp.commands.execute('kernelmenu:restart')")
    page.get_by_role("button", name=re.compile("^Cancel")).click()
    expect(present).to_have_attribute("aria-pressed", "false")
    # A reload shows it as it was.
    present.click()
    page.wait_for_timeout(500)
    notebook.load()
    expect(present).to_have_attribute("aria-pressed", "true", timeout=SLOW_MS)
    expect(shown).to_have_css("position", "fixed")
    present.click()


def test_the_tab_key_goes_round_in_a_presentation(open_notebook: MakeNotebook, page: Page) -> None:
    """By way of the browser's own bar where that has a turn, and never to what is behind."""
    page.set_viewport_size(PROJECTOR)
    notebook = open_fake(open_notebook)
    notebook.button("Present").click()
    inside = """() => {
        const at = document.activeElement;
        return !document.hasFocus() || (at.closest(".wb-page") && !at.matches(".wb-page"));
    }"""
    for key in ("Tab", "Shift+Tab"):
        stops: set[str] = set()
        for _ in range(45):
            page.keyboard.press(key)
            page.wait_for_function(inside, timeout=SLOW_MS / 10)
            stops.add(page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))
        assert len(stops) > 10
    notebook.button("Present").click()


def once_settled(page: Page, script: str) -> list[object]:
    """Problems of the layout, after up to some seconds for a busy machine to finish it."""
    found: list[object] = page.evaluate(script)
    for _ in range(20):
        if not found:
            break
        page.wait_for_timeout(250)
        found = page.evaluate(script)
    return found


LONG_TEXTS = """
notes = ["a model of a long name", "generated", "needs data that fit", "recorded runs"]
for step, note in zip(page.bar.steps, notes):
    step["note"] = note
page.bar.send_state("steps")
page.bar.show_verdict("a model of a long name: ≈ 2.5 a run of a long name", "")
page.bar.title = "running: another model of a long name"
"""
"""Puts into the bar what comes and goes there, in the page of the cell before."""
BAR_WIDTHS = (800, 980, 1130, 1150, 1300, 1600)


def bar_heights(page: Page) -> dict[int, int]:
    """Of the bar with rail and title, by the width of the window."""
    heights = {}
    for width in BAR_WIDTHS:
        page.set_viewport_size({"width": width, "height": 1200})
        page.wait_for_timeout(100)
        bar = page.locator(".wb-app-bar")
        heights[width] = bar.evaluate("one => one.offsetHeight")
    return heights


def test_nothing_overflows_or_overlaps_at_any_width(
    open_notebook: MakeNotebook, page: Page
) -> None:
    notebook = open_fake(open_notebook, LONG_TEXTS)
    notebook.set_number("Steps to compare", 60)
    notebook.button("Compare").click()
    expect(notebook.status).to_contain_text("Compared fake", timeout=SLOW_MS)
    notebook.close_file_browser()
    heights = bar_heights(page)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1200})
        for step in ("Model", "Artifacts", "Train", "Compare", "Runs"):
            notebook.go_to(step)
            page.wait_for_timeout(300)
            overflowing = once_settled(page, OVERFLOWING)
            assert not overflowing, f"{width} pixels, {step}: {json.dumps(overflowing)}"
            overlapping = once_settled(page, OVERLAPPING)
            assert not overlapping, f"{width} pixels, {step}: {json.dumps(overlapping)}"
        # Every action on the runs, and the badges of the bar, whatever the width.
        expect(notebook.button("Delete")).to_be_in_viewport(ratio=1)
        expect(page.locator(".wb-verdict-badge")).to_be_in_viewport(ratio=1)
        if width <= 853:
            expect(page.locator(".wb-badge[data-machine]")).to_be_in_viewport(ratio=1)
        menu = page.get_by_label("Step", exact=True)
        if menu.is_visible():
            assert menu.evaluate("one => one.clientWidth") >= 80, "no step can be read in it"
        # Only where a page is narrow may one have to scroll a table sideways.
        scrolled = page.evaluate(
            """() => [...document.querySelectorAll(".wb-page .jupyter-widgets")]
                .filter((one) => one.scrollWidth > one.clientWidth)
                .map((one) => one.className)"""
        )
        assert width < 1300 or not scrolled, f"{width} pixels: {json.dumps(scrolled)}"
    page.set_viewport_size({"width": 1150, "height": 1200})
    verdict = page.locator(".wb-verdict-badge")
    expect(verdict).to_be_visible()
    assert verdict.evaluate("one => one.clientWidth") >= 100, "nothing of the verdict can be read"
    # Whatever is said in the bar, it does not move the page below it.
    notebook.run(1)
    expect(verdict).to_contain_text("≈")
    assert bar_heights(page) == heights
    assert not once_settled(page, OVERFLOWING)
    notebook.go_to("Compare")
    assert not once_settled(page, OVERLAPPING)
    # The font size that is set in JupyterLab is that of the page.
    assert type_size(page) == 13
    style = "document.documentElement.style"
    page.evaluate(f"{style}.setProperty('--jp-ui-font-size1', '17px')")
    try:
        assert type_size(page) == 17
        assert not once_settled(page, OVERFLOWING)
        assert not once_settled(page, OVERLAPPING)
    finally:
        page.evaluate(f"{style}.removeProperty('--jp-ui-font-size1')")


def type_size(page: Page) -> float:
    """Of the status, in CSS pixels."""
    message = page.locator(".wb-status-message")
    return float(message.evaluate("one => Number.parseFloat(getComputedStyle(one).fontSize)"))


CUT_NOTES = """() => [...document.querySelectorAll(".wb-rail .wb-step-note")]
  .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"""


def test_the_rail_says_in_full_what_a_new_page_needs(
    open_notebook: MakeNotebook, page: Page
) -> None:
    """Beside JupyterLab's file browser, as a notebook is opened first."""
    notebook = open_notebook("import workbench as wb\nwb.Workbench()")
    notebook.run(0)
    expect(notebook.status).to_contain_text("Choose a model", timeout=SLOW_MS)
    notebook.close_file_browser()
    page.set_viewport_size({"width": 1160, "height": 900})
    width = page.locator(".wb-page").evaluate("one => one.clientWidth")
    assert 960 <= width < 1000, "rail and title share a line, and there is little room"
    assert not page.evaluate(CUT_NOTES)
