"""What a page does after each cell that is executed."""

from __future__ import annotations

import gc

import ipywidgets
import pytest
from IPython.core.interactiveshell import InteractiveShell

from workbench.widgets.page.after_cells import after_each_cell


class Page(ipywidgets.HTML):
    """Counts."""

    count = 0

    def update(self) -> None:
        self.count += 1


def test_it_is_updated_after_each_cell_until_it_is_closed_or_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    before = len(shell.events.callbacks["post_run_cell"])
    page, other = Page(), Page()
    for each in (page, other):
        after_each_cell(each, Page.update)
    shell.run_cell("1")
    shell.run_cell("2")
    assert (page.count, other.count) == (2, 2)
    page.close()
    del other, each
    ipywidgets.Widget.close_all()
    gc.collect()
    shell.run_cell("3")
    assert page.count == 2
    assert len(shell.events.callbacks["post_run_cell"]) == before


def test_outside_of_ipython_there_are_no_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: None)
    page = Page()
    after_each_cell(page, Page.update)
    assert page.count == 0
