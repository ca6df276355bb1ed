"""The charts and the view of a comparison in JupyterLab, used by mouse and keyboard."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import Notebook

TRIES = 20
"""Looks at what a page and its kernel tell each other, on a slow machine; the first suffices."""
STEPS = 6000
"""So many that the charts hold blocks of four steps, and ask for single ones when zoomed in."""

CHARTS_CELL = f"""
import numpy as np
from workbench.run_folder.run_reader import NewPoints
from workbench.widgets import Charts

def points(seconds, bad=()):
    step = np.arange(1, {STEPS} + 1)
    loss = 1 + 1 / step
    loss[list(bad)] = np.nan
    evaluations = [dict(event="evaluation", step={STEPS}, epoch=1, loss=0.5, accuracy=0.9)]
    each = np.full({STEPS}, seconds)
    return NewPoints(step, step * 0 + 1, loss, each, step * 0 + 32, step * 0 + 1e8, evaluations)

charts = Charts(show_values=True)
charts.reset(["pytorch", "ondevice"], {STEPS})
charts.add("pytorch", points(0.5, bad=[4000]))
charts.add("ondevice", points(0.5 / 300))
charts.flush()
charts
"""

COMPARISON_CELL = """
import os
os.environ["WORKBENCH_FAKE"] = "{}"
import workbench as wb
comparison = wb.compare("digits-mlp", engines=["fake"], steps=30, threads=1).wait()
other = wb.train("digits-mlp", engine="fake", steps=30, learning_rate=0.5).wait()
wb.ComparisonView(comparison, other.id)
"""


def plot_area(notebook: Notebook, name: str) -> dict[str, float]:
    """Where the lines of a chart are, in pixels of the page."""
    notebook.chart(name).scroll_into_view_if_needed()
    box = notebook.chart(name).locator(".u-over").bounding_box()
    assert box is not None
    return dict(box)


def window_of(
    notebook: Notebook, cell: int, holds: Callable[[list[float]], bool] = bool
) -> list[float]:
    """The window as Python has it, once it is as expected."""
    for _ in range(TRIES):
        notebook.page.wait_for_timeout(600)
        notebook.run(cell)
        text = notebook.output(cell).last.inner_text()
        window = [float(each) for each in re.findall(r"[\d.]+", text)]
        if holds(window):
            break
    return window


def darkest(page: Page, chart: str) -> Any:
    """The colours of a chart's canvas that are seen most, but for its background."""
    return page.evaluate(
        """name => {
            const canvas = document.querySelector(`.wb-panel-${name} canvas`);
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            const counts = new Map();
            for (let at = 0; at < data.length; at += 4) {
                if (data[at + 3] < 250) continue;
                const key = data.slice(at, at + 3).join();
                counts.set(key, (counts.get(key) ?? 0) + 1);
            }
            const often = [...counts.entries()].sort((a, b) => b[1] - a[1]);
            return often.slice(0, 8).map(([key]) => key);
        }""",
        chart,
    )


def drawn_in(page: Page, chart: str, colours: set[str]) -> bool:
    """Whether a chart comes to be drawn in one of these colours."""
    for _ in range(TRIES):
        if colours & set(darkest(page, chart)):
            return True
        page.wait_for_timeout(250)
    return False


def legend(page: Page, panel: str, name: str) -> Locator:
    return page.locator(f".wb-panel-{panel} .wb-legend").get_by_role("button", name=name)


