"""LoRA in an ONNX graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.lora.linear_weight import LinearWeight
from workbench.onnx_io.graph_metadata import ADAPTER
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.settings.lora import LoraOptions

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir


class _Use(NamedTuple):
    """A MatMul, Gemm or Conv by a weight."""

    node: ir.Node
    inputs_first: bool
    """Whether the weight's shape is (inputs, outputs)."""


def graph_linear_weights(model: onnx.ModelProto) -> dict[str, LinearWeight]:
    """The float32 initializers that MatMul, Gemm or Conv alone use, and as linear layers do."""
    from onnx_ir import serde

    return dict(_linear_weights(serde.deserialize_model(model).graph))


def with_lora(
    model: onnx.ModelProto,
    weights: Sequence[LinearWeight],
    adapters: Mapping[str, np.ndarray],
    options: LoraOptions,
    *,
    as_inputs: bool = False,
) -> onnx.ModelProto:
    """A copy of `model` in which each product with one of `weights` adds its adapter.

    The result y of a MatMul, Gemm or Conv gets alpha / rank · (x Aᵀ) Bᵀ added under its own name.
    Where a weight is used otherwise, as the packed one of attention that is split, alpha / rank ·
    B A is added to the weight. Weights that are not in the graph are left out.

    Args:
        model: a forward graph with its weights as initializers.
        weights: the adapted weights.
        adapters: the values of A and B by name, which become initializers.
        options: the scale.
        as_inputs: the adapters are inputs of the graph as well, with these values by default.
    """
    from onnx_ir import serde

    edited = serde.deserialize_model(model)
    graph = edited.graph
    for weight in weights:
        value = graph.initializers.get(weight.name)
        if value is None:
            continue
        uses = _uses(value)
        if uses == []:
            continue
        a, b = (_initializer(graph, name, adapters[name]) for name in weight.adapter_names)
        if as_inputs:
            graph.inputs.extend((a, b))
        if uses is None or any(use.inputs_first != weight.inputs_first for use in uses):
            _add_to_weight(value, a, b, weight, options)
            continue
        for index, use in enumerate(uses):
            _add_adapter(use.node, a, b, options.scale, weight.name, index)
    made: onnx.ModelProto = serde.serialize_model(edited)
    check_rewrite(made, "low-rank adapters", output_specs(model))
    return made


def _linear_weights(graph: ir.Graph) -> Iterator[tuple[str, LinearWeight]]:
    import onnx_ir as ir

    for name, value in graph.initializers.items():
        tensor = value.const_value
        if tensor is None or len(tensor.shape) < 2 or tensor.dtype != ir.DataType.FLOAT:
            continue
        uses = _uses(value)
        if not uses or len({use.inputs_first for use in uses}) != 1:
            continue
        shape = tuple(int(size) for size in tensor.shape.numpy())
        convolves = {use.node.op_type == "Conv" for use in uses}
        # A MatMul may have a stack of matrices, and a convolution a larger kernel.
        fits = set(shape[2:]) == {1} if convolves == {True} else not shape[2:]
        if fits and len(convolves) == 1:
            yield name, LinearWeight.of_shape(name, shape, inputs_first=uses[0].inputs_first)


def _uses(value: ir.Value) -> list[_Use] | None:
    """All uses of a weight; None if one of them is not that of a linear layer."""
    if value.is_graph_output():
        return None
    found: list[_Use] = []
    for node, index in value.uses():
        inner = _uses_by(node, index)
        if inner is None:
            return None
        found += inner
    return found


def _uses_by(node: ir.Node, index: int) -> list[_Use] | None:
    if node.domain:
        return None
    if node.op_type == "Transpose" and _is_transposition(node):
        beyond = _uses(node.outputs[0])
        return beyond and [_Use(use.node, not use.inputs_first) for use in beyond]
    if index != 1:
        return None
    multiplies = {
        "MatMul": True,
        "Gemm": not _integer(node, "transA"),
        "Conv": _integer(node, "group") in (0, 1),
    }
    if not multiplies.get(node.op_type):
        return None
    turned = node.op_type == "Conv" or _integer(node, "transB")
    return [_Use(node, inputs_first=not turned)]


def _is_transposition(node: ir.Node) -> bool:
    """Whether it swaps two axes, as it does by default."""
    order = node.attributes.get("perm")
    return order is None or list(order.as_ints()) == [1, 0]


def _integer(node: ir.Node, attribute: str) -> int:
    found = node.attributes.get(attribute)
    return 0 if found is None else found.as_int()


def _initializer(graph: ir.Graph, name: str, array: np.ndarray) -> ir.Value:
    import onnx_ir as ir

    tensor = ir.tensor(array, name=name)
    value = ir.Value(
        name=name,
        type=ir.TensorType(tensor.dtype),
        shape=ir.Shape(array.shape),
        const_value=tensor,
    )
    graph.register_initializer(value)
    return value


