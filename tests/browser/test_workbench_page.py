"""The workbench page in JupyterLab, used as a person uses it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bs4 import BeautifulSoup
from nbconvert import HTMLExporter
from playwright.sync_api import Page, expect

from tests.browser.accessibility import violations
from tests.browser.conftest import MODULE_LOADED_LATE, MakeNotebook, end_kernels
from tests.browser.notebook import SLOW_MS, Notebook

FAKE_CELL = """
import json, os
os.environ["WORKBENCH_FAKE"] = json.dumps({behaviour})
import workbench as wb
page = wb.Workbench({model}engines={engines})
page
"""
UNKNOWN_MODELS = {"digits-mpl": "Did you mean 'digits-mlp'", "nowhere.onnx": "nowhere.onnx"}


def fake_cell(model: str | None = "digits-mlp", **behaviour: Any) -> str:
    """A cell that shows the page with the fake engine alone, behaving as asked."""
    return FAKE_CELL.format(
        behaviour=repr(behaviour), model=f"{model!r}, " if model else "", engines=["fake"]
    )


def open_fake(open_notebook: MakeNotebook, *more_cells: str, **behaviour: Any) -> Notebook:
    notebook = open_notebook(fake_cell(**behaviour), *more_cells)
    notebook.run(0)
    expect(notebook.status).to_contain_text("digits-mlp is ready", timeout=SLOW_MS)
    return notebook


GIVE_UP_AT_ONCE = """() => {
  const timeout = AbortSignal.timeout;
  window.giveUpAsUsual = () => { AbortSignal.timeout = timeout; };
  AbortSignal.timeout = (ms) => {
    if (ms !== 2000) return timeout.call(AbortSignal, ms);
    const ended = new AbortController();
    queueMicrotask(() => ended.abort());
    return ended.signal;
  };
}"""
"""Makes anywidget give up every model at once, as it does those whose module takes 2 s to load."""


@pytest.mark.sweep
def test_each_step_is_found_by_its_roles_and_names(open_notebook: MakeNotebook) -> None:
    notebook = open_notebook("import workbench as wb\nwb.Workbench()")
    notebook.run(0)
    page = notebook.page
    expect(page.get_by_role("combobox", name="Model")).to_be_visible(timeout=SLOW_MS)
    app = page.locator(".wb-page")
    expect(app.get_by_role("tab", selected=True)).to_have_accessible_name(
        "Model, needs something: choose a model"
    )
    fields = {
        "Model": ("Model", "Example input", "Dataset"),
        "Artifacts": ("Loss function", "Optimizer", "Batch size"),
        "Train": ("Engines", "Epochs", "Batch size", "Learning rate"),
        "Compare": ("Engines", "Steps to compare", "Wait for idle machine (s)"),
        "Runs": (),
    }
    for step, labels in fields.items():
        notebook.go_to(step)
        expect(app.get_by_role("tabpanel").locator("visible=true")).to_have_accessible_name(
            re.compile(f"^{step}, ")
        )
        for label in labels:
            expect(notebook.field(label)).to_have_count(1)
        for name in ("Train", "Pause", "Step once", "Stop", "Compare"):
            # A step may have another of that name for what is chosen in it.
            expect(notebook.button(name).locator("visible=true").first).to_be_in_viewport()
    notebook.go_to("Train")
    for name in ("Loss", "Throughput", "Memory"):
        expect(notebook.chart(name).locator("visible=true")).to_have_count(1)
    expect(notebook.status).to_have_text("Choose a model to begin.")
    for name in ("pytorch", "ondevice", "ortmodule"):
        expect(notebook.engine(name)).to_have_count(1)


def test_a_page_whose_modules_were_loaded_late_shows_what_follows(
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_notebook(fake_cell(step_ms=5))
    page, given_up = notebook.page, list[str]()
    page.on("pageerror", lambda error: given_up.append(str(error)))
    page.evaluate(GIVE_UP_AT_ONCE)
    notebook.run(0)
    expect(notebook.status).to_contain_text("digits-mlp is ready", timeout=SLOW_MS)
    page.evaluate("window.giveUpAsUsual()")
    assert MODULE_LOADED_LATE in "".join(given_up)
    notebook.button("Train").click()
    notebook.wait_for_step(3)
    loss = notebook.chart("Loss").locator("visible=true")
    expect(loss).to_have_accessible_name(re.compile("at step .*: fake "))
    notebook.button("Stop").click()
    notebook.wait_for_end()
    expect(notebook.status).to_contain_text("Stopped digits-mlp on fake")


def test_a_kernel_restart_is_shown_and_disables_the_buttons(
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_fake(open_notebook, step_ms=10)
    notebook.button("Train").click()
    notebook.wait_for_step(3)
    page = notebook.page
    page.get_by_role("menuitem", name="Kernel").click()
    page.get_by_role("menuitem", name=re.compile("^Restart Kernel…")).click()
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(notebook.status).to_contain_text("the kernel that made this page was restarted")
    for name in ("Train", "Compare", "Stop"):
        expect(notebook.button(name)).to_be_disabled()
    hint = page.locator(".wb-step-train .wb-plot-hint").first
    expect(hint).to_have_css("visibility", "hidden")
    notebook.go_to("Runs")
    expect(page.locator(".wb-run-buttons")).to_have_css("opacity", "0.55")
    notebook.go_to("Model")  # what is shown can still be read
    notebook.wait_for_kernel()
    notebook.run(0)
    resume = page.get_by_role("button", name=re.compile("^Resume: digits-mlp on fake was interr"))
    expect(resume.first).to_be_visible(timeout=SLOW_MS)
    # An audience sees the chart in its place.
    notebook.button("Present").click()
    expect(resume.first).to_be_visible()
    notebook.go_to("Train")
    expect(resume.first).to_be_hidden()
    notebook.button("Present").click()
    resume.first.click()
    expect(notebook.status).to_contain_text("digits-mlp on fake", timeout=SLOW_MS)
    expect(notebook.button("Stop")).to_be_enabled(timeout=SLOW_MS)
    notebook.button("Stop").click()
    notebook.wait_for_end()
    # Of a kernel that is shut down the widget manager says nothing.
    page.get_by_role("menuitem", name="Kernel").click()
    page.get_by_role("menuitem", name="Shut Down Kernel", exact=True).click()
    expect(notebook.status).to_contain_text("shut down or has died")
    for name in ("Train", "Compare"):
        expect(notebook.button(name)).to_be_disabled()
    notebook.go_to("Train")
    expect(page.locator(".wb-step-train .wb-side")).to_have_js_property("inert", True)


def test_by_mouse_alone_from_the_notebook_to_a_comparison(open_notebook: MakeNotebook) -> None:
    notebook = open_notebook(fake_cell(model=None, step_ms=1))
    notebook.run(0)
    page = notebook.page
    notebook.choose_model("digits-mlp")
    expect(page.get_by_role("cell", name="17,226").first).to_be_visible()
    notebook.go_to("Train")
    # What the sample says suits it.
    expect(notebook.field("Epochs")).not_to_have_value("1")
    notebook.set_number("Epochs", 2)
    notebook.button("Train").click()
    expect(notebook.status).to_contain_text("Trained digits-mlp on fake", timeout=SLOW_MS)
    expect(notebook.chart("Loss")).to_have_accessible_name(re.compile(r"at step 88: fake \d"))
    # The accuracy's chart has taken room from the others, whose plots have shrunk with them.
    page.wait_for_function(
        "() => [...document.querySelectorAll('.wb-plot')]"
        ".every((one) => one.scrollWidth <= one.clientWidth + 1)"
    )
    worst = page.get_by_role("list", name="Worst predictions of fake")
    expect(worst.get_by_role("listitem")).to_have_count(12)
    expect(worst.get_by_role("img", name=re.compile("^Row ")).first).to_be_visible()
    notebook.set_number("Steps to compare", 60)
    notebook.button("Compare").click()
    expect(notebook.status).to_contain_text("Compared fake", timeout=SLOW_MS)
    table = page.get_by_role("table").filter(has_text="Peak memory")
    # In a page of this width engines are columns.
    expect(table.get_by_role("columnheader", name="fake")).to_be_visible()
    status = table.get_by_role("row").filter(has_text="Status")
    expect(status.get_by_role("cell")).to_have_text("completed")


@pytest.mark.sweep
def test_stop_while_training_and_while_another_cell_is_busy(open_notebook: MakeNotebook) -> None:
    notebook = open_fake(open_notebook, "import time; time.sleep(120)", "1 + 1", step_ms=20)
    notebook.button("Train").click()
    notebook.wait_for_step(3)
    # Training leaves the kernel free for other cells,
    notebook.run(2)
    expect(notebook.output(2)).to_have_text("2")
    # and a busy kernel leaves the page free.
    notebook.start(1)
    at_click = notebook.wait_for_step(6)
    notebook.button("Stop").click()
    expect(notebook.status).to_contain_text("Stopped digits-mlp on fake at step")
    expect(notebook.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")
    stopped = re.search(r"at step (\d+) of", notebook.status.inner_text())
    assert stopped is not None
    assert int(stopped[1]) >= at_click
    expect(notebook.button("Stop")).to_be_disabled()
    expect(notebook.button("Train")).to_be_enabled()


@pytest.mark.sweep  # tests/compare does so without a page
def test_stop_while_a_comparison_waits_for_an_idle_machine_shows_the_engines_not_started(
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_fake(open_notebook)
    notebook.set_number("Wait for idle machine (s)", 3600)
    notebook.button("Compare").click()
    expect(notebook.status).to_contain_text("waiting for a quiet machine")
    notebook.button("Stop").click()
    expect(notebook.status).to_contain_text("Stopped before any engine had started.")
    table = notebook.page.get_by_role("table").filter(has_text="Peak memory")
    expect(table.get_by_text("not started")).to_be_visible()


@pytest.mark.sweep
def test_pause_stops_the_steps_and_resume_continues_them(open_notebook: MakeNotebook) -> None:
    notebook = open_fake(open_notebook, step_ms=10)
    expect(notebook.button("Pause")).to_be_disabled()
    notebook.button("Train").click()
    notebook.wait_for_step(3)
    others = [notebook.button("Compare"), notebook.button("Train")]
    places = [button.bounding_box() for button in others]
    notebook.button("Pause").click()
    expect(notebook.status).to_contain_text("Paused")
    expect(notebook.button("Resume")).to_be_visible()
    assert [button.bounding_box() for button in others] == places
    # The page looks four times a second: the last steps before the pause may come a look later.
    notebook.page.wait_for_timeout(1000)
    held = notebook.step.inner_text()
    notebook.page.wait_for_timeout(1000)
    assert notebook.step.inner_text() == held
    notebook.button("Resume").click()
    expect(notebook.status).to_contain_text("Training digits-mlp on fake.")
    notebook.wait_for_step(int(held.split()[1]) + 5)
    notebook.button("Stop").click()
    notebook.wait_for_end()


def test_a_reload_shows_the_run_again_still_going(open_notebook: MakeNotebook) -> None:
    """In the larger type that was chosen before."""
    notebook = open_fake(open_notebook, step_ms=25)
    line = "document.querySelector('.wb-status-message')?.getBoundingClientRect().height"
    height = notebook.page.evaluate(line)
    present = notebook.button("Present")
    present.click()
    expect(present).to_have_attribute("aria-pressed", "true")
    assert notebook.page.evaluate(line) > 1.2 * height
    notebook.set_number("Epochs", 1000)
    notebook.button("Train").click()
    before = notebook.wait_for_step(20)
    notebook.load()
    expect(notebook.button("Stop")).to_be_enabled(timeout=SLOW_MS)
    expect(present).to_have_attribute("aria-pressed", "true", timeout=SLOW_MS)
    notebook.page.wait_for_function(f"before => {line} > 1.2 * before", arg=height)
    after = notebook.wait_for_step(before)
    notebook.wait_for_step(after + 20)
    # The points from before the reload are there too.
    notebook.chart("Loss").focus()
    notebook.page.keyboard.press("Home")
    expect(notebook.chart("Loss")).to_have_accessible_name(re.compile("at step 1: fake 2"))
    notebook.button("Stop").click()
    expect(notebook.status).to_contain_text("Stopped", timeout=SLOW_MS)
    # The larger charts are sharp, and look at what is under the pointer.
    over = notebook.chart("Loss").locator(".u-over")
    over.hover(position={"x": 120, "y": 50})
    place = "(one, left) => one.querySelector('.u-cursor-x').getBoundingClientRect().right - left"
    left = over.evaluate("one => one.getBoundingClientRect().left")
    assert abs(over.evaluate(place, left) - 120) <= 2
    sharpness = "one => one.width / one.getBoundingClientRect().width"
    assert abs(notebook.chart("Loss").locator("canvas").evaluate(sharpness) - 1) < 0.01
    # JupyterLab has forgotten where the figure belongs, and yet it gets there.
    while not any("image/png" in each.get("data", {}) for each in notebook.saved_outputs(0)):
        notebook.page.wait_for_timeout(200)


@pytest.mark.sweep
def test_a_reader_without_a_kernel_sees_the_figure_and_a_table(
    open_notebook: MakeNotebook, page: Page, lab_url: str
) -> None:
    alone = ("GraphView", "ComparisonView", "RunBrowser")
    notebook = open_fake(open_notebook, *(f"wb.{name}()" for name in alone))
    for index in range(1, len(alone) + 1):
        notebook.run(index)
    notebook.set_number("Epochs", 1)
    notebook.button("Train").click()
    expect(notebook.status).to_contain_text("Trained", timeout=SLOW_MS)
    picture = notebook.cell(0).locator(".wb-static-picture")
    # Beside the live page the same figure would only take room.
    expect(picture).to_be_hidden()
    table = notebook.cell(0).locator(".wb-static-table")
    expect(table).to_be_hidden()
    while not any("image/png" in each.get("data", {}) for each in notebook.saved_outputs(0)):
        page.wait_for_timeout(200)  # the notebook is saved once more when the figure is there
    end_kernels(page, lab_url)
    notebook.load()
    expect(picture).to_be_visible(timeout=SLOW_MS)
    expect(table.get_by_role("rowheader", name="fake")).to_be_visible()
    expect(notebook.cell(0).get_by_text("Last saved result")).to_be_visible()
    # In place of the page stands a sentence, no error.
    expect(notebook.cell(0)).to_contain_text("Run this cell to open the workbench", timeout=SLOW_MS)
    expect(notebook.cell(0)).not_to_contain_text("Error displaying widget")
    for index in range(1, len(alone) + 1):
        expect(notebook.cell(index)).to_contain_text("Run this cell to open this view")

    # Who does not see the picture is told the same, in the notebook and in what nbconvert makes.
    said = re.compile("^Trained digits-mlp on fake: ")
    expect(picture).to_have_attribute("alt", said)
    expect(table.locator("caption")).to_have_text(said)
    assert not violations(page, within=".jp-OutputArea")
    for template in ("lab", "classic"):
        html, _ = HTMLExporter(template_name=template).from_filename(str(notebook.path))
        shown = BeautifulSoup(html, "html.parser")
        [converted] = shown.select("img.wb-static-picture")
        assert said.match(str(converted["alt"]))
        assert str(converted["src"]).startswith("data:image/png;base64,")
        [caption] = shown.select("table.wb-static-table caption")
        assert said.match(caption.text)
    # What shows no HTML, as LaTeX, has the picture itself.
    assert any("image/png" in each.get("data", {}) for each in notebook.saved_outputs(0))


def test_a_model_that_cannot_be_loaded_is_a_sentence(open_notebook: MakeNotebook) -> None:
    notebook = open_notebook(fake_cell(model=None))
    notebook.run(0)
    expect(notebook.button("Train")).to_be_disabled()
    expect(notebook.button("Train")).to_have_attribute("title", "Choose a model first.")
    for model, sentence in UNKNOWN_MODELS.items():
        notebook.field("Model").fill(model)
        notebook.field("Model").press("Enter")
        expect(notebook.status).to_contain_text(sentence)
        expect(notebook.status).not_to_contain_text("Traceback")
        for name in ("Train", "Compare"):
            expect(notebook.button(name)).to_be_disabled()
            expect(notebook.button(name)).to_have_attribute("title", re.compile(sentence))


@pytest.mark.sweep  # tests/widgets
def test_wrong_settings_and_failed_runs_are_sentences(open_notebook: MakeNotebook) -> None:
    notebook = open_fake(open_notebook, raise_at=4)
    notebook.set_number("Epochs", -1)
    notebook.set_number("Batch size", 0)
    notebook.button("Train").click()
    at_fields = notebook.page.get_by_text("Must be 1 or more.", exact=True)
    expect(at_fields.locator("visible=true")).to_have_count(2)
    for step, wrong in (("Train", "2 wrong settings"), ("Compare", "1 wrong setting")):
        tab = notebook.page.get_by_role("tab", name=re.compile(f"^{step}, .*{wrong}"))
        expect(tab).to_have_count(1)
    expect(notebook.status).to_contain_text(
        "2 settings are wrong: Epochs, Batch size (in Train). Each field says why."
    )
    expect(notebook.button("Train")).to_be_enabled()
    notebook.set_number("Epochs", 1)
    notebook.set_number("Batch size", 32)
    notebook.button("Train").click()
    expect(notebook.status).to_contain_text("asked to raise at step 4", timeout=SLOW_MS)
    expect(notebook.status).to_contain_text("worker.log")
    expect(notebook.status).not_to_contain_text("Traceback")
    notebook.wait_for_end()


def test_charts_work_from_the_keyboard_as_tables_and_in_two_views(
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_fake(open_notebook, "page")
    notebook.set_number("Epochs", 1)
    notebook.button("Train").click()
    expect(notebook.status).to_contain_text("Trained", timeout=SLOW_MS)
    page = notebook.page
    notebook.chart("Throughput").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    spoken = page.locator(".wb-charts [aria-live=polite]").first
    expect(spoken).to_have_text(re.compile(r"Throughput in samples per second at step 12: fake \d"))
    # One cursor for all charts.
    expect(notebook.chart("Memory")).to_have_accessible_name(re.compile("at step 12:"))
    page.keyboard.press("Escape")
    expect(notebook.chart("Memory")).to_have_accessible_name(re.compile("at step 44:"))
    page.get_by_role("button", name="Show as table").click()
    table = page.get_by_role("table", name=re.compile("^Loss per batch"))
    expect(table.get_by_role("row")).to_have_count(13)
    expect(table.get_by_role("rowheader", name="44", exact=True)).to_be_visible()
    expect(notebook.chart("Loss")).to_be_hidden()
    # What is done in a second view is seen in the first, which keeps its own step.
    notebook.run(1)
    first, second = notebook.cell(0), notebook.cell(1)
    epochs = second.get_by_label("Epochs", exact=True)
    epochs.fill("2")
    epochs.press("Tab")
    expect(first.get_by_label("Epochs", exact=True)).to_have_value("2")
    second.get_by_role("tab", name=re.compile("^Runs")).click()
    expect(first.get_by_role("tab", selected=True)).to_have_accessible_name(re.compile("^Train"))
    second.get_by_role("button", name=re.compile("^Train on")).click()
    expect(first.locator(".wb-status-message")).to_contain_text("88 steps", timeout=SLOW_MS)
    loss = first.get_by_role("table", name=re.compile("^Loss per batch"))
    expect(loss.get_by_role("rowheader", name="88", exact=True)).to_be_visible()


def lightness(page: Page, script: str) -> float:
    """Mean of red, green and blue, 0 to 255, of the colour that `script` gives."""
    colour = page.evaluate(script)
    parts = [float(part) for part in re.findall(r"[\d.]+", colour)[:3]]
    return sum(parts) / 3


INK = """cell => {
    const cells = document.querySelectorAll('.jp-Notebook .jp-CodeCell');
    const canvas = cells[cell].querySelector('.wb-panel-loss canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    // All opaque pixels: text and lines against nothing.
    let sum = 0, count = 0;
    for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] < 200) continue;
        sum += data[at] + data[at + 1] + data[at + 2];
        count += 3;
    }
    return sum / count;
}"""
"""Lightness of what is drawn in the chart of the loss of a cell, 0 to 255."""

SWITCH_WHEN_BUILT = """theme => {
    const cell = document.querySelectorAll('.jp-Notebook .jp-CodeCell')[1];
    new MutationObserver((_, observer) => {
        if (cell.querySelector('.wb-panel-loss') === null) return;
        observer.disconnect();
        window.jupyterapp.commands.execute('apputils:change-theme', { theme });
    }).observe(cell, { childList: true, subtree: true });
}"""
"""Switches JupyterLab's theme as soon as the second cell shows a chart, before it is drawn."""