@pytest.mark.sweep
def test_charts_are_zoomed_read_toggled_and_saved(  # noqa: PLR0915, one kernel for all of it
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_notebook(CHARTS_CELL, "print(charts.window)")
    notebook.run(0)
    page = notebook.page
    for name in ("Loss", "Throughput", "Memory", "Accuracy"):
        expect(notebook.chart(name)).to_be_visible()

    # Engines 300 times apart: the axis is logarithmic, and that is said.
    scale = page.get_by_role("button", name="Logarithmic scale of Throughput")
    expect(scale).to_have_text("log (auto)")
    expect(scale).to_have_accessible_description(re.compile("values differ 300 times"))
    expect(scale).to_have_attribute("aria-pressed", "true")
    scale.click()
    expect(scale).to_have_attribute("aria-pressed", "false")
    expect(scale).to_have_text("log")

    # A loss that was not finite is pointed at with its step.
    expect(page.locator(".wb-panel-loss")).to_contain_text("loss not finite at step 4,001")

    # One cursor for all charts, with the values at its step.
    area = plot_area(notebook, "Loss")
    page.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)
    read = re.compile(r"at step (2,9[89]|3,0[01])\d: pytorch 64\.0, ondevice 19,200")
    expect(notebook.chart("Throughput")).to_have_accessible_name(read)
    expect(page.locator(".wb-values-table")).to_contain_text("MBat the cursor")
    # As wide as in a page of 1,280 pixels: its columns fit, with nothing to scroll.
    charts = page.locator(".wb-charts")
    charts.evaluate("one => { one.style.width = '600px'; }")
    hidden = "one => one.scrollWidth - one.clientWidth"
    assert page.locator(".wb-values").evaluate(hidden) == 0
    charts.evaluate("one => { one.style.width = ''; }")
    area = plot_area(notebook, "Loss")
    page.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)
    lines = page.locator(".wb-panel:visible .u-cursor-x")
    places = {line.get_attribute("data-place") for line in lines.all()}
    assert len(places) == 1, "every chart says the step at the cursor"
    assert re.fullmatch(r"step (2,9[89]|3,0[01])\d", str(*places))

    # A drag zooms; then single steps come from the kernel.
    page.mouse.move(area["x"] + area["width"] * 0.50, area["y"] + 40)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] * 0.52, area["y"] + 60, steps=4)
    page.mouse.up()
    low, high = window_of(notebook, 1)
    assert 2900 < low < 3050
    assert 80 < high - low < 160
    # Also one that ends below the chart, on the labels of its axis.
    page.mouse.dblclick(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)
    page.mouse.move(area["x"] + area["width"] * 0.50, area["y"] + 40)
    page.mouse.down()
    below = area["y"] + area["height"] + 25
    page.mouse.move(area["x"] + area["width"] * 0.51, below, steps=4)
    page.mouse.move(area["x"] + area["width"] * 0.52, below, steps=4)
    page.mouse.up()
    low, high = window_of(notebook, 1)
    assert 2900 < low < 3050
    assert 80 < high - low < 160
    notebook.chart("Loss").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    spoken = page.locator(".wb-charts [aria-live=polite]")
    first = re.search(r"at step ([\d,]+)", spoken.inner_text())
    page.keyboard.press("ArrowRight")
    assert first is not None
    expect(spoken).to_have_text(re.compile(f"at step {int(first[1].replace(',', '')) + 1:,}:"))

    # The wheel zooms further where a chart has the focus; pages keys pan; 0 shows all again.
    area = plot_area(notebook, "Loss")
    page.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)
    page.mouse.wheel(0, -200)
    closer = window_of(notebook, 1, lambda now: now != [low, high])
    assert closer[1] - closer[0] < high - low
    expect(page.locator(".wb-save-range")).to_have_text("Visible range only")
    notebook.chart("Loss").focus()
    page.keyboard.press("PageDown")
    assert window_of(notebook, 1, lambda now: now != closer)[0] > closer[0]
    notebook.chart("Loss").focus()
    page.keyboard.press("0")
    assert window_of(notebook, 1, lambda now: not now) == []
    expect(page.locator(".wb-save-range")).to_be_empty()

    # A curve is hidden in every chart by its legend.
    legend(page, "memory", "ondevice").click()
    expect(legend(page, "loss", "ondevice")).to_have_attribute("aria-pressed", "false")
    expect(notebook.chart("Throughput")).to_have_accessible_name(re.compile(r": pytorch 64\.0$"))
    legend(page, "memory", "ondevice").click()

    # Axis and smoothing.
    page.get_by_label("Axis", exact=True).select_option("Time")
    expect(page.locator(".wb-values-table")).to_contain_text("50:00")
    page.get_by_label("Smoothing").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".wb-amount")).to_have_text("over about 2 steps")

    for kind, start in {"PNG": b"\x89PNG", "SVG": b"<?xml"}.items():
        assert saved(page, kind).read_bytes().startswith(start)
    with saved(page, "CSV").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * STEPS
    assert rows[0]["run"] == "pytorch"
    assert float(rows[1]["loss"]) == 1.5

    # Both themes: lines in the colours of that theme.
    assert drawn_in(page, "memory", {"194,65,12", "3,105,161"})
    notebook.use_theme("JupyterLab Dark")
    assert drawn_in(page, "memory", {"251,146,60", "56,189,248"})
    notebook.use_theme("JupyterLab Light")


def saved(page: Page, kind: str) -> Path:
    """Save what is shown by the menu; returns the file."""
    page.locator(".wb-save summary").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=kind, exact=True).click()
    assert download.value.suggested_filename.endswith(f".{kind.lower()}")
    return Path(download.value.path())


def test_a_comparison_with_a_run_of_another_day_is_understood_from_the_screen(
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_notebook(COMPARISON_CELL)
    notebook.run(0)
    page = notebook.page
    verdict = page.get_by_role("note")
    expect(verdict).to_contain_text("loss of the last batch, lowest first: ", ignore_case=True)
    expect(verdict).to_contain_text("Settings that differ: learning rate")
    expect(page.locator(".wb-bar")).to_have_count(2)
    expect(notebook.chart("Loss")).to_have_accessible_name(
        re.compile(r"at step 30: fake · lr 0\.\d+ .*, fake · lr 0\.\d+ ")
    )
    expect(page.locator(".wb-run-names")).to_contain_text(
        re.compile(r"^digits-mlp · fake · .*; (digits-mlp · )?fake")
    )
    differing = page.get_by_role("row").filter(
        has=page.get_by_role("rowheader", name="Learning rate")
    )
    expect(differing).to_contain_text("0.5")
    figures = page.get_by_role("table").filter(has_text="Peak memory")
    expect(figures.get_by_text("completed")).to_have_count(2)
    # Names of runs leave the bars least room; the figures are whole even then.
    notebook.close_file_browser()
    page.set_viewport_size({"width": 400, "height": 900})
    cut = page.locator(".wb-result-bars").evaluate(
        """one => [...one.querySelectorAll(".wb-bar-value")]
            .filter((value) => value.getBoundingClientRect().right
                > one.getBoundingClientRect().right)
            .map((value) => value.textContent)"""
    )
    assert cut == []
