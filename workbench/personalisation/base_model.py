"""The model that a personalisation begins with."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import ModelError
from workbench.files.input_file import check_file
from workbench.load import load_model
from workbench.load.base_sample import BaseSample
from workbench.models import Model
from workbench.models.weights_file import read_weights_file
from workbench.onnx_io.inference_model import with_weights
from workbench.onnx_io.large_file import write_onnx


def base_model(base: BaseSample, folder: Path, *, from_graph: bool) -> Model:
    """The sample with its base checkpoint.

    Args:
        base: the sample.
        folder: gets an ONNX file.
        from_graph: from the graph that is shipped with the sample, so that no process need import
            torch and export the module: that takes most of a first start. Its buffers count as
            parameters, so only the last layer should be trained.

    Raises:
        ModelError: a file of the sample is missing or corrupt.
    """
    if not from_graph:
        return load_model(base.name, weights="base")
    import onnx

    # It is installed with this code, and incomplete: not as a model of a user is read.
    stored = onnx.load(check_file(base.graph, ModelError))
    graph = with_weights(stored, read_weights_file(base.checkpoint))
    return load_model(write_onnx(graph, folder / f"{base.name}.onnx"))
