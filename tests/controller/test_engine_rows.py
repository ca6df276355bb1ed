"""Which engines can run here, found out without loading one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.controller import engine_rows as module
from workbench.controller.engine_rows import engine_rows
from workbench.errors import EngineError
from workbench.settings.engines import engine_table


def test_the_engines_are_listed_by_another_process() -> None:
    rows = {row["name"]: row for row in engine_rows()}
    assert list(rows) == list(engine_table())
    assert rows["fake"]["ok"]
    assert set(rows["fake"]) == {"name", "description", "ok", "reason", "remedy"}


def test_engines_that_cannot_be_listed_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any, **__: Any) -> SimpleNamespace:
        return SimpleNamespace(returncode=1, stdout="", stderr="Traceback\n  ...\nOSError: no disk")

    monkeypatch.setattr(module.subprocess, "run", run)
    with pytest.raises(EngineError, match=r"^The engines could not be listed: OSError: no disk"):
        engine_rows()
