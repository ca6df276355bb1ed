"""Checks after every rewrite of an ONNX graph; records the applied rewrites in it.

Rewrites that make a graph trainable have further postconditions: `workbench.trainable`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.errors import EngineError
from workbench.onnx_io.graph_metadata import REWRITES
from workbench.onnx_io.nodes import values_read

if TYPE_CHECKING:
    import onnx

_READ_ELEMENTS = 64
"""Most elements of an initializer whose values decide about shapes."""


class OutputSpec(NamedTuple):
    """The declaration of an output of a graph."""

    name: str
    element_type: int
    """Of `onnx.TensorProto`; 0: not known."""
    shape: tuple[int | None, ...] | None
    """None for each dynamic size, or where no shape is known."""

    def __str__(self) -> str:
        from onnx import TensorProto

        kind = TensorProto.DataType.Name(self.element_type).lower()
        if self.shape is None:
            return f"{self.name!r} ({kind}, shape not known)"
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name!r} ({kind}, shape [{sizes}])"


def output_specs(model: onnx.ModelProto) -> tuple[OutputSpec, ...]:
    """The outputs of `model`, for `check_rewrite`."""
    return tuple(map(output_spec, model.graph.output))


def output_spec(value: onnx.ValueInfoProto) -> OutputSpec:
    """The name, type and shape that `value` declares."""
    stated = value.type.tensor_type
    shape = None
    if stated.HasField("shape"):
        shape = tuple(d.dim_value if d.HasField("dim_value") else None for d in stated.shape.dim)
    return OutputSpec(value.name, stated.elem_type, shape)


def check_rewrite(model: onnx.ModelProto, rewrite: str, outputs: Sequence[OutputSpec]) -> None:
    """Check the graph that a rewrite left, and add the rewrite to those applied.

    - Every node, with its subgraphs, reads inputs, initializers and results of nodes. Their order
      is not checked: ONNX Runtime sorts nodes when it loads a graph.
    - Every value is computed once.
    - Every output of the graph is computed, an input or an initializer.
    - The domain of every node is declared.
    - The outputs are those expected: names, element types, numbers of axes and static sizes; and
      where the graph's operators determine a type or a number of axes, they are these.

    Args:
        model: rewritten.
        rewrite: its name, such as "attention kernels".
        outputs: those expected. A rewrite that keeps the outputs passes `output_specs` of the graph
            before; one that changes them states how. What is not known there may become known.

    Raises:
        EngineError: names the rewrite, the violated condition, and the rewrites before it.
    """
    entry = next((each for each in model.metadata_props if each.key == REWRITES), None)
    before = entry.value if entry is not None else ""
    problem = next(_problems(model, outputs), None)
    if problem is not None:
        raise EngineError(
            f"The rewrite '{rewrite}' left an invalid graph: {problem} Rewrites applied before "
            f"it: {before or 'none'}. This is a bug in the workbench, not in the model: please "
            "report it together with the model. Until it is fixed, train with engine='pytorch'."
        )
    if entry is None:
        entry = model.metadata_props.add(key=REWRITES)
    entry.value = f"{before}, {rewrite}" if before else rewrite


def _problems(model: onnx.ModelProto, outputs: Sequence[OutputSpec]) -> Iterator[str]:
    graph = model.graph
    given = {value.name for value in (*graph.input, *graph.initializer)}
    given |= {tensor.values.name for tensor in graph.sparse_initializer}
    computed = Counter(name for node in graph.node for name in node.output if name)
    domains = {entry.domain for entry in model.opset_import} | {"", "ai.onnx"}
    for node in graph.node:
        if node.domain not in domains:
            yield f"the domain {node.domain!r} of {node.op_type} {node.name!r} is not declared."
        for name in filter(None, values_read(node)):
            if name not in given and name not in computed:
                yield f"{node.op_type} {node.name!r} reads {name!r}, which nothing computes."
        for name in filter(None, node.output):
            if name in given or computed[name] > 1:
                yield f"{node.op_type} {node.name!r} computes {name!r}, which there is already."
    for value in graph.output:
        if value.name not in given and value.name not in computed:
            yield f"output {value.name!r} is not computed."
    yield from _other_outputs(model, outputs)


def _other_outputs(model: onnx.ModelProto, outputs: Sequence[OutputSpec]) -> Iterator[str]:
    found = output_specs(model)
    names = [output.name for output in outputs]
    if [output.name for output in found] != names:
        yield f"its outputs are {[output.name for output in found]}, not {names}."
        return
    for expected, declared in zip(outputs, found, strict=True):
        if not _fits(expected, declared, sizes=True):
            yield f"output {expected} became {declared}."
    for expected, computed in zip(outputs, _computed_outputs(model), strict=True):
        if not _fits(expected, computed, sizes=False):
            yield f"output {expected} is computed as {computed}."


def _fits(expected: OutputSpec, found: OutputSpec, *, sizes: bool) -> bool:
    """Whether nothing that is known of both differs; `sizes`: static sizes too."""
    if expected.element_type and found.element_type not in (0, expected.element_type):
        return False
    if expected.shape is None or found.shape is None:
        return True
    pairs = zip(expected.shape, found.shape, strict=False)
    return len(expected.shape) == len(found.shape) and not (
        sizes and any(None not in pair and pair[0] != pair[1] for pair in pairs)
    )


def _computed_outputs(model: onnx.ModelProto) -> tuple[OutputSpec, ...]:
    """The outputs as ONNX infers them from the nodes, whatever is declared."""
    import onnx

    graph = model.graph
    small = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    for field in ("node", "input", "output", "value_info"):
        getattr(small.graph, field).extend(getattr(graph, field))
    own = {value.name for value in graph.input}
    for tensor in graph.initializer:
        # The values of weights decide nothing, and would be copied.
        if math.prod(tensor.dims) <= _READ_ELEMENTS and not tensor.external_data:
            small.graph.initializer.append(tensor)
        elif tensor.name not in own:
            small.graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    for value in small.graph.output:
        value.ClearField("type")
    return output_specs(onnx.shape_inference.infer_shapes(small))
