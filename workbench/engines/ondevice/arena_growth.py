"""Chooses by how much the memory of values grows for a model whose logits vary in size."""

from __future__ import annotations

import math

from workbench.artifacts import Artifacts

_FLOAT32_BYTES = 4

_OTHER_VALUES = 2
"""Bytes of a region for a byte of logits: the other values of a step are in it as well."""

_SMALLEST_REGION_BYTES = 2**24
"""Below this, ONNX Runtime's growth from 2 MB on leaves little unused."""


def region_bytes(artifacts: Artifacts, batch_size: int) -> int | None:
    """The least growth of the arena; None: ONNX Runtime's default.

    Where ignored labels are left out, the rows of logits are another number in each step. The size
    of all rows is estimated from the graph: a label for each element of its largest input of
    integers, and as many classes as the longest axis of the trained parameters.
    """
    manifest = artifacts.manifest
    if not manifest.get("sparse_losses"):
        return None
    labels = max(
        (
            _elements(value["shape"], batch_size)
            for value in manifest["graphs"]["training"]["inputs"]
            if value["dtype"] == "int64"
        ),
        default=0,
    )
    shapes = [value["shape"] for value in manifest["parameters"]["trainable"].values()]
    classes = max((axis for shape in shapes for axis in shape), default=0)
    estimate = _OTHER_VALUES * labels * classes * _FLOAT32_BYTES
    return estimate if estimate >= _SMALLEST_REGION_BYTES else None


def _elements(shape: list[str | int], batch_size: int) -> int:
    """Elements of an input; axes without a size, but for the first, count as one."""
    return batch_size * math.prod(axis for axis in shape[1:] if isinstance(axis, int))
