"""Puts PyTorch's kernels in place of nodes of a gradient graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.rewrite_check import check_rewrite
from workbench.ort.ortmodule.aten.choices import CHOICES
from workbench.ort.ortmodule.aten.executor import why_not_loaded
from workbench.ort.ortmodule.aten.fusion import complete_gradients
from workbench.ort.ortmodule.aten.kernel_call import DOMAIN
from workbench.ort.ortmodule.aten.libraries import Libraries

if TYPE_CHECKING:
    import onnx

PYTORCH, ONNX_RUNTIME = "PyTorch", "ONNX Runtime"


class Kernels(NamedTuple):
    """Whose kernels run the operators of a graph for which there is a choice."""

    chosen: dict[str, dict[str, int]]
    """Operator -> {"PyTorch": nodes, "ONNX Runtime": nodes}, those of no node left out."""
    why_not: str = ""
    """Why PyTorch's are not used, and what to do; empty where they are."""

    def with_layers(self, layers: Mapping[str, int]) -> Kernels:
        """Add fused layers, by the number of each that is a kernel of PyTorch's."""
        chosen = {layer: {PYTORCH: count} for layer, count in layers.items()}
        return self._replace(chosen={**chosen, **self.chosen})

    @property
    def replaced(self) -> int:
        """How many nodes PyTorch's kernels run, those of the gradients of whole layers aside."""
        return sum(counts.get(PYTORCH, 0) for counts in self.chosen.values())


def use_pytorch_kernels(
    model: onnx.ModelProto, libraries: Libraries, *, keep_forward: bool = False
) -> Kernels:
    """Replace the nodes of `model`, a graph of both passes, for which that is faster, in place.

    Args:
        model: as returned by the gradient builder; ONNX Runtime has not optimized it yet.
        libraries: says of which families they are.
        keep_forward: leave the forward pass as it is, for what looks for its operators there.

    Returns:
        What was chosen for each operator.
    """
    why_not = why_not_loaded() if libraries.calls_any else "they are switched off"
    graph = GraphEditor(model.graph)
    chosen: dict[str, dict[str, int]] = {}
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        choice = CHOICES.get(node.op_type)
        if choice is None:
            nodes.append(node)
            continue
        made = None
        kept = (keep_forward and choice.in_forward) or not libraries.calls_kernel(choice.family)
        if not why_not and not kept:
            made = choice.replace(node, graph)
        nodes += [node] if made is None else made
        whose = ONNX_RUNTIME if made is None else PYTORCH
        counts = chosen.setdefault(node.op_type, {})
        counts[whose] = counts.get(whose, 0) + 1
    nodes = complete_gradients(graph, nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    calls = any(node.domain == DOMAIN for node in nodes)
    if calls and not any(entry.domain == DOMAIN for entry in model.opset_import):
        model.opset_import.add(domain=DOMAIN, version=1)
    if calls:
        check_rewrite(model, "kernels of PyTorch")
    return Kernels(chosen, why_not)
