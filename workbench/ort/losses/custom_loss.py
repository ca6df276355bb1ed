"""A loss that is a function of torch tensors, exported and appended to a model's outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import FROM_USER_CODE, ModelError, UntrainableError, exception_text
from workbench.losses.loss import Loss
from workbench.losses.loss_functions import call_arguments, checked_scalar
from workbench.models import TensorSpec
from workbench.ort.losses.loss_graph import LossGraph, shape_of

if TYPE_CHECKING:
    import onnx
    import torch

ROWS = 3
"""Size of the batch that the function is exported with; the graph accepts any other."""

ANY_SIZE = 5
"""Size in the export of a dynamic axis other than the batch."""


def export_function(
    loss: Loss,
    function: Callable[..., Any],
    outputs: Sequence[onnx.ValueInfoProto],
    targets: Sequence[TensorSpec],
) -> onnx.ModelProto:
    """The graph of a function, whose inputs are the outputs and then the targets.

    Args:
        loss: for messages.
        function: takes the output or, where there are several, a tuple of them, and the target or
            a tuple of them; returns a scalar.
        outputs: with known shapes.
        targets: specs, int64 or float32.

    Raises:
        ConfigError: it does not return a scalar.
        UntrainableError: it fails, or cannot be exported.
    """
    import torch

    from workbench.export import torch_exporter
    from workbench.export.export import export_onnx

    specs = [_spec(value) for value in outputs]
    targets = [_with_axes_of(specs[0], target) for target in targets]
    arrays = [_example(spec) for spec in (*specs, *targets)]
    module = _as_module(function, len(outputs))
    tensors = [torch.from_numpy(array) for array in arrays]
    try:
        result = module(*tensors)
    except FROM_USER_CODE as error:
        shapes = ", ".join(f"{spec.name} {list(spec.shape)}" for spec in (*specs, *targets))
        raise UntrainableError(
            f"loss {loss.name} fails on {shapes}: {exception_text(error)}."
        ) from error
    checked_scalar(loss, result)
    try:
        return export_onnx(
            module,
            tensors,
            input_names=[_input_name(place) for place in range(len(arrays))],
            output_names=["value"],
            training=True,
            dynamic_axes=_dynamic_axes((*specs, *targets)),
            # Tracing would turn len(target) into a constant, and the loss of any other batch wrong.
            exporters=(torch_exporter.NAME,),
        )
    except ModelError as error:
        raise UntrainableError(
            f"loss {loss.name} cannot be exported, which on-device training needs. {error} The "
            "size of a batch is target.shape[0], not len(target). An engine that trains with "
            "PyTorch just calls the function."
        ) from error


def append_function(
    graph: LossGraph,
    loss: Loss,
    exported: onnx.ModelProto,
    outputs: Sequence[onnx.ValueInfoProto],
    targets: Sequence[TensorSpec],
) -> str:
    """Append the graph of a function to `outputs`; returns its scalar."""
    from onnx import helper

    first = _spec(outputs[0])
    for target in targets:
        dtype = helper.np_dtype_to_tensor_dtype(np.dtype(target.dtype))
        graph.input(target.name, dtype, list(_with_axes_of(first, target).shape))
    names = [value.name for value in outputs] + [target.name for target in targets]
    given = {_input_name(place): name for place, name in enumerate(names)}
    return graph.insert(exported.graph, given, f"loss {loss.name}")


def _input_name(place: int) -> str:
    return f"given_{place}"


def _spec(value: onnx.ValueInfoProto) -> TensorSpec:
    from onnx import helper

    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    shape = [size or f"{value.name}_{axis}" for axis, size in enumerate(shape_of(value))]
    return TensorSpec(value.name, ("batch", *shape[1:]), dtype.name)


def _with_axes_of(output: TensorSpec, target: TensorSpec) -> TensorSpec:
    """The target with the dynamic axes of the output: both have the same sequence."""
    named = dict(enumerate(output.shape))
    shape = [
        named[axis] if isinstance(named.get(axis), str) else size
        for axis, size in enumerate(target.shape)
    ]
    return target._replace(shape=tuple(shape))


def _example(spec: TensorSpec) -> np.ndarray:
    sizes = [ANY_SIZE if isinstance(size, str) else size for size in spec.shape]
    return np.zeros([ROWS, *sizes[1:]], spec.dtype)


def _dynamic_axes(specs: Sequence[TensorSpec]) -> dict[str, dict[int, str]]:
    return {
        _input_name(place): {
            axis: size for axis, size in enumerate(spec.shape) if axis and isinstance(size, str)
        }
        for place, spec in enumerate(specs)
    }


def _as_module(function: Callable[..., Any], output_count: int) -> torch.nn.Module:
    import torch

    class LossModule(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.function = function

        def forward(self, *values: torch.Tensor) -> Any:
            return self.function(*call_arguments(values[:output_count], values[output_count:]))

    return LossModule()
