"""The axes that a reduction leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from workbench.trainable.shapes.reduced_axes import keeps_axes, reduced_axes


def _reduction(axes: list[int] | None, *, as_input: bool, **attributes: int) -> ir.Node:
    source = ir.Value(name="x", shape=ir.Shape([2, 3, 4]), type=ir.TensorType(ir.DataType.FLOAT))
    inputs, given = [source], dict[str, Any](attributes)
    if axes is not None and as_input:
        tensor = ir.tensor(np.array(axes, np.int64))
        inputs.append(ir.Value(name="axes", const_value=tensor))
    elif axes is not None:
        given["axes"] = axes
    return ir.node("ReduceMax", inputs, given)


@pytest.mark.parametrize("as_input", [True, False])
@pytest.mark.parametrize(
    ("axes", "expected"), [([1], [1]), ([-1, 0], [0, 2]), (None, [0, 1, 2]), ([2, -3], [0, 2])]
)
def test_axes_of_a_reduction(axes: list[int] | None, expected: list[int], as_input: bool) -> None:
    assert reduced_axes(_reduction(axes, as_input=as_input)) == expected


def test_no_axes_may_mean_no_reduction() -> None:
    node = _reduction(None, as_input=True, noop_with_empty_axes=1, keepdims=0)
    assert reduced_axes(node) == []
    assert not keeps_axes(node)
