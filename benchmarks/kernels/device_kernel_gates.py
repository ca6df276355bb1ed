"""RMSNorm, SiLU and tanh GELU as ONNX Runtime builds them, for Llama, T5 and GPT-2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.kernels.aten_kernel_nodes import MICROSOFT, Case, draw


def _node(op: str, given: str, made: str, domain: str = "", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, given.split(), [made], made, domain=domain, **attributes)


def rms_normalizations() -> Iterator[Case]:
    """The second part of the gradient of x is that of a residual connection."""
    for shape in ((8, 128, 256), (8, 128, 768)):
        rows = (*shape[:-1], 1)
        nodes = [
            _node("Pow", "x two", "squares"),
            _node("Size", "squares", "count"),
            _node("Shape", "squares", "sizes"),
            _node("ReduceMean", "squares", "mean", axes=[2], keepdims=1),
            _node("Add", "mean epsilon", "sum"),
            _node("Sqrt", "sum", "root"),
            _node("Reciprocal", "root", "inverse"),
            _node("Mul", "x inverse", "n"),
            _node("Mul", "w n", "y"),
            _node("Mul", "y_grad n", "w_rows"),
            _node("ReduceSum", "w_rows first", "w_grad", keepdims=0),
            _node("Mul", "y_grad w", "n_grad"),
            _node("Mul", "n_grad inverse", "x_grad_1"),
            _node("Mul", "n_grad x", "inverse_rows"),
            _node("ReduceSum", "inverse_rows last", "inverse_grad", keepdims=1),
            _node("Mul", "inverse inverse", "inverse_squared"),
            _node("Neg", "inverse_squared", "slope"),
            _node("Mul", "inverse_grad slope", "root_grad"),
            _node("Div", "half root", "root_slope"),
            _node("Mul", "root_grad root_slope", "mean_grad"),
            _node("Size", "mean_grad", "rows"),
            _node("Div", "count rows", "share"),
            _node("Scale", "mean_grad share", "scaled", MICROSOFT, scale_down=1),
            _node("Expand", "scaled sizes", "squares_grad"),
            _node("Pow", "x one", "power"),
            _node("Mul", "power two", "doubled"),
            _node("Mul", "doubled squares_grad", "x_grad_0"),
            _node("Sum", "x_grad_0 x_grad_1 x_grad_2", "x_grad"),
        ]
        feeds = {name: draw(*shape) for name in ("x", "y_grad", "x_grad_2")}
        feeds["w"] = draw(shape[-1])
        values = dict.fromkeys(("squares", "n", "w_rows", "n_grad", "x_grad_1", "x_grad_0"), shape)
        values |= dict.fromkeys(("mean", "inverse"), rows)
        constants = {
            **{"two": np.float32(2), "one": np.float32(1), "half": np.float32(0.5)},
            **{"epsilon": np.float32(1e-6), "last": np.array([2]), "first": np.array([0, 1])},
        }
        yield Case(
            *("RMSNorm, both ways", "x".join(map(str, shape)), nodes, feeds),
            {"y": shape, "w_grad": shape[-1:], "x_grad": shape},
            values,
            tuple(
                numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()
            ),
        )


def unbiased() -> Iterator[Case]:
    """Each pass of SiLU and the forward pass of tanh GELU, without a bias or a gate."""
    for shape in ((8, 128, 1024), (4, 64, 256)):
        x, dy = draw(*shape), draw(*shape)
        for name, node, feeds in (
            ("FastGelu", _node("FastGelu", "x", "y", MICROSOFT), {"x": x}),
            ("SiLU", _node("QuickGelu", "x", "y", MICROSOFT, alpha=1.0), {"x": x}),
            (
                "Gradient of SiLU",
                _node("QuickGeluGrad", "dy x", "y", MICROSOFT, alpha=1.0),
                {"dy": dy, "x": x},
            ),
        ):
            yield Case(name, "x".join(map(str, shape)), [node], feeds, {"y": shape})


def gates() -> Iterator[Case]:
    for shape in ((8, 128, 688), (4, 64, 256)):
        nodes = [
            _node("QuickGelu", "gate", "silu", MICROSOFT, alpha=1.0),
            _node("Mul", "silu x", "y"),
            _node("Mul", "y_grad silu", "x_grad"),
            _node("Mul", "y_grad x", "silu_grad"),
            _node("QuickGeluGrad", "silu_grad gate", "gate_grad", MICROSOFT, alpha=1.0),
        ]
        feeds = {name: draw(*shape) for name in ("gate", "x", "y_grad")}
        results = dict.fromkeys(("y", "x_grad", "gate_grad"), shape)
        detail = "x".join(map(str, shape))
        yield Case("Gate of SiLU, both ways", detail, nodes, feeds, results)
        nodes = [
            _node("Add", "x b", "s"),
            _node("QuickGelu", "s", "y", MICROSOFT, alpha=1.0),
            _node("QuickGeluGrad", "y_grad s", "x_grad", MICROSOFT, alpha=1.0),
            _node("ReduceSum", "x_grad axes", "b_grad", keepdims=0),
        ]
        feeds = {"x": draw(*shape), "b": draw(shape[-1]), "y_grad": draw(*shape)}
        results = {"y": shape, "x_grad": shape, "b_grad": shape[-1:]}
        axes = numpy_helper.from_array(np.array([0, 1]), "axes")
        yield Case("Bias and SiLU, both ways", detail, nodes, feeds, results, {}, (axes,))
