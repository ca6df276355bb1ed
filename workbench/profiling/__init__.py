"""`wb.profile`: the time of each operator in a training step, for an engine and for PyTorch.

`profile` runs one child process per engine (`__main__`), which takes steps under the profilers of
ONNX Runtime (`workbench.ort.graph.profiles`) and PyTorch (`torch_steps`). The parent process
imports neither torch nor onnxruntime.
"""

from __future__ import annotations

from workbench.profiling.engine_profile import EngineProfile
from workbench.profiling.profile import profile
from workbench.profiling.result import Profile

__all__ = ["EngineProfile", "Profile", "profile"]
