"""The pads of drawings and of texts in JupyterLab, used by mouse and by keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import violations
from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS
from tests.personalisation.recorded import SYMBOLS, Drawing, drawings
from tests.plain_onnxruntime.environment import plain_onnxruntime
from workbench.data.strokes import rasterise

APP_CELL = """
import workbench as wb
wb.Workbench("sketch-cnn", engines=["ondevice"], saves_notebook=False)
"""
SKETCH_CELL = f"""
import workbench as wb
pad = wb.SketchPad({list(SYMBOLS)})
pad
"""

TEXT_CELL = """
import workbench as wb
wb.Workbench("text-gpt", engines=["ondevice"], saves_notebook=False)
"""
SENTENCE = "The rain it raineth every day upon the just and also on the unjust fella. "
PROMPT = "The rain "


def draw(page: Page, area: Locator, strokes: Sequence[Sequence[Sequence[float]]]) -> None:
    """Draw with the mouse, with every fourth point of the strokes."""
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    for stroke in strokes:
        kept = [*stroke[:-1:4], stroke[-1]]
        places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in kept]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place)
        page.mouse.up()


def of_each(hand: int, count: int) -> list[Drawing]:
    """The first `count` drawings of each symbol."""
    every = drawings(hand)
    return [
        one
        for symbol in SYMBOLS
        for one in [each for each in every if each.symbol == symbol][:count]
    ]


def choose_class(pad: Locator, name: str) -> None:
    pad.get_by_role("radio", name=re.compile(f"^{name}")).check()


@pytest.mark.sweep
def test_five_drawings_of_three_symbols_are_trained_tried_and_exported(
    open_notebook: MakeNotebook, tmp_path: Path
) -> None:
    """In the app. The exported model recognises a new drawing in the onnxruntime of today."""
    notebook = open_notebook(APP_CELL, "2 + 2")
    notebook.run(0)
    notebook.go_to("Train")
    page = notebook.page
    page.locator("summary", has_text="Your own examples").press("Enter")
    pad = page.locator(".wb-own-examples .wb-pad")
    area = pad.get_by_role("application", name="Drawing", exact=True)
    classes = dict(zip(SYMBOLS, "ABC", strict=True))
    for drawing in of_each(hand=1, count=5):
        choose_class(pad, classes[drawing.symbol])
        draw(page, area, drawing.strokes)
        pad.get_by_role("button", name=f"Add to {classes[drawing.symbol]}").click()
    for name in classes.values():
        expect(pad.get_by_role("button", name=f"drawing 5 of {name}")).to_be_visible()
    pad.get_by_role("button", name="Fine-tune on examples").click()
    expect(pad.get_by_role("button", name="Stop")).to_be_enabled()
    # The kernel is free for other cells while it trains.
    notebook.run(1)
    expect(notebook.output(1)).to_have_text("4")
    results = pad.get_by_role("region", name="Evaluation on held-out drawings")
    expect(results).to_be_visible(timeout=SLOW_MS)
    before, after = results.get_by_role("figure").all()
    expect(before).to_contain_text("0 of 6 recognised")
    expect(after).to_contain_text("6 of 6 recognised")
    expect(after.get_by_role("columnheader")).to_have_text([*classes.values()])
    expect(after.get_by_role("row", name="B 0 2 0", exact=True)).to_be_visible()

    new = of_each(hand=1, count=6)[5]
    draw(page, pad.get_by_role("application", name="Drawing to recognise"), new.strokes)
    trial = pad.get_by_role("region", name="Try it")
    expect(trial.locator(".wb-verdict")).to_have_text(classes[new.symbol])
    expect(trial.get_by_role("meter")).to_have_count(3)
    expect(trial.get_by_text(re.compile(f"^Recognised as {classes[new.symbol]}"))).to_be_attached()
    path = tmp_path / "symbols.onnx"
    pad.get_by_label("Export the model to").fill(str(path))
    pad.get_by_role("button", name="Export", exact=True).click()
    expect(pad.get_by_text(f"Exported to {path}")).to_be_visible()
    assert not violations(page), "with a pad in the page"
    # And once more from the run that this was.
    notebook.go_to("Runs")
    page.locator(".wb-run-row", has_text="sketch-cnn").click()
    page.get_by_role("button", name="Personalise").click()
    weights = page.locator(".wb-own-examples").get_by_label("Initial weights")
    expect(weights).to_have_value(re.compile("-sketch-cnn-ondevice$"))
    expect(weights).to_be_in_viewport()
    image = rasterise(new.strokes)[np.newaxis, np.newaxis]
    (logits,) = plain_onnxruntime().run(path, {"image": image}, tmp_path).values()
    assert logits[0].argmax() == 24 + SYMBOLS.index(new.symbol)


def test_drawing_classes_and_gallery_by_the_keyboard_alone(open_notebook: MakeNotebook) -> None:
    notebook = open_notebook(SKETCH_CELL)
    notebook.run(0)
    page = notebook.page
    area = page.get_by_role("application", name="Drawing", exact=True)
    area.focus()
    for key in ("2", " ", *("Shift+ArrowRight", "ArrowDown") * 2, " ", "Enter"):
        page.keyboard.press(key)
    thumbnail = page.get_by_role("button", name="drawing 1 of key")
    expect(thumbnail).to_be_visible()
    shape = thumbnail.locator("canvas").bounding_box()
    assert shape is not None
    assert shape["width"] == shape["height"], "a drawing is square"
    # Nothing is left to add, and the keys did nothing to the notebook's cells.
    expect(page.get_by_role("button", name="Add to key")).to_be_disabled()
    expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(2)
    thumbnail.press("Enter")
    page.get_by_role("combobox", name="Class", exact=True).select_option("cup")
    moved = page.get_by_role("button", name="drawing 1 of cup")
    expect(moved).to_be_focused()
    moved.press("Delete")
    expect(moved).to_have_count(0)
    page.get_by_role("button", name="Undo", exact=True).press("Enter")
    expect(moved).to_be_visible()

    page.get_by_text("Edit classes").press("Enter")
    page.get_by_label("New class").fill("boat")
    page.get_by_label("New class").press("Enter")
    expect(page.get_by_role("radio", name=re.compile("^boat"))).to_be_checked()
    page.get_by_label("Name of the chosen class").fill("ship")
    page.get_by_label("Name of the chosen class").press("Enter")
    expect(page.get_by_role("radio", name=re.compile("^ship"))).to_be_checked()
    page.get_by_label("New class").fill("ship")
    page.get_by_label("New class").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("There is a class 'ship' already")
    # What is too little to train with is said beside the button.
    page.get_by_role("button", name="Fine-tune on examples").press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("needs examples of two labels")


@pytest.mark.sweep  # the notebook 02 trains one
def test_a_text_of_ones_own_is_typed_trained_continued_and_exported(
    open_notebook: MakeNotebook, tmp_path: Path
) -> None:
    """In the app."""
    notebook = open_notebook(TEXT_CELL)
    notebook.run(0)
    notebook.go_to("Train")
    page = notebook.page
    page.locator("summary", has_text="Your own examples").press("Enter")
    section = page.locator(".wb-own-examples")
    section.get_by_label("Steps", exact=True).fill("60")
    pad = section.locator(".wb-pad")
    train = pad.get_by_role("button", name="Fine-tune on text")
    text = pad.get_by_label("Your own text")
    text.press_sequentially("Too short.")
    expect(pad.get_by_text("10 of at most 100,000 characters")).to_be_visible()
    train.click()
    expect(pad.get_by_role("status").first).to_contain_text("Add text")
    # What is typed need not wait for the pause after which it is sent.
    text.fill(10 * SENTENCE)
    pad.get_by_label("Prompt, to be continued").fill(PROMPT)
    train.click()
    region = pad.get_by_role("region", name="Continuations")
    expect(region).to_be_visible(timeout=SLOW_MS)
    before, after = region.get_by_role("figure").all()
    expect(after).to_contain_text("After")
    expect(after.locator("strong")).to_have_text(PROMPT)
    assert perplexity(after) < 0.7 * perplexity(before)
    assert before.locator("pre").inner_text() != after.locator("pre").inner_text()

    prompt = pad.get_by_label("Prompt, to be continued")
    prompt.fill("upon the ")
    prompt.press("Enter")
    for figure in (before, after):
        expect(figure.locator("strong")).to_have_text("upon the ")
    path = tmp_path / "text.onnx"
    pad.get_by_label("Export the model to").fill(str(path))
    pad.get_by_role("button", name="Export", exact=True).click()
    expect(pad.get_by_text(f"Exported to {path}")).to_be_visible()
    assert path.stat().st_size > 100_000


def perplexity(figure: Locator) -> float:
    found = re.search(r"perplexity ([\d.]+)", figure.inner_text())
    assert found is not None
    return float(found[1])


@pytest.mark.sweep
def test_examples_leave_and_enter_as_a_file(open_notebook: MakeNotebook, tmp_path: Path) -> None:
    notebook = open_notebook(SKETCH_CELL, "pad.add([[(0, 0), (1, 1)]], 'cup');")
    notebook.run(0)
    notebook.run(1)
    page = notebook.page
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as file").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "image-examples.npz"
    page.get_by_label("File with examples").set_input_files(path)
    expect(page.get_by_role("button", name="drawing 2 of cup")).to_be_visible()
    torn = tmp_path / "torn.npz"
    torn.write_bytes(path.read_bytes()[:90])
    page.get_by_label("File with examples").set_input_files(torn)
    expect(page.get_by_role("alert")).to_contain_text("torn.npz")
