"""The memory that a session takes for the values between the nodes of its graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workbench.ort.graph.memory.arena import Allocation, Arena
from workbench.ort.graph.memory.value_sizes import value_sizes

if TYPE_CHECKING:
    import onnx

VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Identity", "Flatten"})
"""Operators whose result always shares the memory of their first input."""

UPDATES = frozenset({"InPlaceAccumulatorV2"})
"""Operators that write into their first input, a buffer passed to the session."""

IN_PLACE = frozenset({
    "Abs", "Add", "Cast", "Clip", "Div", "Erf", "Exp", "Log", "Mul", "Neg", "Pow", "Relu",
    "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh",
})  # fmt: skip
"""Operators whose result reuses the memory of an input that nothing else reads."""

WORKSPACE: Mapping[str, int] = {"LayerNormalizationGrad": 4}
"""Operators whose kernels allocate memory outside the arena, in multiples of their result."""


class MemoryPlan(NamedTuple):
    """Bytes that a session takes for values at one batch size."""

    resident_bytes: int
    """Peak of the values in the arena, which does not shrink, and the largest workspace."""
    unknown_values: int
    """Values whose size is not known before the graph runs; not included in the bytes."""


def memory_plan(
    model: onnx.ModelProto, batch_size: int, portable: onnx.ModelProto | None = None
) -> MemoryPlan:
    """Memory of one run of `model`, in its order, with results in the memory of inputs.

    `TrainingSession` computes gradients of weights sooner, and takes up to a tenth less. Memory
    patterns and reuse are off, as in `TrainingSession`: each value is taken from the arena when its
    node runs, and freed after the last node that reads it.

    Args:
        model: as returned by `optimized_model`.
        batch_size: the size of every named axis of its inputs.
        portable: the same graph without the workbench's own kernels, where `model` has them.
    """
    graph, sizes = model.graph, value_sizes(model, batch_size, portable)
    planned = _Planned(model)
    workspaces = [
        WORKSPACE[node.op_type] * sizes.get(node.output[0], 0)
        for node in graph.node
        if node.op_type in WORKSPACE
    ]
    made = {name for node in graph.node for name in node.output if name}
    return MemoryPlan(
        planned.run(sizes) + max(workspaces, default=0), len(made - sizes.keys() - planned.on_given)
    )


class _Planned:
    """Assigns memory to values by the rules of ONNX Runtime's allocation planner.

    A value reuses the memory of an input of its shape, where nothing else reads that. Only shapes
    known when the model is loaded count.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self._nodes = graph.node
        self._outputs = {value.name for value in graph.output}
        self._shapes = _loaded_shapes(model)
        self._left = Counter(name for node in graph.node for name in set(node.input) if name)
        self._left.update(self._outputs)
        self._owner: dict[str, str | None] = {}
        """The value whose memory each value uses; None: memory passed to the session."""
        self._reads: Counter[str] = Counter()
        """Remaining reads of values on the memory of a value."""
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        """By owner, the index of the node that computes it, and of the last that uses its
        memory."""
        for index, node in enumerate(graph.node):
            self._place(index, node)

    @property
    def on_given(self) -> set[str]:
        """Values on memory passed to the session."""
        return {name for name, owner in self._owner.items() if owner is None}

    def run(self, sizes: Mapping[str, int]) -> int:
        """Bytes that the arena has made resident at the end of a run, by the sizes of values."""
        arena, places = Arena(), dict[str, Allocation | None]()
        freed: dict[int, list[str]] = defaultdict(list)
        for owner, index in self._last.items():
            freed[index].append(owner)
        for index, node in enumerate(self._nodes):
            for name in node.output:
                if self._first.get(name) == index:
                    places[name] = arena.allocate(sizes.get(name, 0))
            for owner in freed[index]:
                arena.release(places.pop(owner))
        return arena.resident_bytes

    def _place(self, index: int, node: onnx.NodeProto) -> None:
        for position, name in enumerate(node.output):
            if not name:
                continue
            self._owner[name] = owner = self._owner_of(node, position)
            if owner is not None:
                self._first.setdefault(owner, index)
                self._reads[owner] += self._left[name]
        for name in dict.fromkeys((*node.input, *node.output)):
            owner = self._owner.get(name)
            if owner is None:
                continue
            kept = name in self._outputs or owner in self._outputs
            self._last[owner] = max(self._last.get(owner, 0), len(self._nodes) if kept else index)
            if name in node.input:
                self._reads[owner] -= 1

    def _owner_of(self, node: onnx.NodeProto, position: int) -> str | None:
        name: str = node.output[position]
        if position == 0 and (node.op_type in VIEWS or node.op_type in UPDATES):
            return self._owner.get(node.input[0])
        shape = self._shapes.get(name)
        if shape is None:
            return name
        if position == 0 and node.op_type in IN_PLACE:
            for source in node.input:
                owner = self._owner.get(source)
                read_once = owner is not None and self._reads[owner] == 1
                if read_once and self._shapes.get(source) == shape:
                    return owner
        return name


def _loaded_shapes(model: onnx.ModelProto) -> dict[str, tuple[int | str, ...]]:
    """Bytes of an element, and the axes, of each value whose axes all have a size or a name.

    ONNX Runtime infers the shapes of standard operators again when it loads the model.
    """
    import onnx
    from onnx.helper import tensor_dtype_to_np_dtype

    graph = onnx.shape_inference.infer_shapes(model).graph
    found = {}
    for value in (*graph.value_info, *graph.input, *graph.output):
        tensor = value.type.tensor_type
        axes = [
            axis.dim_value if axis.HasField("dim_value") else axis.dim_param
            for axis in tensor.shape.dim
        ]
        if tensor.HasField("shape") and "" not in axes:
            found[value.name] = (tensor_dtype_to_np_dtype(tensor.elem_type).itemsize, *axes)
    return found


def optimized_model(path: Path, folder: Path, library: Path | None = None) -> onnx.ModelProto:
    """The graph of a model after ONNX Runtime's optimizations; loads ONNX Runtime.

    Args:
        path: the model.
        folder: an existing folder for a temporary file.
        library: of the workbench's own kernels, where the model has their operators.
    """
    import onnx

    from workbench.ort.native import native

    native()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(folder / path.name)
    if library is not None:
        options.register_custom_ops_library(str(library))
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return onnx.load(options.optimized_model_filepath)
