"""Traces output shapes of a module and its layers in forward passes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.errors import FROM_USER_CODE, ModelError
from workbench.modules.dynamic_axes import BATCH
from workbench.modules.flattened_outputs import flattened_outputs
from workbench.modules.forward_failure import forward_failure

if TYPE_CHECKING:
    import torch

Shape = tuple[int | str, ...]


class OutputShape(NamedTuple):
    """One output tensor of a module."""

    path: tuple[str, ...]
    """Keys and indices that lead to it."""
    shape: Shape
    dtype: str


class Shapes(NamedTuple):
    """Shapes in forward passes, with names for sizes that depend on dynamic axes."""

    layers: dict[str, Shape | None]
    """By layer name, in order of execution; None if a layer returns no tensor."""
    outputs: list[OutputShape]
    """Of all output tensors of the module."""


def trace_shapes(
    module: torch.nn.Module,
    inputs: Sequence[np.ndarray],
    layers: Sequence[str] = (),
    input_shapes: Sequence[Shape] = (),
) -> Shapes:
    """Run `module` in evaluation mode on batches of two sizes and compare the shapes.

    Args:
        module: is left in evaluation mode.
        inputs: with a batch size of at least 2.
        layers: names of the submodules to trace.
        input_shapes: shapes of the inputs with the names of dynamic axes; each is also run with a
            different size.

    Raises:
        ModelError: the forward pass fails, or returns no tensors.
    """
    first = _run(module, inputs, layers)
    more_rows = [np.concatenate([array, array[:1]]) for array in inputs]
    second = _run(module, more_rows, layers, fits=len(inputs[0]))
    found = _compared(first, second, BATCH)
    names = dict.fromkeys(
        size for shape in input_shapes for size in shape[1:] if isinstance(size, str)
    )
    for name in names:
        found = _compared(found, _resized(module, inputs, input_shapes, name, layers), name)
    return found


def _resized(
    module: torch.nn.Module,
    inputs: Sequence[np.ndarray],
    shapes: Sequence[Shape],
    name: str,
    layers: Sequence[str],
) -> Shapes:
    """Run with axes `name` of twice the size, or if that fails half the size or one less."""
    axes = [[i for i, size in enumerate(shape) if i and size == name] for shape in shapes]
    size = next(x.shape[i[0]] for x, i in zip(inputs, axes, strict=True) if i)
    failure: ModelError | None = None
    for other in dict.fromkeys((2 * size, max(size // 2, 2), size - 1)):
        if other == size:
            continue
        resized = list(inputs)
        for index, places in enumerate(axes):
            for axis in places:
                resized[index] = np.take(resized[index], np.arange(other) % size, axis)
        try:
            return _run(module, resized, layers)
        except ModelError as error:
            failure = failure or error
    raise ModelError(f"The axes {name!r} cannot have a size other than {size}: {failure}")


def _compared(first: Shapes, second: Shapes, name: str) -> Shapes:
    """`first`, with names where sizes differ from those of `second`."""
    paths = [[output.path for output in run.outputs] for run in (first, second)]
    if first.layers.keys() != second.layers.keys() or paths[0] != paths[1]:
        raise ModelError(
            f"The module runs different layers or returns different tensors for different {name} "
            "sizes, which is not supported."
        )
    layers = {
        layer: _named(shape, second.layers[layer], name) for layer, shape in first.layers.items()
    }
    outputs = [
        output._replace(shape=_named(output.shape, other.shape, name) or ())
        for output, other in zip(first.outputs, second.outputs, strict=True)
    ]
    return Shapes(layers, outputs)


def _run(
    module: torch.nn.Module, inputs: Sequence[np.ndarray], layers: Sequence[str], fits: int = 0
) -> Shapes:
    import torch

    seen: dict[str, Shape | None] = {}

    def note(name: str, _module: torch.nn.Module, _inputs: Any, returned: Any) -> None:
        first = next(flattened_outputs(returned), None)
        seen.setdefault(name, None if first is None else tuple(first.tensor.shape))

    hooks = [
        module.get_submodule(name).register_forward_hook(partial(note, name)) for name in layers
    ]
    try:
        module.eval()
        with torch.no_grad():
            returned = module(*(torch.from_numpy(array.copy()) for array in inputs))
    except FROM_USER_CODE as error:
        raise forward_failure(module, inputs, error, fits) from error
    finally:
        for hook in hooks:
            hook.remove()
    outputs = [
        OutputShape(path, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))
        for path, tensor in flattened_outputs(returned)
    ]
    if not outputs:
        raise ModelError(
            f"{type(module).__name__} returns {type(returned).__name__}, which contains no tensor."
        )
    return Shapes(seen, outputs)


def _named(shape: Shape | None, other: Shape | None, name: str) -> Shape | None:
    if shape is None or other is None or len(shape) != len(other):
        return shape
    return tuple(
        # Keep existing names: those axes had the same size in both runs.
        size if isinstance(size, str) or size == second else name
        for size, second in zip(shape, other, strict=True)
    )
