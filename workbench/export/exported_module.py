"""Wraps a module for the exporters: flat tensors in, flat tensors out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workbench.modules.flattened_outputs import flattened_outputs

if TYPE_CHECKING:
    import torch


def exported_module(module: torch.nn.Module, lost: list[str]) -> torch.nn.Module:
    """A module that calls `module` and returns a tuple of the tensors in its result.

    All names in it begin with "model.": torch.export puts submodules into its own class and
    fails where one of them is named like an attribute of that class ("code", "graph"). A tensor
    that is an input, a parameter or returned twice is returned as a copy, since an exporter gives
    each tensor one name. After them come the buffers named in its attribute `updated`, as the
    forward pass leaves them.

    Args:
        module: what is exported.
        lost: list for the Python state that the forward pass changes, if `module` trains; restored.
    """
    import torch

    from workbench.export.effects.state_snapshot import StateSnapshot
    from workbench.export.traced.traced_functions import TracedFunctions

    class Exported(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = module
            self.updated: tuple[str, ...] = ()

        def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            taken = {id(value) for value in (*inputs, *self.model.parameters())}
            taken |= {id(value) for value in self.model.buffers()}
            flat = []
            held = StateSnapshot(self.model) if self.model.training else None
            with TracedFunctions(training=self.model.training, lost=lost):
                outputs = self.model(*inputs)
            if held is not None:
                lost.extend(each.name for each in held.changes() if each.kind == "state")
                held.restore()
            for output in flattened_outputs(outputs):
                tensor = output.tensor
                flat.append(tensor.clone() if id(tensor) in taken else tensor)
                taken.add(id(tensor))
            flat += [self.get_buffer(name).clone() for name in self.updated]
            return tuple(flat)

    return Exported()


class Signature(NamedTuple):
    """Inputs and outputs of a module, as an exporter needs them."""

    inputs: tuple[torch.Tensor, ...]
    """One example for each input."""
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    """May be shorter than the outputs; the rest are named by the exporter."""
    axes: tuple[dict[int, str], ...]
    """For each input the names of its dynamic axes, the batch included."""
