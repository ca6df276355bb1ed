"""Inputs, outputs and parameters of a module, learnt once and written to JSON for workers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.errors import ModelError
from workbench.models.forward_pass import trace_shapes
from workbench.models.module_source import refuse_untrainable_state
from workbench.models.specs import TensorSpec

if TYPE_CHECKING:
    import torch


class ModuleSpecs(NamedTuple):
    """What a worker without torch knows of a module."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]

    @classmethod
    def of(cls, module: torch.nn.Module, examples: Sequence[np.ndarray]) -> ModuleSpecs:
        """Learn the specs from the signature of `forward` and from running it.

        Raises:
            ModelError: `forward` fails, or its first output has no batch axis first.
        """
        refuse_untrainable_state(module)
        mode = module.training
        outputs = trace_shapes(module, examples).outputs
        module.train(mode)
        first_shape = outputs[0][0]
        if first_shape[:1] != ("batch",):
            raise ModelError(
                f"The first output of {type(module).__name__} has shape {list(first_shape)}; its "
                "first axis must be the batch. Return predictions, not a loss."
            )
        taken = set(dict(module.named_parameters())) | set(dict(module.named_buffers()))
        inputs = [
            TensorSpec(name, ("batch", *array.shape[1:]), array.dtype.name)
            for name, array in zip(_input_names(module, len(examples)), examples, strict=True)
        ]
        inputs = [spec._replace(name=_unused(spec.name, taken)) for spec in inputs]
        taken |= {spec.name for spec in inputs}
        numbers = [""] if len(outputs) == 1 else [f"_{index}" for index in range(len(outputs))]
        return cls(
            tuple(inputs),
            tuple(
                TensorSpec(_unused(f"output{number}", taken), shape, dtype)
                for number, (shape, dtype) in zip(numbers, outputs, strict=True)
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """A record for JSON."""
        return {"inputs": self.inputs, "outputs": self.outputs}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ModuleSpecs:
        """The specs that `to_json` described."""
        return cls(
            tuple(TensorSpec.from_json(spec) for spec in record["inputs"]),
            tuple(TensorSpec.from_json(spec) for spec in record["outputs"]),
        )


def _input_names(module: torch.nn.Module, count: int) -> list[str]:
    """Names of the first `count` arguments of `forward`; numbered where it takes `*args`."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(module.forward).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind in kinds][:count]
    return names + [f"input_{index}" for index in range(len(names), count)]


def _unused(name: str, taken: set[str]) -> str:
    """`name`, or a variant of it that no parameter or other value has."""
    while name in taken:
        name = f"{name}_"
    return name
