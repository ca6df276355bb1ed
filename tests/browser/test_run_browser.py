"""The browser of recorded runs in JupyterLab: by mouse and by keyboard, in both themes, narrow."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import Notebook
from tests.runs.recorded import changed, recorded
from workbench.data import Dataset
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run

CELL = "import workbench as wb\nbrowser = wb.RunBrowser()\nbrowser"
NAMES = ("alpha", "beta <b>bold</b>", "gamma")
LOSSES = {"alpha": 3.0, "beta <b>bold</b>": 1.0, "gamma": 2.0}


@pytest.fixture
def home(lab_folder: Path, digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Three recorded runs where the kernels of these tests look for them."""
    home = lab_folder / "home"
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    kept = home / "runs"
    aside = lab_folder / "aside"
    if kept.exists():
        kept.rename(aside)
    for name in NAMES:
        add_run(home, digits, name)
    yield home
    shutil.rmtree(kept)
    if aside.exists():
        aside.rename(kept)


def add_run(home: Path, digits: Dataset, name: str) -> None:
    """Add a run to `home`, whole: a page polls its runs and reads each once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(home.with_name("being-made")))
        folder: RunFolder = recorded(digits)
    text = folder.events_path.read_text()
    folder.events_path.write_text(text.replace("1.2, 1.0]", f"1.2, {LOSSES.get(name, 9.0)}]"))
    changed(folder.spec_path, lambda spec: {**spec, "dataset": f"data-{name[0]}"})
    Run(folder).rename(name)
    runs = home / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    folder.path.rename(runs / folder.path.name)


def expect_names(notebook: Notebook, *names: str) -> None:
    """These runs come to be listed, in this order."""
    expect(notebook.page.locator(".wb-run-name")).to_have_text([*names])


def grid_of(notebook: Notebook) -> Locator:
    return notebook.page.get_by_role("grid", name="Recorded runs")


def selected(notebook: Notebook) -> Locator:
    return selected_rows(grid_of(notebook))


def selected_rows(grid: Locator) -> Locator:
    return grid.locator('[role="row"][aria-selected="true"]')


def undo_where_scrolled(page: Page, grid: Locator) -> None:
    """It is pinned with the actions, not covered by them."""
    page.set_viewport_size({"width": 1400, "height": 420})
    grid.evaluate("list => list.scrollIntoView({ block: 'end' })")
    undo = page.get_by_role("button", name="Undo")
    assert undo.evaluate("""button => {
        const { left, top } = button.getBoundingClientRect();
        return button.contains(document.elementFromPoint(left + 4, top + 4));
    }""")
    undo.click()
    page.set_viewport_size({"width": 1400, "height": 1300})


def close_by_keys(page: Page, grid: Locator, opened: Locator) -> None:
    """Escape closes an opened run, from its charts and from the list, and the keys are those of its
    row again. The actions are one stop of the Tab key, and one that cannot be done says why."""
    grid.focus()
    page.keyboard.press("Enter")
    opened.get_by_role("img", name="Loss per batch").focus()
    page.keyboard.press("Escape")
    expect(opened.get_by_role("img")).to_have_count(0)
    expect(grid).to_be_focused()

    page.keyboard.press("Enter")
    expect(opened.get_by_role("img", name="Loss per batch")).to_be_visible()
    grid.focus()
    page.keyboard.press("Escape")  # nothing is selected
    expect(selected_rows(grid)).to_have_count(0)
    expect(opened.get_by_role("img", name="Loss per batch")).to_be_visible()
    page.keyboard.press("Escape")
    expect(opened.get_by_role("img")).to_have_count(0)

    page.keyboard.press("Enter")
    opened.get_by_role("slider", name="Smoothing").focus()
    page.keyboard.press("Escape")
    expect(opened.get_by_role("img")).to_have_count(0)

    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("button", name="Open", exact=True)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Compare runs")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Select a run first.")).to_be_visible()


def test_runs_are_found_sorted_labelled_deleted_and_brought_back(
    open_notebook: MakeNotebook, home: Path, digits: Dataset
) -> None:
    notebook = open_notebook(CELL)
    notebook.run(0)
    page, grid = notebook.page, grid_of(notebook)
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible()
    expect_names(notebook, *reversed(NAMES))

    search = page.get_by_role("searchbox", name="Search runs")
    search.fill("DATA-B bold")
    expect(page.get_by_text("1 of 3 runs")).to_be_visible()
    expect_names(notebook, NAMES[1])
    page.get_by_role("button", name="Show all").click()

    grid.get_by_role("button", name="Last loss").click()
    expect_names(notebook, NAMES[1], "gamma", "alpha")

    # By the keyboard: the notebook must not take the keys for its own.
    grid.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowDown")
    expect(selected(notebook)).to_have_count(2)
    expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(2)

    # A new run comes; nothing that is looked at moves.
    add_run(home, digits, "delta")
    expect(page.get_by_text("4 runs", exact=True)).to_be_visible()
    expect(selected(notebook)).to_have_count(2)
    expect_names(notebook, NAMES[1], "gamma", "alpha", "delta")

    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    page.keyboard.press("F2")
    page.get_by_label("Display name of beta").fill("a <i>new</i> name")
    page.keyboard.press("Enter")
    expect(page.locator(".wb-run-name", has_text="a <i>new</i> name")).to_be_visible()
    expect(grid).to_be_focused()

    expect(selected(notebook)).to_contain_text("a <i>new</i> name")
    page.keyboard.press("Delete")
    expect(page.get_by_text("Deleted 1 run.")).to_be_visible()
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible()
    expect(selected(notebook)).to_have_count(0)
    undo_where_scrolled(page, grid)
    expect(page.get_by_text("4 runs", exact=True)).to_be_visible()
    expect(selected(notebook)).to_contain_text("a <i>new</i> name")
    assert len(list((home / "runs").iterdir())) == 4

    page.keyboard.press("Enter")
    opened = page.locator(".wb-open-run")
    for chart in ("Loss per batch", "Throughput in samples", "Memory in megabytes", "Accuracy"):
        expect(opened.get_by_role("img", name=chart)).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(opened.get_by_role("img")).to_have_count(0)
    close_by_keys(page, grid, opened)

    # A folder that vanishes while it is shown.
    for path in (home / "runs").iterdir():
        if Run(RunFolder(path)).name == "gamma":
            shutil.rmtree(path)
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible()
    expect(page.locator(".wb-run-name", has_text="gamma")).to_have_count(0)


@pytest.mark.sweep  # test_layout.py looks at the whole page
def test_it_fits_400_pixels_in_both_themes(open_notebook: MakeNotebook, home: Path) -> None:
    long = "digits-cnn with all rows, cosine schedule and 200 steps of warm-up"
    Run(RunFolder(next((home / "runs").iterdir()))).rename(long)
    notebook = open_notebook(CELL)
    notebook.run(0)
    page, grid = notebook.page, grid_of(notebook)
    expect(grid).to_be_visible()
    colors = set()
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        notebook.use_theme(theme)
        colors.add(grid.evaluate("node => getComputedStyle(node).backgroundColor"))
    assert len(colors) == 2
    table = page.locator(".wb-run-table")
    table.evaluate("node => { node.style.width = '860px'; }")
    expect(grid.get_by_role("columnheader")).to_have_count(6)
    name = grid.locator(".wb-run-name", has_text=long)
    assert name.evaluate("node => node.scrollHeight <= node.clientHeight"), "it is cut"
    facts = name.locator("xpath=following-sibling::*")
    assert facts.evaluate(
        "node => node.getBoundingClientRect().bottom <= "
        "node.closest('[role=row]').getBoundingClientRect().bottom"
    )
    table.evaluate("node => { node.style.width = '400px'; }")
    expect(grid.get_by_role("columnheader")).to_have_count(2)
    for node in (grid, table):
        assert node.evaluate("node => node.scrollWidth <= node.clientWidth")
    notebook.use_theme("JupyterLab Light")
