"""What the tests of models share."""

from __future__ import annotations

import pytest

from tests.exports import share_translations


@pytest.fixture(scope="session", autouse=True)
def translations() -> None:
    """Nearly every test here exports a module."""
    share_translations()
