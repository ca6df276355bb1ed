"""The view of graphs in JupyterLab, used as a person uses it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Download, Locator, Page, expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS, Notebook

ARTIFACTS = """
import torch
import workbench as wb
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3))
model = wb.load_model(net, example_inputs=(torch.randn(4, 6),))
arts = wb.generate_artifacts(model, loss="cross_entropy", directory="net-artifacts")
view = wb.GraphView(arts)
view
"""


def surface(page: Page, graph: str) -> Locator:
    """The surface of one graph, by its name."""
    return page.get_by_role("application", name=re.compile(f"{graph} graph"))


def left_of(shown: Locator) -> float:
    return float(shown.evaluate("one => one.getBoundingClientRect().left"))


def right_of(shown: Locator) -> float:
    return float(shown.evaluate("one => one.getBoundingClientRect().right"))


def said(page: Page) -> Locator:
    """The selection as the view announces it to screen readers."""
    return page.locator(".wb-graph-said")


def saved(page: Page, button: str) -> str:
    with page.expect_download() as waited:
        page.get_by_role("button", name=button, exact=True).click()
    download: Download = waited.value
    return Path(download.path()).read_text(encoding="utf-8")


def open_view(open_notebook: MakeNotebook, *more: str) -> Notebook:
    notebook = open_notebook(ARTIFACTS, *more)
    notebook.run(0)
    expect(surface(notebook.page, "forward")).to_be_visible(timeout=SLOW_MS)
    expect(surface(notebook.page, "training")).to_be_visible()
    return notebook


def test_a_graph_is_walked_searched_and_saved(  # noqa: PLR0915, one kernel for all of it
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_view(
        open_notebook,
        "print(view.selected_graph, view.details(view.selected_node)['op'], sorted(view.opened))",
        "view.select('0.weight_grad', graph='training')",
    )
    page = notebook.page

    # Side by side, in a narrow page too, walked along the edges by the arrow keys.
    forward, training = surface(page, "forward"), surface(page, "training")
    size = page.viewport_size
    assert size is not None
    for width in (900, size["width"]):
        page.set_viewport_size({**size, "width": width})
        assert right_of(forward) <= left_of(training), f"{width} pixels"
    forward.focus()
    forward.press("ArrowDown")
    expect(said(page)).to_contain_text("Input")
    forward.press("ArrowDown")
    expect(said(page)).to_contain_text("Gemm")
    details = page.get_by_role("region", name="Details")
    expect(details).to_contain_text("0.weight")
    expect(details).to_contain_text("float32, 8 × 6")  # noqa: RUF001
    expect(details).to_contain_text("Std")
    expect(details.get_by_role("img", name=re.compile("Histogram of 48 values"))).to_be_visible()
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("forward Gemm ['forward', 'training']")

    # Searched by operator and by shape, from the keyboard.
    forward.focus()
    forward.press("/")
    search = page.get_by_role("searchbox", name="Search")
    expect(search).to_be_focused()
    search.fill("batchnormalizationgrad")
    expect(page.locator(".wb-graph-count")).to_have_text("1 match")
    search.press("Enter")
    expect(said(page)).to_contain_text("added by the gradient")
    search.fill("8 x 6")
    expect(page.locator(".wb-graph-count")).to_contain_text(re.compile(r"\d+ matches"))
    search.press("Escape")

    # The same as text: groups close and open by the keyboard.
    page.get_by_text("Outline", exact=True).click()
    tree = page.get_by_role("tree", name=re.compile("training graph"))
    backward = tree.get_by_role("treeitem", name=re.compile("backward"))
    expect(backward).to_have_attribute("aria-expanded", "true")
    backward.click()
    backward.press("ArrowLeft")
    expect(backward).to_have_attribute("aria-expanded", "false")
    expect(said(page)).to_contain_text("closed")
    training = surface(page, "training")
    training.focus()
    training.press("Enter")
    expect(backward).to_have_attribute("aria-expanded", "true")
    expect(said(page)).to_contain_text("open")

    # A node chosen in Python is shown.
    notebook.run(2)
    expect(said(page)).to_contain_text("added by the gradient")

    # Saved as SVG and for Model Explorer.
    assert saved(page, "Save the graph as SVG").startswith("<svg ")
    collection: dict[str, Any] = json.loads(saved(page, "Save for Model Explorer"))
    assert [graph["id"] for graph in collection["graphs"]] == ["forward", "training"]

    # One graph alone, and another.
    page.get_by_role("button", name="forward", exact=True).click()
    expect(surface(page, "forward")).to_have_count(0)
    page.get_by_role("button", name="eval", exact=True).click()
    expect(surface(page, "eval")).to_be_visible()

    check_dark_theme(notebook)
    check_without_kernel(page)


def check_dark_theme(notebook: Notebook) -> None:
    """Text and frames are light."""
    page = notebook.page
    notebook.use_theme("JupyterLab Dark")
    expect(surface(page, "eval")).to_be_visible()
    ink = page.locator(".wb-graph-surface > canvas").first.evaluate(
        """canvas => {
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            let light = 0;
            for (let i = 0; i < data.length; i += 4) {
                if (data[i + 3] > 200 && data[i] > 200) light++;
            }
            return light;
        }"""
    )
    assert ink > 100, "text and frames are light in the dark theme"


def check_without_kernel(page: Page) -> None:
    """The graph is still walked; what only the kernel knows is not waited for."""
    page.get_by_role("menuitem", name="Kernel").click()
    page.get_by_role("menuitem", name="Shut Down Kernel", exact=True).click()
    expect(page.locator(".wb-graph-state")).to_contain_text("Run the cell again")
    surface(page, "eval").focus()
    surface(page, "eval").press("ArrowDown")
    details = page.get_by_role("region", name="Details")
    expect(details).to_contain_text("the kernel is gone")
    page.get_by_role("button", name="optimizer", exact=True).click()
    expect(page.locator(".wb-graph-waiting")).to_contain_text("was not read before the kernel")


def test_a_graph_that_cannot_be_shown_states_the_reason(open_notebook: MakeNotebook) -> None:
    notebook = open_notebook(
        "open('bad.onnx', 'w').write('nonsense')\n"
        "import workbench as wb\nview = wb.GraphView('bad.onnx')\nview"
    )
    notebook.run(0)
    state = notebook.page.locator(".wb-graph-state")
    expect(state).to_contain_text("bad.onnx is not an ONNX file: choose", timeout=SLOW_MS)
    expect(notebook.page.get_by_role("application", name=re.compile("graph"))).to_have_count(0)


def test_a_graph_is_sharp_where_a_presentation_enlarges_it(open_notebook: MakeNotebook) -> None:
    page = open_view(open_notebook).page
    page.evaluate("""() => {
        const view = document.querySelector('.wb-graph');
        view.style.setProperty('--wb-zoom', '1.3');
        view.style.zoom = '1.3';
    }""")
    page.wait_for_function("""() => {
        const canvas = document.querySelector('.wb-graph-surface > canvas');
        return Math.abs(canvas.width - canvas.getBoundingClientRect().width) < 1.5;
    }""")
