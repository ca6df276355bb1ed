"""The linear map that a Resize node applies to each axis."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from workbench.trainable.shapes.interpolation import Interpolation
from workbench.trainable.shapes.window import integer, text

COORDINATES = {
    "align_corners",
    "asymmetric",
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
}
"""Coordinate transformation modes whose matrix is known."""


def resizing_matrices(node: ir.Node) -> dict[int, np.ndarray] | None:
    """For each axis that the node changes, the matrix of shape [resized, size] that it applies.

    None where a size or scale is not known or the interpolation has no such matrix.
    """
    source, result = node.inputs[0], node.outputs[0]
    how = _interpolation(node)
    if how is None or source is None or source.shape is None or result.shape is None:
        return None
    given = node.inputs[2] if len(node.inputs) > 2 else None
    scales = None if given is None or given.const_value is None else given.const_value.numpy()
    if given is not None and (scales is None or len(scales) != len(source.shape)):
        return None
    matrices = {}
    for axis, (size, resized) in enumerate(zip(source.shape, result.shape, strict=True)):
        if size == resized and (scales is None or scales[axis] == 1):
            continue
        if not isinstance(size, int) or not isinstance(resized, int):
            return None
        scale = resized / size if scales is None else float(scales[axis])
        matrices[axis] = how.matrix(size, resized, scale)
    return matrices


def repetitions(node: ir.Node) -> list[int] | None:
    """Number of repetitions of each entry along each spatial axis; None if it does not repeat
    them."""
    source = node.inputs[0]
    matrices = resizing_matrices(node)
    if matrices is None or source is None or source.shape is None or {0, 1} & set(matrices):
        return None
    times = [1] * (len(source.shape) - 2)
    for axis, matrix in matrices.items():
        resized, size = matrix.shape
        if resized % size or not np.array_equal(matrix, np.eye(size).repeat(resized // size, 0)):
            return None
        times[axis - 2] = resized // size
    return times or None


def _interpolation(node: ir.Node) -> Interpolation | None:
    coordinates = text(node, "coordinate_transformation_mode", "half_pixel")
    antialias = integer(node, "antialias", 0) == 1
    if coordinates not in COORDINATES or (antialias and coordinates != "half_pixel"):
        return None
    if "axes" in node.attributes:
        return None
    coefficient = node.attributes.get("cubic_coeff_a")
    return Interpolation(
        text(node, "mode", "nearest"),
        coordinates,
        text(node, "nearest_mode", "round_prefer_floor"),
        -0.75 if coefficient is None else coefficient.as_float(),
        integer(node, "exclude_outside", 0) == 1,
        antialias,
    )
