"""The parameters of a module in a file beside its graphs, so that no graph holds a copy of them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.onnx_io.large_file import SMALL_BYTES
from workbench.onnx_io.tensor_data import point_to

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir


class StateFile:
    """Holds each parameter once, for all graphs that refer to it.

    A graph that references it can be used while the file exists.
    """

    def __init__(self, path: Path) -> None:
        """Create the file at `path`, or truncate it; its folder exists."""
        self._path = path.resolve()
        self._path.write_bytes(b"")
        self._offsets: dict[str, int] = {}

    def take(self, model: ir.Model, names: Collection[str]) -> None:
        """Move the initializers `names` of `model` to this file; small ones stay in the model."""
        import onnx_ir as ir

        for name in names:
            value = model.graph.initializers.get(name)
            if value is None or value.const_value is None or value.const_value.nbytes < SMALL_BYTES:
                continue
            tensor = value.const_value
            value.const_value = ir.ExternalTensor(
                self._path,
                self._offset(name, tensor),
                tensor.nbytes,
                tensor.dtype,
                shape=ir.Shape(tensor.numpy().shape),
                name=name,
            )

    def refer(self, initializer: onnx.TensorProto, value: np.ndarray) -> None:
        """Give an initializer without a value this one, in this file unless it is small.

        Args:
            initializer: with its name, dtype and shape.
            value: of the parameter of that name.
        """
        import onnx_ir as ir

        if value.nbytes < SMALL_BYTES:
            initializer.raw_data = np.ascontiguousarray(value).tobytes()
            return
        offset = self._offset(initializer.name, ir.tensor(value))
        point_to(initializer, self._path, offset, value.nbytes)

    def _offset(self, name: str, tensor: ir.TensorProtocol) -> int:
        """Offset of the data of `tensor`, which is written if it is not in the file yet."""
        if name not in self._offsets:
            with self._path.open("ab") as file:
                self._offsets[name] = file.tell()
                file.write(np.ascontiguousarray(tensor.numpy()).data)
        return self._offsets[name]
