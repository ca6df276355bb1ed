"""Inputs, outputs and parameters of a module, learnt once and written to JSON for workers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import ModelError
from workbench.modules.dynamic_axes import BATCH, DynamicAxes, input_shapes
from workbench.modules.example_inputs import Examples
from workbench.modules.flattened_outputs import output_names
from workbench.modules.forward_pass import trace_shapes
from workbench.modules.keyword_arguments import take_inputs_in_order
from workbench.modules.modes import modes_kept
from workbench.modules.parameter_dtypes import refuse_untrainable_state, train_in_float32
from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch


class ModuleSpecs(NamedTuple):
    """What a worker without torch knows of a module."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    keywords: tuple[str, ...] = ()
    """The argument of `forward` that each input is for; empty where they go by position."""
    notices: tuple[str, ...] = ()
    """What was changed to make the module trainable."""

    @classmethod
    def of(
        cls, module: torch.nn.Module, examples: Examples, dynamic_axes: DynamicAxes | None = None
    ) -> ModuleSpecs:
        """Learn the specs from the signature of `forward` and from running it.

        Args:
            module: half-precision parameters of it become float32.
            examples: what to run it on.
            dynamic_axes: by the name of an input: names of axes of any size beside the batch.

        Raises:
            ModelError: `forward` fails, or its first output has no batch axis first.
        """
        notices = train_in_float32(module)
        refuse_untrainable_state(module)
        arguments = examples.keywords or _input_names(module, len(examples.arrays))
        shapes = input_shapes(arguments, examples.arrays, dynamic_axes)
        hook = take_inputs_in_order(module, examples.keywords)
        try:
            with modes_kept(module):
                outputs = trace_shapes(module, examples.arrays, input_shapes=shapes).outputs
        finally:
            if hook is not None:
                hook.remove()
        first_shape = outputs[0].shape
        if first_shape[:1] != (BATCH,):
            raise ModelError(
                f"The first output of {type(module).__name__} has shape {list(first_shape)}; its "
                "first axis must be the batch. Return predictions, not a loss."
            )
        taken = set(dict(module.named_parameters())) | set(dict(module.named_buffers()))
        inputs, named = [], []
        for name, shape, array in zip(arguments, shapes, examples.arrays, strict=True):
            inputs.append(TensorSpec(_unused(name, taken), shape, array.dtype.name))
        for name, output in zip(output_names([o.path for o in outputs]), outputs, strict=True):
            named.append(TensorSpec(_unused(name, taken), output.shape, output.dtype))
        return cls(tuple(inputs), tuple(named), examples.keywords, notices)

    def to_json(self) -> dict[str, Any]:
        """A record for JSON."""
        return self._asdict()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ModuleSpecs:
        """The specs that `to_json` described."""
        return cls(
            tuple(TensorSpec.from_json(spec) for spec in record["inputs"]),
            tuple(TensorSpec.from_json(spec) for spec in record["outputs"]),
            tuple(record.get("keywords", ())),
            tuple(record.get("notices", ())),
        )


def _input_names(module: torch.nn.Module, count: int) -> list[str]:
    """Names of the first `count` arguments of `forward`; numbered where it takes `*args`."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(module.forward).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind in kinds][:count]
    return names + [f"input_{index}" for index in range(len(names), count)]


def _unused(name: str, taken: set[str]) -> str:
    """`name`, or a variant of it that no parameter or other value has; it is taken then."""
    while name in taken:
        name = f"{name}_"
    taken.add(name)
    return name
