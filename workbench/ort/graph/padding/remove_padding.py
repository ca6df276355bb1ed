"""Removes padding tokens from the layers of a graph that work by token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.nodes import sort_nodes
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.ort.graph.padding.graph_values import GraphValues
from workbench.ort.graph.padding.masks import Mask, masks
from workbench.ort.graph.padding.packing import Packing
from workbench.ort.graph.padding.proof import Proof, Refusal, prove
from workbench.trainable.custom_gradient import NodeGradient

if TYPE_CHECKING:
    import onnx


class PaddingReport(NamedTuple):
    """The effect of the rewrite on the graph."""

    products: int = 0
    """Number of matrix products that leave padding out."""
    masks: tuple[str, ...] = ()
    """The values that mark padding."""
    reason: str = ""
    """Why none does, if so."""
    gradients: tuple[NodeGradient, ...] = ()
    """Gradients that the workbench defines."""


def remove_padding(
    model: onnx.ModelProto, arguments: Iterable[str], *, padded_results: bool
) -> PaddingReport:
    """Rewrite `model` in place so that layers compute only the tokens that count.

    Embeddings and all layers that work by token get the kept tokens as rows (kept tokens, width);
    attention, and all nodes that mix tokens, get sequences as before. Results are the same, up to
    rounding; where that cannot be proved, the graph is not changed. Dropout draws for kept tokens
    alone: its results are equal in distribution.

    This is valid for finite numbers, and for scores of attention below 1e8.

    Args:
        model: a forward pass.
        arguments: names of the inputs that may mark padding tokens.
        padded_results: results may be zero at padded tokens, where they would not be.
    """
    if any(each.HasField("g") for node in model.graph.node for each in node.attribute):
        return PaddingReport(reason="the graph has control flow")
    found, refusal = PaddingReport(), Refusal(-2, "no argument marks padding tokens")
    names = list(arguments)
    tried = set[Mask]()
    while True:
        values = GraphValues(model)
        possible = [mask for mask in masks(values, names) if mask not in tried]
        proof: Proof | Refusal = refusal
        for mask in possible:
            tried.add(mask)
            proof = prove(values, mask, padded_results=padded_results)
            if isinstance(proof, Proof):
                break
            refusal = max(refusal, proof)
        packing = _packed(model, values, proof, len(found.masks)) if possible else None
        if packing is not None and isinstance(proof, Proof):
            found = PaddingReport(
                found.products + packing.products,
                (*found.masks, proof.mask.value),
                "",
                (*found.gradients, *packing.gradients),
            )
        elif not isinstance(proof, Proof) or not possible:
            break
    return found if found.products else PaddingReport(reason=refusal.reason)


def _packed(
    model: onnx.ModelProto, values: GraphValues, proof: Proof | Refusal, number: int
) -> Packing | None:
    """Rewrite the graph, if any matrix product becomes smaller."""
    if not isinstance(proof, Proof):
        return None
    packing = Packing(values, proof, number)
    packing.run()
    if not packing.products:
        return None
    graph, outputs = model.graph, output_specs(model)
    nodes = [*packing.tokens.nodes, *packing.nodes]
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(packing.tokens.constants)
    graph.value_info.extend(packing.types)
    sort_nodes(graph, "The graph without padding")
    check_rewrite(model, "padding left out", outputs)
    return packing
