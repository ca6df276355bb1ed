"""Resize, as products with constant matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import onnx_ir as ir

from workbench.trainable.rewrite import GraphEdit, Rewrite
from workbench.trainable.shapes.resizing import repetitions, resizing_matrices


class ResizeToMatMul(Rewrite):
    """Multiplies each resized axis by the matrix that interpolates along it.

    ONNX Runtime has no gradient for Resize; and this is many times faster than its Resize where
    the interpolation is cubic.

    Precondition: the sizes of the resized axes and those behind are constant, none of them is the
    first, and it is not a plain repetition, which has its own gradient.
    """

    op: ClassVar[str] = "Resize"
    note: ClassVar[str] = "written as products with the matrices that interpolate along each axis"

    def applies(self, node: ir.Node) -> bool:
        matrices = resizing_matrices(node)
        if matrices is None or 0 in matrices or repetitions(node) is not None:
            return False
        return _trailing_sizes_known(node, min(matrices, default=1))

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        matrices = resizing_matrices(node)
        value = node.inputs[0]
        assert matrices is not None
        assert value is not None
        assert value.shape is not None
        sizes = list(value.shape)
        new: list[ir.Node] = []
        # The axis that shrinks most, or grows least, first: this leaves less work for the others.
        order = sorted(matrices, key=lambda axis: matrices[axis].shape[0] / matrices[axis].shape[1])
        for axis in order:
            matrix = matrices[axis]
            sizes[axis] = matrix.shape[0]
            nodes = _along(edit, str(node.outputs[0].name), value, sizes, axis, matrix)
            new += nodes
            value = nodes[-1].outputs[0]
        if not new:
            new = [ir.node("Identity", [value])]
        edit.replace([node], new, {node.outputs[0]: new[-1].outputs[0]})


def _along(
    edit: GraphEdit,
    name: str,
    value: ir.Value,
    sizes: list[int | ir.SymbolicDim],
    axis: int,
    matrix: np.ndarray,
) -> list[ir.Node]:
    """`value` multiplied along `axis`, of the resulting `sizes`."""
    behind = len(sizes) - 1 - axis

    def constant(what: str, values: np.ndarray) -> ir.Value:
        return edit.constant(f"{name}.{what}.{axis}", ir.tensor(values))

    def shaped(node: ir.Node, shape: Sequence[int | ir.SymbolicDim]) -> ir.Node:
        node.outputs[0].shape = ir.Shape(shape)
        node.outputs[0].type = value.type
        return node

    if behind == 0:
        product = ir.node("MatMul", [value, constant("matrix", np.ascontiguousarray(matrix.T))])
        return [shaped(product, sizes)]
    left = constant("matrix", matrix)
    if behind == 1:
        return [shaped(ir.node("MatMul", [left, value]), sizes)]
    trailing = [size for size in sizes[axis + 1 :] if isinstance(size, int)]
    whole = int(np.prod(trailing))
    merged = constant("merged", np.array([0] * (axis + 1) + [whole]))
    split = constant("split", np.array([0] * (axis + 1) + trailing))
    before = [*sizes[:axis], matrix.shape[1], whole]
    after = [*sizes[: axis + 1], whole]
    flat = shaped(ir.node("Reshape", [value, merged]), before)
    product = shaped(ir.node("MatMul", [left, flat.outputs[0]]), after)
    return [flat, product, shaped(ir.node("Reshape", [product.outputs[0], split]), sizes)]


def _trailing_sizes_known(node: ir.Node, axis: int) -> bool:
    source = node.inputs[0]
    assert source is not None
    assert source.shape is not None
    return all(isinstance(size, int) for size in tuple(source.shape)[axis + 1 :])
