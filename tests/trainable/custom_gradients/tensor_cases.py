"""Operations on tensors whose gradient is our own, as PyTorch's exporter never writes them.

Run as a script, like `gradient_table`: prints {case: outcome} of what `make_trainable` makes of
each. Those that PyTorch has too are compared with it in `tests/coverage`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import numpy as np

from tests.forked import outcome
from tests.trainable.custom_gradients.gradient_table import (
    CUBE,
    MATRIX,
    POSITIVE,
    Case,
    check,
    numbers,
    scalar,
)
from workbench.ort.native import native

WITH_ZEROS = np.where(np.arange(72).reshape(3, 4, 6) % 5 == 0, 0, CUBE).astype(np.float32)
ROWS = np.array([[0], [2], [0]])
PLACES = np.repeat(np.array([[[0, 0, 1, 2, 3, 1]], [[0, 2, 1, 3, 3, 0]]]), 3, axis=1).swapaxes(0, 1)
BLOCKS = CUBE.reshape(1, 12, 6)
INT64_MIN = np.iinfo(np.int64).min


def einsum(equation: str, *inputs: np.ndarray | str) -> Case:
    return Case("Einsum", inputs=inputs or ("p",), attributes={"equation": equation})


def scatter(reduction: str, *, of_updates: bool) -> Case:
    attributes = {"axis": 1, "reduction": reduction}
    if of_updates:
        data = CUBE[:, ::-1] * scalar(0.8)
        return Case("ScatterElements", CUBE[:, :2], (data, PLACES, "p"), attributes)
    updates = POSITIVE[:, :2] * scalar(0.9)
    return Case("ScatterElements", WITH_ZEROS, ("p", PLACES, updates), attributes)


def scatter_slices(reduction: str, *, of_updates: bool) -> Case:
    inputs = (POSITIVE, ROWS, "p") if of_updates else ("p", ROWS, POSITIVE)
    return Case("ScatterND", CUBE, inputs, {"reduction": reduction})


def reduction(
    op: str, axes: Sequence[int] = (), p: np.ndarray = CUBE, *, keepdims: int = 1
) -> Case:
    inputs = ("p", numbers(*axes)) if axes else ("p",)
    return Case(op, p, inputs, {"keepdims": keepdims})


CASES = {
    "Col2Im": Case("Col2Im", CUBE[:2, :4], ("p", numbers(3, 4), numbers(2, 2))),
    "Col2Im, padded, in strides": Case(
        "Col2Im", BLOCKS, ("p", numbers(4, 3), numbers(2, 2)),
        {"pads": [1, 0, 1, 2], "strides": [2, 3], "dilations": [1, 1]},
    ),
    "Col2Im, dilated": Case(
        "Col2Im", CUBE[:2, :4], ("p", numbers(4, 5), numbers(2, 2)), {"dilations": [2, 2]}
    ),
    "Col2Im, one axis": Case("Col2Im", CUBE[:2, :4], ("p", numbers(7), numbers(2))),
    "Concat with constants": Case(
        "Concat", inputs=(CUBE[:, :1], "p", CUBE), attributes={"axis": -2}
    ),
    "CumSum": Case("CumSum", inputs=("p", np.array(1))),
    "CumSum, reverse": Case("CumSum", inputs=("p", np.array(-1)), attributes={"reverse": 1}),
    "CumSum, exclusive": Case("CumSum", inputs=("p", np.array(0)), attributes={"exclusive": 1}),
    "CumSum, both": Case(
        "CumSum", inputs=("p", np.array(2)), attributes={"exclusive": 1, "reverse": 1}
    ),
    "Einsum": einsum("bij,jk->bik", "p", MATRIX),
    "Einsum of one twice": einsum("bij,bkj->bik", "p", "p"),
    "Einsum, implicit output": einsum("bij, jk", "p", MATRIX),
    "Einsum, implicit ellipsis": einsum("...j,jk", "p", MATRIX),
    "Einsum, broadcast ellipsis": einsum("...ij,...jk->...ik", "p", MATRIX[None]),
    "Einsum, broadcast p": Case(
        "Einsum", CUBE[:1], (CUBE, "p"), {"equation": "...ij,...ij->...i"}
    ),
    "Einsum, summed alone": einsum("bij,b->b", "p", CUBE[:, 0, 0]),
    "Einsum to a number": einsum("bij->"),
    "Einsum, diagonal": Case("Einsum", CUBE[:, :, :4], attributes={"equation": "bii->bi"}),
    "Einsum, trace": Case("Einsum", CUBE[:, :, :4], attributes={"equation": "bii->b"}),
    "Einsum, diagonal of three": Case(
        "Einsum", CUBE[:3, :3, :3], attributes={"equation": "iii->i"}
    ),
    "Einsum, diagonals multiplied": Case(
        "Einsum", CUBE[:, :, :4], ("p", MATRIX[:4, :4]), {"equation": "bij,jj->bi"}
    ),
    "MatMul, vector on the right": Case("MatMul", CUBE[0, 0], (CUBE, "p")),
    "MatMul, by a vector": Case("MatMul", inputs=("p", CUBE[0, 0])),
    "MatMul, vector on the left": Case("MatMul", CUBE[0, :, 0], ("p", CUBE)),
    "MatMul, vector by": Case("MatMul", inputs=(CUBE[0, :, 0], "p")),
    "MatMul, vector and matrix": Case("MatMul", MATRIX, (CUBE[0, 0], "p")),
    "MatMul, two vectors": Case("MatMul", CUBE[0, 0], ("p", CUBE[1, 1])),
    "MatMul, vector with itself": Case("MatMul", CUBE[0, 0], ("p", "p")),
    # Such a Cast, read twice by one node, is what ONNX Runtime's gradient builder fails at.
    "Mul of what was cast to its own type, with itself": Case(
        "Mul", inputs=("p", "p"), cast=True
    ),
    "Mean": Case("Mean", inputs=("p", CUBE[:1], "p", scalar(2))),
    "Mean, broadcast p": Case("Mean", CUBE[0, 0], (CUBE, "p")),
    "ReduceL1": reduction("ReduceL1", [1]),
    "ReduceL2 of all": reduction("ReduceL2", keepdims=0),
    "ReduceLogSum": reduction("ReduceLogSum", [0, -1], POSITIVE),
    "ReduceLogSum, no axes kept": reduction("ReduceLogSum", [1], POSITIVE, keepdims=0),
    "ReduceMax": reduction("ReduceMax", [1]),
    "ReduceMax, several axes": reduction("ReduceMax", [-1, 0], keepdims=0),
    "ReduceMax of all": reduction("ReduceMax", keepdims=0),
    "ReduceMin": reduction("ReduceMin", [1], keepdims=0),
    "ReduceProd": reduction("ReduceProd", [1]),
    "ReduceProd with zeros": reduction("ReduceProd", [2], WITH_ZEROS, keepdims=0),
    "ReduceSumSquare": reduction("ReduceSumSquare", [1, 2]),
    "ReduceSumSquare of all": reduction("ReduceSumSquare", keepdims=0),
    **{
        f"Scatter{kind}, {name}, of {'updates' if of_updates else 'data'}": made(
            name, of_updates=of_updates
        )
        for kind, made in (("Elements", scatter), ("ND", scatter_slices))
        for name in ("add", "mul", "max", "min")
        for of_updates in (False, True)
    },
    "Slice, reversed whole": Case(
        "Slice", inputs=("p", numbers(-1, -1), numbers(INT64_MIN, INT64_MIN), numbers(0, 2),
                         numbers(-1, -1))
    ),
    "Slice, part of an axis backwards": Case(
        "Slice", inputs=("p", numbers(4), numbers(0), numbers(2), numbers(-2))
    ),
    "Slice, one axis backwards": Case(
        "Slice", inputs=("p", numbers(0, -1), numbers(2, INT64_MIN), numbers(0, 1), numbers(1, -1))
    ),
    "Sum": Case("Sum", inputs=("p", CUBE[:1], "p", scalar(2))),
    "Sum, broadcast p": Case("Sum", CUBE[0, :, :1], (CUBE, "p")),
    "Unsqueeze along a number": Case("Unsqueeze", inputs=("p", np.array(1))),
    "Where, broadcast p": Case("Where", CUBE[0, 0], (CUBE > 0, "p", CUBE)),
    "Where, broadcast p on the other side": Case("Where", CUBE[:, :1], (CUBE > 0, CUBE, "p")),
    "Where, broadcast condition": Case("Where", CUBE[0], (CUBE[:, :1] > 0, "p", CUBE)),
}  # fmt: skip

if __name__ == "__main__":
    native()
    print(
        json.dumps(
            {name: outcome(partial(check, case, rewritten=True)) for name, case in CASES.items()}
        )
    )
