"""The operators that PyTorch's kernels run, with their measurements.

`python -m benchmarks aten-kernels` measures every row again and prints the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.operators.activations import (
    fast_gelu_gradient,
    gelu,
    gelu_gradient,
    relu_gradient,
    softmax_gradient,
)
from workbench.ort.ortmodule.aten.operators.addition import addition
from workbench.ort.ortmodule.aten.operators.convolution import convolution, convolution_gradient
from workbench.ort.ortmodule.aten.operators.dropout import dropout, dropout_gradient
from workbench.ort.ortmodule.aten.operators.gathering import gather_gradient
from workbench.ort.ortmodule.aten.operators.normalization import layer_norm, layer_norm_gradient
from workbench.ort.ortmodule.aten.operators.pooling import max_pool_gradient

if TYPE_CHECKING:
    import onnx

Replace = Callable[["onnx.NodeProto", GraphEditor], "list[onnx.NodeProto] | None"]


class Choice(NamedTuple):
    """Replacement of an operator of ONNX Runtime by a kernel of PyTorch."""

    kernel: str
    """The kernel and its conditions."""
    ratio: float
    """Its time over that of ONNX Runtime's: median over the shapes of the benchmark, two threads
    each on a 2-core Xeon with AVX-512, torch 2.13, onnxruntime-training-cpu 1.19.2."""
    replace: Replace
    """Nodes that replace one; None where the conditions are not met."""
    family: str = ""
    """A name of `FAMILIES`, for settings; empty: only `pytorch_kernels` applies."""
    in_forward: bool = False
    """Whether it belongs to the forward pass."""


CHOICES: Mapping[str, Choice] = MappingProxyType(
    {
        "Conv": Choice(
            "aten::convolution; not 1 x 1, from 100,000 multiplications a sample",
            0.55,
            convolution,
            "convolution",
            in_forward=True,
        ),
        "ConvGrad": Choice(
            "aten::convolution_backward; not 1 x 1, from 100,000 multiplications a sample",
            0.45,
            convolution_gradient,
            "convolution",
        ),
        "MaxPoolGrad": Choice(
            "of the workbench, from the maxima themselves; one or two axes",
            0.9,
            max_pool_gradient,
            "max_pool",
        ),
        "ReluGrad": Choice("aten::threshold_backward", 0.1, relu_gradient, "relu"),
        "Gelu": Choice(
            "aten::gelu; from 8,192 elements a sample", 0.6, gelu, "gelu", in_forward=True
        ),
        "GeluGrad": Choice(
            "aten::gelu_backward; from 8,192 elements a sample", 0.25, gelu_gradient, "gelu"
        ),
        "FastGeluGrad": Choice("aten::gelu_backward, tanh", 0.07, fast_gelu_gradient, "gelu"),
        "SoftmaxGrad_13": Choice(
            "aten::_softmax_backward_data; from 8,192 elements a sample",
            0.3,
            softmax_gradient,
            "softmax",
        ),
        "LayerNormalization": Choice(
            "aten::native_layer_norm; from 4,096 elements a sample",
            0.4,
            layer_norm,
            "layer_norm",
            in_forward=True,
        ),
        "LayerNormalizationGrad": Choice(
            "aten::native_layer_norm_backward", 0.25, layer_norm_gradient, "layer_norm"
        ),
        "Add": Choice(
            "aten::add; from 16,384 elements a sample", 1.0, addition, "addition", in_forward=True
        ),
        "Sum": Choice("aten::add; from 16,384 elements a sample", 0.75, addition, "addition"),
        "Dropout": Choice("of the workbench", 0.2, dropout, in_forward=True),
        "DropoutGrad": Choice("of the workbench", 0.2, dropout_gradient),
        "GatherGrad": Choice("of the workbench", 0.02, gather_gradient, "embedding"),
    }
)
"""Operator -> its replacement."""