@pytest.mark.sweep
def test_inserted_code_is_the_cell_that_shift_enter_runs(open_notebook: MakeNotebook) -> None:
    notebook = open_notebook("import workbench as wb\nwb.Workbench()", "after = 1")
    notebook.run(0)
    page = notebook.page
    notebook.button("Code").click()
    notebook.button("Insert as cell below").click()
    inserted = notebook.cell(1)
    expect(inserted.locator("[contenteditable]")).to_be_focused(timeout=SLOW_MS)
    page.keyboard.press("Shift+Enter")
    expect(inserted.locator(".jp-InputPrompt")).to_have_text(
        re.compile(r"\[\d+\]"), timeout=SLOW_MS
    )
    expect(notebook.cell(2)).to_contain_text("after = 1")
    expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(3)
    notebook.button("Insert as cell below").click()
    below = notebook.cell(2).locator("[contenteditable]")
    expect(below).to_be_focused(timeout=SLOW_MS)
    expect(notebook.cell(3)).to_contain_text("after = 1")


def test_the_theme_is_followed_live(open_notebook: MakeNotebook) -> None:
    notebook = open_fake(open_notebook, "page")
    notebook.set_number("Epochs", 1)
    notebook.button("Train").click()
    expect(notebook.status).to_contain_text("Trained", timeout=SLOW_MS)
    page = notebook.page
    text = "getComputedStyle(document.querySelector('.wb-status-message')).color"
    light = (lightness(page, text), page.evaluate(INK, 0))
    notebook.use_theme("JupyterLab Dark")
    page.wait_for_function(f"least => ({INK})(0) > least", arg=light[1] + 20, timeout=SLOW_MS)
    dark = (lightness(page, text), page.evaluate(INK, 0))
    assert light[0] < 100 < dark[0], f"text: light theme {light[0]}, dark theme {dark[0]}"
    # While a second view is being built.
    page.evaluate(SWITCH_WHEN_BUILT, "JupyterLab Light")
    notebook.run(1)
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'true'")
    second = notebook.cell(1).get_by_role("img", name=re.compile("^Loss"))
    expect(second).to_be_visible()
    page.wait_for_timeout(1000)  # what is drawn late would be drawn in the other colours
    most = (light[1] + dark[1]) / 2
    page.wait_for_function(
        f"most => [0, 1].every(cell => ({INK})(cell) < most)", arg=most, timeout=SLOW_MS
    )
    # What is done in one view is seen in the other.
    first, last = notebook.cell(0), notebook.cell(1)
    last.get_by_label("Epochs", exact=True).fill("3")
    last.get_by_role("button", name=re.compile("^Train on")).click()
    expect(first.get_by_label("Epochs", exact=True)).to_have_value("3")
    expect(first.locator(".wb-status-message")).to_contain_text("132 steps", timeout=SLOW_MS)
