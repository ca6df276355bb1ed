"""An engine that is not available here: in CI a failure, as its tests would all be left out."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

MAY_LACK = frozenset({"pytorch-compile"})
"""Needs a C++ compiler, which `make test` does not install."""


def unavailable(engine: str, reason: str) -> NoReturn:
    """Skip the test, or fail it in CI if `make test` installs what the engine needs."""
    if os.environ.get("CI") and engine not in MAY_LACK:
        pytest.fail(f"CI cannot run {engine}, which `make test` installs: {reason}")
    pytest.skip(f"{engine}: {reason}")
