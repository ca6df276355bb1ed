"""Exports the trained model of a run from its folder, without executing code that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.artifacts import Artifacts
from workbench.errors import ArtifactsError, ModelError
from workbench.lora.adapter_file import SUFFIX
from workbench.models import Model, load_saved
from workbench.onnx_io.file import read_onnx
from workbench.onnx_io.inference_model import write_inference_model
from workbench.run_folder.run_folder import RunFolder
from workbench.runs.adapted_weights import AdaptedWeights, recorded_weights
from workbench.settings.lora import LoraOptions


def export_weights(
    folder: RunFolder,
    path: Path,
    weights: dict[str, Any],
    model: Model | None,
    *,
    lora: LoraOptions | None,
    merge_lora: bool,
) -> Path:
    """Export the trained model of a run.

    Args:
        folder: of the run.
        path: the file to write.
        weights: parameters, adapters and buffers by name.
        model: the model that was trained; None: that in the folder.
        lora: the run's setting.
        merge_lora: see `Run.export`.

    Raises:
        ModelError: see `Run.export`.
    """
    is_adapter_file = path.suffix == SUFFIX
    if lora is None:
        if is_adapter_file or not merge_lora:
            way = "to an .onnx file" if is_adapter_file else "as trained (merge_lora=True)"
            raise ModelError(
                f"Run {folder.id} was trained without LoRA, so it has no adapters. "
                f"Export it {way}, or train with LoRA (the setting lora)."
            )
        return _export_plain(folder, model, path, weights)
    adapted = AdaptedWeights.of(folder.read_spec(), lora, weights)
    if is_adapter_file:
        return adapted.write_adapter(path)
    if merge_lora:
        return _export_plain(folder, model, path, adapted.merged())
    return adapted.add_inputs(_export_plain(folder, model, path, adapted.base()))


def _export_plain(
    folder: RunFolder, model: Model | None, path: Path, weights: dict[str, Any]
) -> Path:
    if model is not None:
        return model.export(path, weights=weights, complete=True)
    return export_saved(folder, path, weights)


def export_saved(folder: RunFolder, path: Path, weights: dict[str, Any]) -> Path:
    """Export the model that is saved in a run folder; no code that it names is executed.

    Args:
        folder: the run folder.
        path: the .onnx file to write.
        weights: parameters and buffers by name.

    Raises:
        ModelError: the model can only be built by user code and was not exported before; or
            `weights` is incomplete.
    """
    model = load_saved(folder.model_path)
    if model.buildable:
        return model.export(path, weights=weights, complete=True)
    try:
        artifacts = Artifacts.load(folder.artifacts_path)
    except ArtifactsError:
        raise ModelError(
            f"The model of run {folder.id} is built by your own code, which is not executed from "
            "a run folder. Pass the model as well: "
            "run.export(path, model=wb.load_model(...)), or workbench export RUN PATH --model "
            "package.module:factory."
        ) from None
    expected = (*artifacts.trainable, *artifacts.frozen)
    # `weights` are without adapters, as is the inference model.
    adapters = {
        name for weight in recorded_weights(folder.read_spec()) for name in weight.adapter_names
    }
    missing = [name for name in expected if name not in weights and name not in adapters]
    if missing:
        raise ModelError(
            f"The checkpoint of run {folder.id} lacks {len(missing)} weights of its model, for "
            f"example {missing[0]!r}. It is corrupt or was changed, so it is not exported."
        )
    return write_inference_model(read_onnx(artifacts.inference_model).model, weights, path)
