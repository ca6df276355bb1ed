"""Operators that a minimal build of ONNX Runtime needs to train, from the training artifacts alone.

`python -m workbench.artifacts.operators REQUEST.json` converts the models in a child process.
"""

from __future__ import annotations

from workbench.artifacts.operators.required_operators import RequiredOperators, required_operators

__all__ = ["RequiredOperators", "required_operators"]
