"""Share of a step's time for the operators of each family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from workbench.files.temporary_folder import temporary_folder
from workbench.run_folder.operator_timing import OperatorTime, median_times
from workbench.settings.engines import GraphKind
from workbench.settings.operator_kernels import FAMILIES
from workbench.tune.families.candidate import Engines

STEPS = 4
"""Steps under the profiler."""

_OF_ORTMODULE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "linear": frozenset(
            {"MatMul", "FusedMatMul", "Gemm"}
            | {"workbench_kernels::linear", "workbench_kernels::linear_backward"}
        ),
        "attention": frozenset(
            {"workbench_kernels::attention", "workbench_kernels::attention_backward"}
        ),
        "convolution": frozenset({"FusedConv", "aten::convolution", "aten::convolution_backward"}),
        "max_pool": frozenset({"workbench_kernels::max_pool_backward"}),
        "relu": frozenset({"aten::threshold_backward"}),
        "gelu": frozenset({"Tanh", "aten::gelu", "aten::gelu_backward"}),
        "softmax": frozenset({"aten::_softmax_backward_data"}),
        "layer_norm": frozenset({"aten::native_layer_norm", "aten::native_layer_norm_backward"}),
        "addition": frozenset({"Add", "Sum", "aten::add"}),
        "embedding": frozenset({"workbench_kernels::gather_backward"}),
    }
)
"""Operators of ORTModule in addition to those on device, by family."""

_ON_DEVICE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "attention": frozenset({"Attention", "AttentionGradient", "Softmax", "SoftmaxGrad_13"}),
        "convolution": frozenset(
            {"Conv", "ConvGrad", "Convolution"}
            | {"ConvolutionGradient", "ConvolutionWeightGradient"}
        ),
        # An If of a training graph is that of `write_safe_pooling`.
        "max_pool": frozenset({"If", "MaxPool", "MaxPoolGrad", "MaxPoolGradient"}),
        "relu": frozenset({"ReluGrad", "ReluGradient", "Greater"}),
        "gelu": frozenset(
            {"Gelu", "BiasGelu", "GeluGrad", "GeluGradient", "BiasGeluGradient", "Erf"}
            | {"FastGelu", "FastGeluGrad", "TanhGelu", "TanhGeluGradient"}
            | {"BiasTanhGelu", "BiasTanhGeluGradient"}
        ),
        "silu": frozenset(
            {"QuickGelu", "QuickGeluGrad", "Silu", "SiluGradient", "BiasSilu"}
            | {"BiasSiluGradient", "GatedSilu", "GatedSiluGradient"}
        ),
        "softmax": frozenset(
            {"SoftmaxGrad_13", "SoftmaxGradient", "LogSoftmaxGrad_13", "LogSoftmaxGradient"}
        ),
        "cross_entropy": frozenset(
            {"CrossEntropy", "CrossEntropyGradient", "SoftmaxCrossEntropyLoss"}
            | {"SoftmaxCrossEntropyLossGrad", "LogProbability", "LogProbabilityGradient"}
            | {"LogSoftmax", "GatherElementsGrad"}
        ),
        "layer_norm": frozenset(
            {"LayerNormalization", "LayerNormalizationGrad", "LayerNormalizationGradient"}
            | {"RMSNormalization", "RMSNormalizationGradient"}
            | {"SimplifiedLayerNormalization", "SimplifiedLayerNormalizationGrad"}
        ),
        "sum": frozenset({"ReduceSum", "ColumnSum"}),
        "embedding": frozenset({"GatherGrad", "ScatterElements", "EmbeddingGradient"}),
    }
)

OPERATORS: Mapping[GraphKind, Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        GraphKind.ORTMODULE: {
            family: _OF_ORTMODULE.get(family, frozenset()) | _ON_DEVICE.get(family, frozenset())
            for family in FAMILIES[GraphKind.ORTMODULE]
        },
        GraphKind.DEVICE: _ON_DEVICE,
    }
)
"""Graphs -> family -> its operators in a profile, by any library. The products of an attention
without a kernel for the whole count as those of linear layers."""


def shares_of(graphs: GraphKind, times: Sequence[OperatorTime]) -> dict[str, float]:
    """Family -> its share of the operators' time, the largest first; those that do not occur left
    out."""
    total = sum(each.us for each in times)
    found = {
        family: sum(each.us for each in times if each.op in operators) / total
        for family, operators in OPERATORS[graphs].items()
        if any(each.op in operators for each in times)
    }
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def measured_times(engines: Engines) -> list[OperatorTime]:
    """The operators of some steps of the variant, in a separate engine."""
    from workbench.ort.graph.profiles import profiled

    with temporary_folder() as folder:
        with profiled(folder):
            steps = engines.candidate({}).steps
        windows = [steps.window() for _ in range(STEPS)]
        return median_times(steps.engine.graph_timings(folder, windows))
