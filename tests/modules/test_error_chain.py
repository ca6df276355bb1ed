"""The errors that led to one, also where they are a ring."""

from __future__ import annotations

from workbench.modules.error_chain import error_chain


def test_each_error_comes_once() -> None:
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__context__ = second, first
    assert list(error_chain(first)) == [first, second]
    assert list(error_chain(None)) == []
