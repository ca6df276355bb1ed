"""`wb.verify`: compares loss and gradients of each engine with a reference.

`verify` runs one child process per engine (`__main__`), so that a crash is a result, and compares
the gradients (`agreement`). The reference is PyTorch, or `finite_differences` for a model loaded
from an ONNX file. The parent process imports neither torch nor onnxruntime.
"""

from __future__ import annotations

from workbench.verification.result import EngineVerdict, GradientRow, Verification
from workbench.verification.verify import verify

__all__ = ["EngineVerdict", "GradientRow", "Verification", "verify"]
