"""The trained model of a run that another process started, from its folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.artifacts import Artifacts
from workbench.errors import ArtifactsError, ModelError
from workbench.models import load_saved
from workbench.onnx_io.file import read_onnx
from workbench.onnx_io.inference_model import write_inference_model
from workbench.run_folder.run_folder import RunFolder


def export_saved(folder: RunFolder, path: Path, weights: dict[str, Any]) -> Path:
    """Write the model that is saved in a run folder as ONNX, running nothing that it names.

    Args:
        folder: of the run.
        path: the .onnx file to write.
        weights: parameters and buffers by name.

    Raises:
        ModelError: only code of the user's builds the model, and nothing has exported it; or
            `weights` lacks some of the model's.
    """
    model = load_saved(folder.model_path)
    if model.buildable:
        return model.export(path, weights=weights, complete=True)
    try:
        artifacts = Artifacts.load(folder.artifacts_path)
    except ArtifactsError:
        raise ModelError(
            f"The model of run {folder.id} is built by code of your own, which is not run because "
            "a record names it. Give the model too: "
            "run.export(path, model=wb.load_model(...)), or workbench export RUN PATH --model "
            "package.module:factory."
        ) from None
    missing = [name for name in (*artifacts.trainable, *artifacts.frozen) if name not in weights]
    if missing:
        raise ModelError(
            f"The checkpoint of run {folder.id} lacks {len(missing)} weights of its model, for "
            f"instance {missing[0]!r}; it was damaged or changed, and is not exported."
        )
    return write_inference_model(read_onnx(artifacts.inference_model).model, weights, path)
