"""What one forward pass of a module tells: the shapes that its layers and the whole return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.errors import ModelError

if TYPE_CHECKING:
    import torch

Shape = tuple[int | str, ...]


class Shapes(NamedTuple):
    """Shapes seen in a forward pass, "batch" wherever a size follows that of the inputs."""

    layers: dict[str, Shape | None]
    """By name of the layer, in order of execution; None where it returns no tensor first."""
    outputs: list[tuple[Shape, str]]
    """Shape and dtype of every tensor that the module returns."""


def trace_shapes(
    module: torch.nn.Module, inputs: Sequence[np.ndarray], layers: Sequence[str] = ()
) -> Shapes:
    """Run `module` in evaluation mode on batches of two sizes and compare the shapes.

    Args:
        module: its mode is left at evaluation.
        inputs: of one batch size, at least 2.
        layers: names of the submodules to watch.

    Raises:
        ModelError: the forward pass fails, or returns no tensors.
    """
    larger = [np.concatenate([array, array[:1]]) for array in inputs]
    first, second = _run(module, inputs, layers), _run(module, larger, layers)
    if first.layers.keys() != second.layers.keys() or len(first.outputs) != len(second.outputs):
        raise ModelError("The module runs other layers for another batch size; it cannot be used.")
    return Shapes(
        {name: _with_batch(shape, second.layers[name]) for name, shape in first.layers.items()},
        [
            (_with_batch(shape, other) or (), dtype)
            for (shape, dtype), (other, _) in zip(first.outputs, second.outputs, strict=True)
        ],
    )


def _run(module: torch.nn.Module, inputs: Sequence[np.ndarray], layers: Sequence[str]) -> Shapes:
    import torch

    seen: dict[str, Shape | None] = {}

    def note(name: str, _module: torch.nn.Module, _inputs: Any, output: Any) -> None:
        tensor = next(_tensors(output), None)
        seen.setdefault(name, None if tensor is None else tuple(tensor.shape))

    hooks = [
        module.get_submodule(name).register_forward_hook(partial(note, name)) for name in layers
    ]
    try:
        module.eval()
        with torch.no_grad():
            output = module(*(torch.from_numpy(array.copy()) for array in inputs))
    except Exception as error:
        shapes = ", ".join(str(array.shape) for array in inputs)
        raise ModelError(
            f"{type(module).__name__} fails on inputs of shape {shapes}: "
            f"{type(error).__name__}: {error}. Check example_inputs, and that forward takes any "
            "batch size."
        ) from error
    finally:
        for hook in hooks:
            hook.remove()
    dtypes = [(tuple(t.shape), str(t.dtype).removeprefix("torch.")) for t in _tensors(output)]
    if not dtypes:
        raise ModelError(
            f"{type(module).__name__} returns {type(output).__name__}, which holds no tensor."
        )
    return Shapes(seen, [(shape, dtype) for shape, dtype in dtypes])


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Every tensor in nested tuples, lists and mappings, in order."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _tensors(inner)
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from _tensors(inner)


def _with_batch(shape: Shape | None, larger: Shape | None) -> Shape | None:
    if shape is None or larger is None or len(shape) != len(larger):
        return shape
    return tuple(
        size if size == other else "batch" for size, other in zip(shape, larger, strict=True)
    )
