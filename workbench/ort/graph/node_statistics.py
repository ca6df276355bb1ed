"""Statistics of the nodes of a training graph: by pass and operator, and what was fused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from workbench.run_folder.statistics import Nodes, RewriteCount

if TYPE_CHECKING:
    import onnx

    from workbench.trainable.report import Report

YIELD = "YieldOp"
"""The operator between the passes: it takes the results and returns their gradients."""

ATEN = "ATen"
"""The operator that calls a kernel of PyTorch."""

_FUSED_IN_ONNX = frozenset({"LayerNormalization", "Gelu", "RMSNormalization"})
"""Operators of ONNX's own domain that fusions create."""

_NO_FUSIONS = frozenset(
    {YIELD, ATEN, "BatchNormInternal", "ConcatTraining", "InPlaceAccumulatorV2"}
)
"""Operators of other domains that are counted under their own names."""

_RANDOM = frozenset(
    {
        *("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike"),
        *("RandomUniform", "RandomUniformLike"),
    }
)


def draws(operators: Iterable[str]) -> bool:
    """Whether one of the operators of a forward pass draws random numbers."""
    return not _RANDOM.isdisjoint(operators)


def forward_nodes(graph: onnx.GraphProto, results: Iterable[str] = ()) -> set[int]:
    """Indices of the nodes, which are in order, that the results of the forward pass need.

    Args:
        graph: of both passes.
        results: of the forward pass, besides the inputs of a YieldOp.
    """
    needed = set(results)
    found = set()
    for index in reversed(range(len(graph.node))):
        node = graph.node[index]
        if node.op_type == YIELD:
            needed.update(node.input)
        elif not needed.isdisjoint(node.output):
            found.add(index)
            needed.update(name for name in node.input if name)
    return found


def both_passes(graph: onnx.GraphProto, results: Iterable[str] = ()) -> Nodes:
    """Number of nodes of each pass; the YieldOp between them belongs to neither.

    Args:
        graph: of both passes, its nodes in order.
        results: of the forward pass, besides the inputs of a YieldOp.
    """
    forward = len(forward_nodes(graph, results))
    between = sum(node.op_type == YIELD for node in graph.node)
    return Nodes(forward=forward, backward=len(graph.node) - forward - between)


def operator_counts(graph: onnx.GraphProto) -> dict[str, int]:
    """Number of nodes of each operator, the most frequent first."""
    counted = Counter(node.op_type for node in graph.node if node.op_type != YIELD)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def fusions(graph: onnx.GraphProto, before: Container[str]) -> dict[str, int]:
    """Fused operators, with the number of nodes of each, most frequent first.

    Those of ONNX Runtime's own domains, and a few of ONNX's, that are new; operators of gradients
    are excluded.

    Args:
        graph: after optimization.
        before: operators of the forward pass before it.
    """
    counted = Counter(
        node.op_type
        for node in graph.node
        if (node.domain not in ("", "ai.onnx") or node.op_type in _FUSED_IN_ONNX)
        and node.op_type not in _NO_FUSIONS
        and node.op_type not in before
        and "Grad" not in node.op_type
    )
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def pytorch_kernels(graph: onnx.GraphProto) -> dict[str, str]:
    """The nodes that PyTorch's kernels run, by name, and the kernel of each."""
    return {
        node.name: attribute.s.decode()
        for node in graph.node
        if node.op_type == ATEN
        for attribute in node.attribute
        if attribute.name == "operator"
    }


def rewrites_of(report: Report) -> tuple[RewriteCount, ...]:
    """The rewritten nodes, those of one operator and kind together, in the order of the graph."""
    own = {gradient.node for gradient in report.gradients if gradient.results}
    counted = Counter(
        (finding.op, finding.note, finding.node in own) for finding in report.rewritten
    )
    return tuple(
        RewriteCount(op=op, count=count, note=note, own_gradient=own_gradient)
        for (op, note, own_gradient), count in counted.items()
    )
