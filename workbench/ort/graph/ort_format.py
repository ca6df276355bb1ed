"""Conversion of models to ORT format, by the tool of the onnxruntime package."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from workbench.ort.native import native


def to_ort_format(model: Path, folder: Path) -> Path:
    """Convert `model`; with fixed optimizations, as ONNX Runtime converts training artifacts.

    The tool of version 1.19.2 converts training, eval and optimizer models, and its
    results train as the ONNX files do. They have no processor-specific optimizations (NCHWc), so
    they are equal on every machine.

    Args:
        model: an ONNX file.
        folder: an existing folder for the result.

    Raises:
        Exception: of ONNX Runtime, when the model cannot be converted.
    """
    native()
    from onnxruntime.tools.convert_onnx_models_to_ort import (
        OptimizationStyle,
        convert_onnx_models_to_ort,
    )

    with contextlib.redirect_stdout(sys.stderr):  # the tool prints what it does
        convert_onnx_models_to_ort(
            model, output_dir=folder, optimization_styles=[OptimizationStyle.Fixed]
        )
    return folder / model.with_suffix(".ort").name


def operators_of(models: Sequence[Path], config: Path) -> list[tuple[str, int, list[str]]]:
    """Domain, version of the operator set and operators of some models in ORT format.

    Args:
        models: files in ORT format.
        config: file that the tool writes, in the format of a minimal build's configuration.
    """
    native()
    from onnxruntime.tools.ort_format_model import create_config_from_models

    create_config_from_models(list(models), config, enable_type_reduction=False)
    lines = config.read_text(encoding="utf-8").splitlines()
    entries = (line.split(";") for line in lines if line and not line.startswith("#"))
    return [(domain, int(opset), sorted(names.split(","))) for domain, opset, names in entries]
