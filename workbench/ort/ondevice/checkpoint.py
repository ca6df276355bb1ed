"""The native checkpoint: parameters, and the optimizer's state once it has stepped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.onnx_io.tensor_data import held_inside
from workbench.ort.native import native

if TYPE_CHECKING:
    import onnx


def write_checkpoint(
    model: onnx.ModelProto, trainable: Sequence[str], frozen: Sequence[str], path: Path
) -> None:
    """Write the initializers of `model` with these names, in the order of its initializers.

    It takes several times their memory.
    """

    _write(model, trainable, frozen, path, nominal=False)


def write_nominal_checkpoint(
    model: onnx.ModelProto, trainable: Sequence[str], frozen: Sequence[str], path: Path
) -> None:
    """Like `write_checkpoint`, but without the values: a session loads them from a buffer."""
    _write(model, trainable, frozen, path, nominal=True)


def _write(
    model: onnx.ModelProto,
    trainable: Sequence[str],
    frozen: Sequence[str],
    path: Path,
    *,
    nominal: bool,
) -> None:
    def chosen(names: set[str]) -> list[bytes]:
        values = model.graph.initializer
        return [held_inside(value).SerializeToString() for value in values if value.name in names]

    native().save_checkpoint(chosen(set(trainable)), chosen(set(frozen)), str(path), nominal)
