"""Divides the values of a model into trained parameters, frozen ones and constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.artifacts.generation.forward_graphs import Forward
from workbench.errors import UntrainableError
from workbench.onnx_io.graph import unfit_sentence, unfit_weights
from workbench.settings.requires_grad import trainable_names
from workbench.trainable import leading_to_outputs

if TYPE_CHECKING:
    import onnx


class Parameters(NamedTuple):
    """The values of a model by their role."""

    trainable: list[str]
    frozen: list[str]
    """Parameters without a gradient, and running statistics."""
    constants: dict[str, np.ndarray]
    """Values that no graph uses, or that are integers."""
    unreached: list[str]
    """Parameters that require gradients but that the loss does not depend on."""

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages for the user about the parameters."""
        if not self.unreached:
            return ()
        names = ", ".join(self.unreached[:3]) + (", ..." if len(self.unreached) > 3 else "")
        which = "a parameter" if len(self.unreached) == 1 else f"{len(self.unreached)} parameters"
        return (f"the loss does not depend on {which}, not trained: {names}",)


def choose_parameters(
    forward: Forward, graph: onnx.ModelProto, requires_grad: tuple[str, ...] | None
) -> Parameters:
    """Divide the values of a model.

    A parameter that the loss does not depend on is not trained, as in PyTorch, where its `grad`
    stays None.

    Raises:
        ConfigError: a pattern of `requires_grad` matches no parameter.
        UntrainableError: the loss does not depend on any trainable parameter.
    """
    chosen: list[str] | tuple[str, ...] = forward.trainable
    if requires_grad is not None:
        chosen = trainable_names(forward.parameters, requires_grad)
    held = [
        name
        for name in (value.name for value in graph.graph.initializer)
        if name in forward.weights and forward.weights[name].dtype == np.float32
    ]
    leading = leading_to_outputs(graph, [name for name in held if name in set(chosen)])
    if not leading:
        unfit = unfit_weights(graph)
        why = f" Of the weights, {unfit_sentence(unfit)}" if unfit else ""
        raise UntrainableError(
            "The loss does not depend on any trainable parameter. Parameters: "
            f"{', '.join(forward.parameters) or 'none'}.{why} Check requires_grad, the loss "
            "and the order of the outputs."
        )
    frozen = [name for name in held if name not in set(leading)]
    graph_values = {*leading, *frozen, *forward.aliases}
    constants = {name: v for name, v in forward.weights.items() if name not in graph_values}
    unreached = [name for name in chosen if name not in set(leading)]
    return Parameters(leading, frozen, constants, unreached)
