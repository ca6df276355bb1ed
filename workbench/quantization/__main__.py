"""`python -m workbench.quantization REQUEST.json`: quantizes and evaluates an exported model."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

from workbench.child_process.child import serve
from workbench.data import Dataset, load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.files.json_file import write_json
from workbench.ort.graph.quantized import quantize
from workbench.quantization.exported_model import ExportedModel
from workbench.quantization.finite_weights import refuse_not_finite_weights
from workbench.quantization.request import QuantizationRequest
from workbench.quantization.result import Evaluated, Quantized
from workbench.settings.config import TrainingConfig
from workbench.worker.evaluation import evaluate

CALIBRATION_ROWS = 256
"""Rows of the training split that scales of activations are computed from, in whole batches.

ONNX Runtime's examples use 100 to 1000 rows."""


def answer(report: Callable[[str], None]) -> None:
    """Quantize the model of the request, evaluate both and write the result.

    Raises:
        ModelError: there is nothing to quantize, or the weights are not finite.
        DataError: the dataset cannot be read.
    """
    request = QuantizationRequest.read(Path(sys.argv[1]))
    refuse_not_finite_weights(request.model)
    config, data = request.config, load_saved_dataset(request.data)
    targets = target_specs(data.train.targets)
    original = ExportedModel(request.model, config.losses, targets, config.threads)
    batches = data.train.batches(config.batch_size, config.seed, 1)
    count = math.ceil(CALIBRATION_ROWS / config.batch_size)
    rows = [
        dict(zip(original.input_names, batch.inputs, strict=True))
        for batch in islice(batches, count)
    ]
    report("quantizing")
    work = request.work / "quantization"
    work.mkdir()
    method = quantize(request.model, rows, request.path, work)
    quantized = ExportedModel(request.path, config.losses, targets, config.threads)
    report("evaluating the float32 and the int8 model")
    found = Quantized(
        request.path,
        method,
        evaluated(original, request.model, data, config),
        evaluated(quantized, request.path, data, config),
        largest_difference(original, quantized, data, config),
        0 if data.test is None else len(data.test),
    )
    write_json(request.answer_path, found.record())


def evaluated(model: ExportedModel, path: Path, data: Dataset, config: TrainingConfig) -> Evaluated:
    size = path.stat().st_size
    if data.test is None:
        return Evaluated(size, None, None)
    result = evaluate(model, data.test, config, lambda: False)
    assert result is not None
    found = result.record()
    metrics = {name: value for name, value in found.items() if name in Evaluated._fields}
    return Evaluated(size_bytes=size, **metrics)


def largest_difference(
    original: ExportedModel, quantized: ExportedModel, data: Dataset, config: TrainingConfig
) -> float | None:
    if data.test is None:
        return None
    differences = (
        np.abs(original.evaluate(batch).output - quantized.evaluate(batch).output).max()
        for batch in data.test.in_order(config.batch_size)
    )
    largest = float(max(differences))
    return largest if math.isfinite(largest) else None


if __name__ == "__main__":
    serve(answer)
