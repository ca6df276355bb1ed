"""Inserts custom gradients into a graph that ONNX Runtime differentiates.

ONNX Runtime accepts external gradients for one kind of node alone: its call of PyTorch's kernels,
`org.pytorch.aten::ATen`, with a definition for each name of a kernel. So a node with a custom
gradient is replaced by such a call while the gradient graph is built, and so is its gradient; then
both are restored.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.onnx_io.graph import unname_sizes
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.ort.native import native

if TYPE_CHECKING:
    import onnx

    from workbench.trainable.custom_gradient import NodeGradient

_DOMAIN = "org.pytorch.aten"
_numbers = itertools.count()
"""Definitions exist as long as the process, so names must be unique."""


class HiddenNodes:
    """The nodes of a forward graph with custom gradients, hidden while the gradient is built."""

    def __init__(self, gradients: Sequence[NodeGradient]) -> None:
        self._gradients = {gradient.node: gradient for gradient in gradients}
        self._nodes: dict[str, list[onnx.NodeProto]] = {}
        self._backward: dict[str, NodeGradient] = {}
        self.expanded: dict[str, str] = {}
        """Outputs of the nodes that `reveal` inserted for a gradient -> name of the node that they
        differentiate."""

    def hide(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """A copy that ONNX Runtime can differentiate; `model` itself if nothing is hidden.

        The sizes that inference named are nameless afterwards, in `model` too (see `unname_sizes`).
        """
        import onnx

        if not self._gradients:
            unname_sizes(model)
            return model
        # The types of a hidden node's outputs are known only from the graph.
        made = onnx.shape_inference.infer_shapes(model, data_prop=True)
        unname_sizes(made)
        if not any(entry.domain == _DOMAIN for entry in made.opset_import):
            made.opset_import.append(onnx.helper.make_opsetid(_DOMAIN, 1))
        named = {node.name: node for node in made.graph.node}
        for gradient in self._gradients.values():
            joined = [named[name] for name in (*gradient.preceding, gradient.node)]
            self._hide_nodes(joined, gradient)
            for node in joined[:-1]:
                made.graph.node.remove(node)
        check_rewrite(made, "nodes hidden from the gradient builder", output_specs(model))
        return made

    def reveal(self, model: onnx.ModelProto) -> None:
        """Insert the nodes and their gradients into `model`, the graph with its gradient, in
        place."""
        if not self._gradients:
            return
        graph, outputs = model.graph, output_specs(model)
        nodes: list[onnx.NodeProto] = []
        for node in graph.node:
            kernel = _kernel(node)
            if kernel in self._nodes:
                nodes += _restored(self._nodes[kernel], node)
            elif kernel in self._backward:
                gradient = self._backward[kernel]
                made = _expanded(gradient, node)
                self.expanded.update((name, gradient.node) for part in made for name in part.output)
                nodes += made
            else:
                nodes.append(node)
        del graph.node[:]
        graph.node.extend(nodes)
        check_rewrite(model, "hidden nodes restored", outputs)

    def _hide_nodes(self, nodes: Sequence[onnx.NodeProto], gradient: NodeGradient) -> None:
        """Represent all of `nodes` by the last of them."""
        import onnx

        name = f"workbench_{next(_numbers)}"
        kept = [onnx.NodeProto() for _ in nodes]
        for copied, node in zip(kept, nodes, strict=True):
            copied.CopyFrom(node)
        self._nodes[name] = kept
        node = nodes[-1]
        if gradient.inputs:
            del node.input[:], node.output[:]
            node.input.extend(gradient.inputs)
            node.output.extend(output for each in kept for output in each.output)
        self._backward[f"{name}.backward"] = gradient
        _define(name, gradient)
        del node.attribute[:]
        node.op_type, node.domain = "ATen", _DOMAIN
        node.attribute.append(onnx.helper.make_attribute("operator", name))


def _define(name: str, gradient: NodeGradient) -> None:
    """Register the kernel `name`.backward with ONNX Runtime as the gradient of kernel `name`."""
    import json

    ort = native()
    key = f"{_DOMAIN}::ATen::{name}::"
    if not gradient.results:
        read = set(range(max(1, len(gradient.inputs))))
        ort.register_custom_stop_gradient_edges(key, read)
        # The gradient of a node that directly reads a parameter is needed too.
        ort.register_gradient_definition(key, [])
        return
    if gradient.inputs:
        read = set(range(len(gradient.inputs))) - set(gradient.results)
        ort.register_custom_stop_gradient_edges(key, read)
    attribute = ort.GradientNodeAttributeDefinition()
    attribute.name, attribute.dtype, attribute.is_tensor = "operator", "string", False
    attribute.value_json = json.dumps(f"{name}.backward")
    definition = ort.GradientNodeDefinition()
    definition.op_type, definition.domain = "ATen", _DOMAIN
    definition.inputs = list(gradient.reads)
    # ONNX Runtime checks by the position of an output, not by its name, whether it is needed.
    definition.outputs = [f"GI({index})" for index in range(max(gradient.results) + 1)]
    definition.attributes = [attribute]
    ort.register_gradient_definition(key, [definition])


def _kernel(node: onnx.NodeProto) -> str:
    """The kernel that an ATen node calls; empty for every other node."""
    if node.op_type != "ATen" or node.domain != _DOMAIN:
        return ""
    return next((a.s.decode() for a in node.attribute if a.name == "operator"), "")


def _restored(kept: Sequence[onnx.NodeProto], node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """The original nodes, with the current names of their values."""
    import onnx

    restored = []
    inputs, outputs = iter(node.input), iter(node.output)
    for one in kept:
        made = onnx.NodeProto()
        made.CopyFrom(one)
        made.name = f"{node.name}/{one.name}" if len(kept) > 1 else node.name
        del made.input[:], made.output[:]
        made.input.extend(next(inputs) for _ in one.input)
        made.output.extend(next(outputs) for _ in one.output)
        restored.append(made)
    return restored


def _expanded(gradient: NodeGradient, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """The backward graph in place of the node that represents it."""
    import onnx

    names = dict(zip(gradient.reads, node.input, strict=True))
    copies = []
    for index, value in gradient.results.items():
        output = node.output[index] if index < len(node.output) else ""
        if value in names:
            # One value is the gradient of two inputs, or none was requested.
            copies.append((names[value], output))
        elif output:
            names[value] = output
    made = []
    for part in gradient.nodes:
        new = onnx.NodeProto()
        new.CopyFrom(part)
        new.name = f"{node.name}/{part.output[-1]}"
        del new.input[:], new.output[:]
        new.input.extend(_named(node, names, value) for value in part.input)
        new.output.extend(_named(node, names, value) for value in part.output)
        made.append(new)
    return made + [
        onnx.helper.make_node("Identity", [source], [to], f"{node.name}/{to}")
        for source, to in copies
        if to
    ]


def _named(node: onnx.NodeProto, names: dict[str, str], value: str) -> str:
    return names.get(value, f"{node.name}/{value}") if value else ""
