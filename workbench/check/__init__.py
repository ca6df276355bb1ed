"""`wb.check`: which operators of a model ONNX Runtime can train, and which are rewritten.

A module is exported in a child process (`python -m workbench.check REQUEST.json`).
"""

from __future__ import annotations

from workbench.check.checking import check
from workbench.check.result import Check, CheckedOp

__all__ = ["Check", "CheckedOp", "check"]