class _Added:
    """Nodes that are added to a graph for a weight, and share the metadata of a node of it."""

    def __init__(
        self, graph: ir.Graph, name: str, weight: str, metadata: Mapping[str, str]
    ) -> None:
        self.graph, self._name = graph, name
        self._metadata = {**metadata, ADAPTER: weight}
        self.nodes: list[ir.Node] = []

    def value(
        self,
        operator: str,
        inputs: Iterable[ir.Value],
        step: str,
        shape: Iterable[int | ir.SymbolicDim] | None,
        attributes: Iterable[ir.Attr] = (),
    ) -> ir.Value:
        """The float32 output of a new node."""
        import onnx_ir as ir

        name = f"{self._name}.{step}"
        new = ir.Node("", operator, list(inputs), list(attributes), name=name)
        new.metadata_props.update(self._metadata)
        output = new.outputs[0]
        output.name, output.type = name, ir.TensorType(ir.DataType.FLOAT)
        output.shape = None if shape is None else ir.Shape(shape)
        self.nodes.append(new)
        return output

    def transposed(self, matrix: ir.Value, step: str) -> ir.Value:
        """The transpose of a matrix."""
        import onnx_ir as ir

        # Written out, for ONNX Runtime's gradient of a Transpose reads it.
        order = ir.AttrInt64s("perm", [1, 0])
        return self.value("Transpose", [matrix], step, _sizes(matrix)[::-1], [order])

    def reshaped(self, value: ir.Value, shape: tuple[int, ...], step: str) -> ir.Value:
        """The value in another shape."""
        wanted = self.constant(np.array(shape), f"{step}_shape")
        return self.value("Reshape", [value, wanted], step, shape)

    def constant(self, array: np.ndarray, step: str) -> ir.Value:
        """An initializer."""
        return _initializer(self.graph, f"{self._name}.{step}", array)


def _sizes(value: ir.Value) -> list[int | ir.SymbolicDim]:
    assert value.shape is not None
    return list(value.shape)


def _add_adapter(
    node: ir.Node, a: ir.Value, b: ir.Value, scale: float, weight: str, place: int
) -> None:
    """Add scale · (x Aᵀ) Bᵀ to the result of `node`, whose users then read the sum.

    Args:
        node: a MatMul, Gemm or Conv by the weight of that name.
        place: of the node among those.
    """
    import onnx_ir as ir

    x, result = node.inputs[0], node.outputs[0]
    graph = node.graph
    assert x is not None
    assert isinstance(graph, ir.Graph)
    if node.op_type == "Gemm" and "alpha" in node.attributes:
        # It scales the product with the weight, of which the adapter is a part.
        scale *= node.attributes["alpha"].as_float()
    name = f"{weight}.lora_{place}"
    added = _Added(graph, name, weight, node.metadata_props)
    factor = added.constant(np.array(scale, np.float32), "scale")
    rank, shape = _sizes(a)[0], None if result.shape is None else list(result.shape)
    if node.op_type == "Conv":
        hidden = None if shape is None else [shape[0], rank, *shape[2:]]
        # With stride and padding, of which B has none.
        inner = added.value("Conv", [x, a], "A", hidden, node.attributes.values())
        scaled = added.value("Mul", [inner, factor], "scaled", hidden)
        outer = added.value("Conv", [scaled, b], "B", shape, [_kernel(b)])
    else:
        hidden = None if x.shape is None else [*list(x.shape)[:-1], rank]
        inner = added.value("MatMul", [x, added.transposed(a, "A_transposed")], "A", hidden)
        scaled = added.value("Mul", [inner, factor], "scaled", hidden)
        transposed = added.transposed(b, "B_transposed")
        outer = added.value("MatMul", [scaled, transposed], "B", shape)
    total = added.value("Add", [result, outer], "sum", shape)
    users = tuple(use for use in result.uses() if use.node is not total.producer())
    graph.insert_after(node, added.nodes)
    for user, index in users:
        user.replace_input_with(index, total)
    for index, output in enumerate(graph.outputs):
        if output is result:
            graph.outputs[index] = total
            total.name, result.name = result.name, f"{name}.base"


def _kernel(weight: ir.Value) -> ir.Attr:
    import onnx_ir as ir

    return ir.AttrInt64s("kernel_shape", [1] * (len(_sizes(weight)) - 2))


def _add_to_weight(
    value: ir.Value, a: ir.Value, b: ir.Value, weight: LinearWeight, options: LoraOptions
) -> None:
    """Add alpha / rank · B A to a weight, whose users then read the sum."""
    import onnx_ir as ir

    users = tuple(value.uses())
    graph = value.graph
    assert isinstance(graph, ir.Graph)
    added = _Added(graph, f"{weight.name}.lora", weight.name, {})
    matrices = [a, b]
    if weight.kernel:
        shapes = (shape[:2] for shape in weight.adapter_shapes(options.rank))
        matrices = [
            added.reshaped(each, sizes, step)
            for each, sizes, step in zip(matrices, shapes, "AB", strict=True)
        ]
    factors = matrices[::-1]
    if weight.inputs_first:
        factors = [
            added.transposed(each, f"{step}_transposed")
            for each, step in zip(matrices, "AB", strict=True)
        ]
    sizes = weight.shape[:2]
    product = added.value("MatMul", factors, "product", sizes)
    factor = added.constant(np.array(options.scale, np.float32), "scale")
    change = added.value("Mul", [product, factor], "change", sizes)
    if weight.kernel:
        change = added.reshaped(change, weight.shape, "reshaped")
    total = added.value("Add", [value, change], "sum", weight.shape)
    graph.insert_before(graph[0], added.nodes)
    for user, index in users:
        user.replace_input_with(index, total)
    for index, output in enumerate(graph.outputs):
        if output is value:
            graph.outputs[index] = total
