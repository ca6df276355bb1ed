"""Runs exported models in a child process, which may crash without harm to this one.

`InferenceProcess` starts `python -m workbench.inference`, which has neither torch nor a training
session in it.
"""

from __future__ import annotations

from workbench.inference.process import InferenceProcess

__all__ = ["InferenceProcess"]
