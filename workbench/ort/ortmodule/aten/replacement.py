"""Replaces nodes of a gradient graph by PyTorch's kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.kernels.device_kernels import DOMAIN as OWN_DOMAIN
from workbench.ort.ortmodule.aten.executor import why_not_loaded
from workbench.ort.ortmodule.aten.fusions.fusion import complete_gradients
from workbench.ort.ortmodule.aten.kernel_call import DOMAIN
from workbench.ort.ortmodule.aten.libraries import Libraries
from workbench.ort.ortmodule.aten.operators.choices import CHOICES
from workbench.run_folder.statistics import OWN_KERNELS

if TYPE_CHECKING:
    import onnx

PYTORCH, ONNX_RUNTIME = "PyTorch", "ONNX Runtime"


class Kernels(NamedTuple):
    """The libraries that run the operators of a graph for which there is a choice."""

    chosen: dict[str, dict[str, int]]
    """Operator -> {"PyTorch": nodes, "ONNX Runtime": nodes}, without zeros; and each kernel of
    the workbench -> {"the workbench": nodes}."""
    why_not: str = ""
    """Why PyTorch's are not used, and what to do; empty where they are."""

    def with_layers(self, layers: Mapping[str, int]) -> Kernels:
        """Add the numbers of fused layers that are kernels of PyTorch's."""
        chosen = {layer: {PYTORCH: count} for layer, count in layers.items()}
        return self._replace(chosen=_merged(chosen, self.chosen))

    def beside(self, own: Mapping[str, int], graph: onnx.GraphProto) -> Kernels:
        """Add the workbench's kernels, whose nodes ONNX Runtime no longer runs.

        Args:
            own: kernel -> its nodes.
            graph: with them.
        """
        if not own:
            return self
        left = Counter(node.op_type for node in graph.node if node.domain != OWN_DOMAIN)
        others = {
            op: {
                whose: left[op] if whose == ONNX_RUNTIME else count
                for whose, count in counts.items()
                if left[op] or whose != ONNX_RUNTIME
            }
            for op, counts in self.chosen.items()
        }
        ours = {kernel: {OWN_KERNELS: count} for kernel, count in own.items()}
        return self._replace(chosen=_merged(others, ours))

    @property
    def computes(self) -> bool:
        """Whether PyTorch's kernels run more than Dropout."""
        chosen = self.chosen.items()
        return any(PYTORCH in counts for op, counts in chosen if not op.startswith("Dropout"))

    @property
    def replaced(self) -> int:
        """Number of nodes run by PyTorch's kernels, without the gradients of whole layers."""
        return sum(counts.get(PYTORCH, 0) for counts in self.chosen.values())


_Chosen = dict[str, dict[str, int]]


def _merged(some: _Chosen, others: _Chosen) -> _Chosen:
    """By operator and library; an operator may be in both."""
    made = {op: {**some.get(op, {}), **others.get(op, {})} for op in {**some, **others}}
    return {op: counts for op, counts in made.items() if counts}


def use_pytorch_kernels(
    model: onnx.ModelProto, libraries: Libraries, *, keep_forward: bool = False
) -> Kernels:
    """Replace nodes of `model`, a graph of both passes, where that is faster, in place.

    Args:
        model: as returned by the gradient builder; ONNX Runtime has not optimized it yet.
        libraries: library of each family.
        keep_forward: do not change the forward pass, whose operators are searched later.

    Returns:
        The choice for each operator.
    """
    dropout = any(node.op_type == "Dropout" for node in model.graph.node)
    # A process that has loaded the library keeps more memory.
    called = libraries.calls_families or (dropout and libraries.calls_any)
    why_not = why_not_loaded() if called else ""
    graph, outputs = GraphEditor(model.graph), output_specs(model)
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
        check_rewrite(model, "kernels of PyTorch", outputs)
    return Kernels(chosen, why_not)
