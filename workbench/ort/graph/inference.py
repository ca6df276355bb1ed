"""Inference of a graph, in a training build of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.errors import EngineError
from workbench.ort.native import native

_ERROR = 3


class InferenceSession:
    """A session without optimizations that could change a result."""

    def __init__(self, model: bytes, threads: int) -> None:
        """Load a serialized graph.

        Raises:
            EngineError: ONNX Runtime cannot run it.
        """
        ort = native()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = _ERROR
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = ort.InferenceSession(options, model, False, False)
            self._session.initialize_session(["CPUExecutionProvider"], [{}], set())
        except Exception as error:
            raise EngineError(f"ONNX Runtime cannot run this graph: {error}") from error
        self._outputs = [value.name for value in self._session.outputs_meta]

    def run(self, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Every output, for inputs by name."""
        outputs: list[np.ndarray] = self._session.run(self._outputs, dict(feeds), None)
        return outputs

    def outputs(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name."""
        return dict(zip(self._outputs, self.run(feeds), strict=True))
