"""Pages of the fake engine, without a browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.controller.recording_view import PATIENCE_S
from workbench.widgets import Workbench

MakePage = Callable[..., Workbench]


@pytest.fixture
def make_page(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePage]:
    """Makes pages that offer the fake engine, which behaves as the keywords say."""
    pages: list[Workbench] = []

    def make(
        model: Any = "digits-mlp", engines: Sequence[str] = ("fake",), **behaviour: Any
    ) -> Workbench:
        monkeypatch.setenv("WORKBENCH_FAKE", json.dumps(behaviour))
        page = Workbench(model, engines=engines)
        pages.append(page)
        return page

    yield make
    for page in pages:
        page.stop()
        page.wait(PATIENCE_S)
        page.close()
