"""`python -m workbench.artifacts.checkpoint REQUEST.json`: writes one checkpoint, and that alone.

The native writer takes several times the memory of what it writes. A large checkpoint is written by
a process that holds nothing else: neither torch nor the module.
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
from workbench.onnx_io.tensor_data import tensor_bytes
from workbench.ort.ondevice.checkpoint import write_checkpoint
from workbench.run_folder.run_folder import write_json

if TYPE_CHECKING:
    import onnx

LARGE_BYTES = 1 << 26
"""What is smaller is written at once: to start a process takes longer."""


def write_checkpoint_apart(
    model: onnx.ModelProto,
    trainable: Sequence[str],
    frozen: Sequence[str],
    path: Path,
    work_folder: Path,
) -> None:
    """As `write_checkpoint`; a large one in a process of its own.

    Args:
        work_folder: an existing folder for what that process is told.

    Raises:
        ArtifactsError: that process failed.
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
        "workbench.artifacts.checkpoint",
        request,
        _ignore,
        os.environ,
        work="writes the checkpoint",
        failure=ArtifactsError,
    )


def _ignore(_: str) -> None:
    """It does one thing, which its parent has told."""


def _write(_: Callable[[str], None]) -> None:
    import onnx

    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    model = onnx.load(request["weights"], load_external_data=False)
    write_checkpoint(model, request["trainable"], request["frozen"], Path(request["path"]))


if __name__ == "__main__":
    serve(_write)
