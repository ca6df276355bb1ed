"""`wb.profile`: what each operator of a training step takes, by an engine and by PyTorch.

`profile` runs one process an engine (`__main__`), which takes steps under the profiler of ONNX
Runtime (`workbench.ort.graph.profiles`) and that of PyTorch (`torch_steps`), and reads what they
wrote. The parent's side imports neither torch nor onnxruntime.
"""

from __future__ import annotations

from workbench.profiling.profile import profile
from workbench.profiling.result import EngineProfile, Profile

__all__ = ["EngineProfile", "Profile", "profile"]
