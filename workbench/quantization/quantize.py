"""Quantizes an exported model in a child process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from workbench.child_process.child import run_child
from workbench.errors import ModelError
from workbench.files.disk import disk_errors
from workbench.files.output_file import check_place, replacing_file
from workbench.files.temporary_folder import temporary_folder
from workbench.progress import ProgressBar
from workbench.quantization.request import QuantizationRequest
from workbench.quantization.result import Quantized
from workbench.settings.config import TrainingConfig

LARGEST_BYTES = 2**31 - 1
"""Size limit of a model and its external data, which are read into one message."""


def quantize(
    export: Callable[[Path], Path],
    path: Path,
    *,
    data: Path,
    config: TrainingConfig,
    report: Callable[[str], None] | None = None,
) -> Quantized:
    """Quantize a model to int8 and evaluate it, before and after, on the test split.

    Args:
        export: writes the float32 model to the given path.
        path: the .onnx file to write; a missing folder is created.
        data: folder of the saved dataset.
        config: settings of the run; its losses are evaluated, custom functions are not.
        report: called with short progress texts; None: a progress bar in notebooks.

    Raises:
        ModelError: there is nothing to quantize, the model is too large, or the process crashed.
        DataError: the dataset cannot be read.
    """
    check_place(path, ModelError)
    with temporary_folder() as work, disk_errors(work, ModelError), ProgressBar() as bar:
        show = report or bar.show_text
        show("exporting the model")
        exported = export(work / "float32.onnx")
        size = sum(file.stat().st_size for file in work.iterdir())
        if size > LARGEST_BYTES:
            raise ModelError(
                f"The model takes {size} bytes, and models of more than {LARGEST_BYTES} cannot be "
                "quantized here. Export it as float32."
            )
        answers = work / "answers"
        answers.mkdir()
        with replacing_file(path, ModelError) as temporary:
            request = QuantizationRequest(
                exported, data.absolute(), config, temporary.absolute(), answers
            )
            request.write(work / "request.json")
            run_child(
                "workbench.quantization",
                work / "request.json",
                show,
                {**os.environ, "OMP_NUM_THREADS": str(config.threads)},
                work="quantizes the model",
                failure=ModelError,
            )
        return Quantized.read(request.answer_path)._replace(path=path)
