"""Specs of a module's inputs and outputs, saved as JSON for workers without torch."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import ModelError
from workbench.modules.dynamic_axes import BATCH, DynamicAxes, input_shapes
from workbench.modules.example_inputs import ExampleInputs
from workbench.modules.flattened_outputs import output_names
from workbench.modules.forward_pass import trace_shapes
from workbench.modules.keyword_arguments import take_inputs_in_order
from workbench.modules.modes import modes_kept
from workbench.modules.parameter_dtypes import refuse_untrainable_state, train_in_float32
from workbench.modules.structure import structure_of
from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch


class ModuleSpecs(NamedTuple):
    """Specs of a module."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    keywords: tuple[str, ...] = ()
    """Argument names of `forward` for the inputs; empty if they are positional."""
    notices: tuple[str, ...] = ()
    """Messages about changes that were needed to make the module trainable."""
    structure: str = ""
    """See `structure_of`; empty where the model is known by its name."""

    @classmethod
    def of(
        cls,
        module: torch.nn.Module,
        examples: ExampleInputs,
        dynamic_axes: DynamicAxes | None = None,
    ) -> ModuleSpecs:
        """Determine the specs from the signature of `forward` and by running it.

        Args:
            module: its half-precision parameters are converted to float32.
            examples: inputs to run it on.
            dynamic_axes: by input name: names of the dynamic axes other than the batch.

        Raises:
            ModelError: `forward` fails, or the first axis of its first output is not the batch.
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
        structure = structure_of(module)
        return cls(tuple(inputs), tuple(named), examples.keywords, notices, structure)

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
            str(record.get("structure", "")),
        )


def _input_names(module: torch.nn.Module, count: int) -> list[str]:
    """Names of the first `count` arguments of `forward`; numbered for `*args`."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(module.forward).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind in kinds][:count]
    return names + [f"input_{index}" for index in range(len(names), count)]


def _unused(name: str, taken: set[str]) -> str:
    """`name`, with underscores appended until it is unique; adds it to `taken`."""
    while name in taken:
        name = f"{name}_"
    taken.add(name)
    return name
