"""Parts of a page are closed with it: else no widget of the kernel is shown after a reload."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import ipywidgets
import pytest
from ipywidgets.widgets.widget import _instances as open_widgets

import workbench as wb
from workbench.errors import ModelError

PAGES = (
    *(wb.Workbench, wb.ModelView, wb.ArtifactBuilder, wb.Trainer, wb.ComparisonView),
    wb.RunBrowser,
)


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.__name__)
def test_a_closed_page_leaves_nothing_that_cannot_be_sent(
    page: Callable[[], ipywidgets.Box],
) -> None:
    known = {*open_widgets}
    page().close()
    assert {type(widget) for widget in check_left(known)} == {ipywidgets.Layout}


@pytest.mark.fault
@pytest.mark.parametrize("part", ["AppBar", "OfferList", "RunBrowser", "StatusView"])
def test_neither_does_a_page_that_could_not_be_made(part: str) -> None:
    known = {*open_widgets}
    with (
        mock.patch(f"workbench.widgets.app.workbench.{part}", side_effect=MemoryError),
        pytest.raises(MemoryError),
    ):
        wb.Workbench()
    check_left(known)


@pytest.mark.fault
@pytest.mark.parametrize("page", [wb.Workbench, wb.Trainer], ids=lambda each: each.__name__)
def test_neither_does_one_of_no_model(page: Callable[[object], ipywidgets.Box]) -> None:
    known = {*open_widgets}
    with pytest.raises(ModelError):
        page(object())
    check_left(known)


def check_left(known: set[str]) -> list[ipywidgets.Widget]:
    """Raise unless all widgets other than those known can be sent; returns these."""
    left = [widget for model_id, widget in open_widgets.items() if model_id not in known]
    for widget in left:
        widget.get_state()
    return left
