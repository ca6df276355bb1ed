"""Graphs quantized to int8 by `onnxruntime.quantization`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import ModelError
from workbench.ort.native import native

if TYPE_CHECKING:
    import onnx

Feeds = Mapping[str, np.ndarray]
"""Arrays by input name."""

_QUANTIZED = {"QuantizeLinear", "DynamicQuantizeLinear", "DequantizeLinear", "DynamicQuantizeLSTM"}
"""Operators of which every quantized graph has at least one."""


def quantize(model: Path, rows: Sequence[Feeds], path: Path, work: Path) -> str:
    """Quantize weights to int8, and activations where operators allow it.

    With convolutions the quantization is static (QDQ: activations and weights int8, scales of
    activations from `rows`), else dynamic (scales of activations from each input), as ONNX
    Runtime's documentation recommends for convolutional networks and for transformers and
    recurrent networks. Weights have a scale per output channel, and 7 bits: x86 processors without
    VNNI add products of pairs in 16 bits, which weights of 8 bits overflow, to wrong results.

    Args:
        model: an inference model; its weights are initializers.
        rows: batches of inputs to calibrate with.
        path: the .onnx file to write.
        work: an existing, empty folder.

    Returns:
        "static" or "dynamic".

    Raises:
        ModelError: the model has nothing that can be quantized, or is too large.
    """
    import onnx

    native()
    quantization = import_module("onnxruntime.quantization")
    prepared = work / "prepared.onnx"
    _prepare(model, prepared)
    operators = {node.op_type for node in onnx.load(prepared, load_external_data=False).graph.node}
    int8 = quantization.QuantType.QInt8
    method = "static" if "Conv" in operators else "dynamic"
    logging.disable(logging.WARNING)  # advice to prepare the model, which is done
    try:
        if method == "static":
            quantization.quantize_static(
                prepared,
                path,
                _rows(quantization, rows),
                quant_format=quantization.QuantFormat.QDQ,
                activation_type=int8,
                weight_type=int8,
                per_channel=True,
                reduce_range=True,
            )
        else:
            quantization.quantize_dynamic(
                prepared, path, weight_type=int8, per_channel=True, reduce_range=True
            )
    finally:
        logging.disable(logging.NOTSET)
    found = {node.op_type for node in onnx.load(path, load_external_data=False).graph.node}
    if not found & _QUANTIZED:
        path.unlink()
        raise ModelError(
            "The model has nothing to quantize: ONNX Runtime quantizes the weights of Conv, "
            "MatMul, Gemm, LSTM and Gather, and the operators here are "
            f"{', '.join(sorted(operators))}. Export it as float32."
        )
    return method


def _prepare(model: Path, path: Path) -> None:
    """Write `model` with constants folded, so that a transposed weight is an initializer."""
    import onnx

    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    # Only rewrites to standard operators.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    prepared = onnx.load(path)
    # Shapes from before: some of those that quantization changes.
    del prepared.graph.value_info[:]
    _only_used_domains(prepared)
    onnx.save(prepared, path)


def _only_used_domains(model: onnx.ModelProto) -> None:
    """Remove the operator sets that ONNX Runtime adds, which other versions may not know."""
    used = {node.domain for node in model.graph.node} | {""}
    kept = [each for each in model.opset_import if each.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(kept)


def _rows(quantization: Any, rows: Sequence[Feeds]) -> Any:
    class CalibrationRows(quantization.CalibrationDataReader):  # type: ignore[misc]
        """The batches, one after another."""

        def __init__(self) -> None:
            self._rest: Iterator[Feeds] = iter(rows)

        def get_next(self) -> dict[str, np.ndarray] | None:
            feeds = next(self._rest, None)
            return None if feeds is None else dict(feeds)

    return CalibrationRows()
