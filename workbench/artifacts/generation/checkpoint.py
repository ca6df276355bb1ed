"""`python -m workbench.artifacts.generation.checkpoint REQUEST.json`: writes one checkpoint.

The native writer needs several times the memory of the checkpoint. So a large one is written by a
process that has neither torch nor the module in memory.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.child_process.child import run_child, serve
from workbench.errors import ArtifactsError
from workbench.files.json_file import write_json
from workbench.onnx_io.tensor_data import tensor_bytes
from workbench.ort.ondevice.checkpoint import write_checkpoint

if TYPE_CHECKING:
    import onnx

LARGE_BYTES = 1 << 26
"""Size from which a checkpoint is written by a child process."""


def write_checkpoint_isolated(
    model: onnx.ModelProto,
    trainable: Sequence[str],
    frozen: Sequence[str],
    path: Path,
    work_folder: Path,
) -> None:
    """As `write_checkpoint`, but a large one is written in a child process.

    Args:
        work_folder: an existing folder for the input of that process.

    Raises:
        ArtifactsError: the child process failed.
    """
    import onnx

    names = {*trainable, *frozen}
    tensors = [tensor for tensor in model.graph.initializer if tensor.name in names]
    if sum(map(tensor_bytes, tensors)) < LARGE_BYTES:
        write_checkpoint(model, trainable, frozen, path)
        return
    weights = work_folder / "checkpoint.onnx"
    onnx.save(onnx.ModelProto(graph=onnx.GraphProto(initializer=tensors)), weights)
    request = work_folder / "checkpoint.json"
    write_json(
        request,
        {
            "weights": str(weights),
            "trainable": list(trainable),
            "frozen": list(frozen),
            "path": str(path),
        },
    )
    run_child(
        "workbench.artifacts.generation.checkpoint",
        request,
        _ignore,
        os.environ,
        work="writes the checkpoint",
        failure=ArtifactsError,
    )


def _ignore(_: str) -> None:
    """The child reports no phases."""


def _write(_: Callable[[str], None]) -> None:
    import onnx

    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    model = onnx.load(request["weights"], load_external_data=False)
    write_checkpoint(model, request["trainable"], request["frozen"], Path(request["path"]))


if __name__ == "__main__":
    serve(_write)
