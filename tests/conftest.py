"""What every test shares: a home of its own, so that no test sees another's runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.data import Dataset, load_dataset


@pytest.fixture(autouse=True)
def workbench_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `WORKBENCH_HOME` for this test and every process that it starts."""
    home = tmp_path / "home"
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def digits() -> Dataset:
    """Handwritten digits, 8 by 8 pixels, ten classes."""
    return load_dataset("digits")
