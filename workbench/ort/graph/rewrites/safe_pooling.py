"""Makes max pooling keep NaN and minus infinity, and its gradient stay within its result.

ONNX Runtime's MaxPool skips NaN. Where nothing in a window is greater than the lowest finite
number, that is its result, the index is that of another channel or negative, and MaxPoolGrad
writes there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.onnx_io.nodes import output
from workbench.ort.graph.graph_editor import GraphEditor

if TYPE_CHECKING:
    import onnx

SAFE_POOLING = "for NaN and infinity, with which its result and its gradient are PyTorch's"
"""Why a pooling is rewritten."""
_POOLED = ("FLOAT", "DOUBLE")
"""Element types that have gradients and a kernel."""


def write_safe_pooling(model: onnx.ModelProto) -> dict[str, str]:
    """Give each MaxPool of `model` the values of PyTorch's for NaN and infinity, in place.

    The sum of its input tells whether all is finite: then it runs as it is, otherwise a slower
    form in standard operators. NaN is the largest of all; the index is that of the first of equal
    values, as in PyTorch, except for NaN, where PyTorch's is that of the last. No index is
    negative, whatever the window.

    Args:
        model: the complete graph of both passes. The new nodes read their input from within
            subgraphs, which other rewrites do not see: this is the last one.

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    from onnx import TensorProto, helper

    kinds = [getattr(TensorProto, name) for name in _POOLED]
    editor = GraphEditor(model.graph)
    replaced: dict[str, str] = {}
    for pool in editor.nodes:
        kind = editor.element_type(pool.input[0]) if pool.op_type == "MaxPool" else 0
        if pool.domain or kind not in kinds:
            continue
        x, y = pool.input[0], pool.output[0]
        total, difference, special = (f"{y}.{each}" for each in ("total", "difference", "special"))
        made = [
            helper.make_node("ReduceSum", [x], [total], total, keepdims=0),
            helper.make_node("Sub", [total, total], [difference], difference),
            helper.make_node("IsNaN", [difference], [special], special),
            helper.make_node(
                *("If", [special], list(pool.output), pool.name),
                then_branch=_of_all_values(pool, kind),
                else_branch=_of_finite_values(pool, kind),
            ),
        ]
        editor.replace([pool], made)
        replaced |= {each.output[0]: y for each in made}
    if replaced:
        editor.finish(model, "max pooling of NaN and infinity")
    return replaced


def _of_finite_values(pool: onnx.NodeProto, kind: int) -> onnx.GraphProto:
    """The pooling itself, without negative indices."""
    from onnx import TensorProto, helper

    y, indices = f"{pool.output[0]}.finite", f"{pool.output[0]}.finite_indices"
    node = _pooling(pool, pool.input[0], [y, *[indices] * bool(output(pool, 1))])
    if not output(pool, 1):
        return _branch("finite", [node], [y], kind, [])
    zero = helper.make_tensor(f"{indices}.zero", TensorProto.INT64, [], [0])
    first = f"{indices}.at_least_0"
    limited = helper.make_node("Max", [indices, zero.name], [first])
    return _branch("finite", [node, limited], [y, first], kind, [zero])


def _of_all_values(pool: onnx.NodeProto, kind: int) -> onnx.GraphProto:
    """The pooling of values of the same order, all above the lowest, and what is at its indices."""
    import numpy as np
    from onnx import TensorProto, helper

    x, prefix = pool.input[0], f"{pool.output[0]}.special"
    limits = np.finfo(helper.tensor_dtype_to_np_dtype(kind))
    lowest = float(np.nextafter(limits.min, limits.dtype.type(0)))
    names = ("is_nan", "limited", "ordered", "largest", "found", "indices", "flat", "values")
    is_nan, limited, ordered, largest, found, indices, flat, values = (
        f"{prefix}.{name}" for name in names
    )
    constants = [
        helper.make_tensor(f"{prefix}.lowest", kind, [], [lowest]),
        helper.make_tensor(f"{prefix}.highest", kind, [], [float(limits.max)]),
        helper.make_tensor(f"{prefix}.infinity", kind, [], [float("inf")]),
        helper.make_tensor(f"{prefix}.zero", TensorProto.INT64, [], [0]),
        helper.make_tensor(f"{prefix}.one_axis", TensorProto.INT64, [1], [-1]),
    ]
    low, high, infinity, zero, one_axis = (each.name for each in constants)
    nodes = [
        helper.make_node("IsNaN", [x], [is_nan]),
        helper.make_node("Clip", [x, low, high], [limited]),
        helper.make_node("Where", [is_nan, infinity, limited], [ordered]),
        _pooling(pool, ordered, [largest, found]),
        helper.make_node("Max", [found, zero], [indices]),
        helper.make_node("Reshape", [x, one_axis], [flat]),
        helper.make_node("Gather", [flat, indices], [values]),
    ]
    results = [values, *[indices] * bool(output(pool, 1))]
    return _branch("special", nodes, results, kind, constants)


def _pooling(pool: onnx.NodeProto, x: str, outputs: list[str]) -> onnx.NodeProto:
    """`pool` of another value; its indices are row by row, as MaxPoolGrad reads them."""
    import onnx

    made = onnx.NodeProto()
    made.CopyFrom(pool)
    made.name = ""
    made.input[0] = x
    del made.output[:], made.attribute[:]
    made.output.extend(outputs)
    made.attribute.extend(each for each in pool.attribute if each.name != "storage_order")
    return made


def _branch(
    name: str,
    nodes: list[onnx.NodeProto],
    results: list[str],
    kind: int,
    constants: list[onnx.TensorProto],
) -> onnx.GraphProto:
    """A branch of an If: the pooled values and, where they are asked for, their indices."""
    from onnx import TensorProto, helper

    outputs = [
        helper.make_tensor_value_info(result, each, None)
        for result, each in zip(results, (kind, TensorProto.INT64), strict=False)
    ]
    return helper.make_graph(nodes, name, [], outputs, constants)
