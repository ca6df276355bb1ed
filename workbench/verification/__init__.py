"""`wb.verify`: the loss and every gradient of each engine, compared with a reference.

`verify` runs one process an engine (`__main__`), so that what crashes is a verdict, and compares
what they wrote (`agreement`). The reference is PyTorch, or for a model that came as ONNX alone
`finite_differences`. The parent's side imports neither torch nor onnxruntime.
"""

from __future__ import annotations

from workbench.verification.result import EngineVerdict, GradientRow, Verification
from workbench.verification.verify import verify

__all__ = ["EngineVerdict", "GradientRow", "Verification", "verify"]
