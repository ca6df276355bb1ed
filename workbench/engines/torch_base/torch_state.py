"""State of PyTorch's training beside the weights, in one safetensors file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from workbench.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from torch import nn
    from torch.optim import Optimizer

STATE = "torch_state.safetensors"

_RANDOM = "random_state"
"""State of torch's default generator."""
_SEPARATOR = ":"
"""Between the name of a parameter and the name of an optimizer state."""

_KEPT = {"AdamW": {"step", "exp_avg", "exp_avg_sq"}, "SGD": set[str]()}
"""State that an optimizer has for each parameter it has updated; other optimizers may have any."""


def save_torch_state(module: nn.Module, optimizer: Optimizer, path: Path) -> None:
    """Write the optimizer's state of each parameter, and that of the random number generator."""
    import torch
    from safetensors.torch import save_file

    names = {parameter: name for name, parameter in module.named_parameters()}
    state = {
        # safetensors refuses other memory formats, which parameters may have.
        f"{names[parameter]}{_SEPARATOR}{key}": torch.as_tensor(value)
        .detach()
        .clone(memory_format=torch.contiguous_format)
        for parameter, kept in cast("dict[nn.Parameter, Any]", optimizer.state).items()
        for key, value in kept.items()
        if value is not None
    }
    save_file({**state, _RANDOM: torch.get_rng_state()}, path)


def load_torch_state(module: nn.Module, optimizer: Optimizer, path: Path) -> None:
    """Restore the optimizer and the random number generator from the file of `save_torch_state`.

    Raises:
        EngineError: the file is missing, or is of another model or optimizer.
    """
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found = load_file(path)
    except (SafetensorError, OSError) as error:
        raise EngineError(f"{path} cannot be read: {error}.") from None
    parameters = dict(module.named_parameters())
    trained = {each for group in optimizer.param_groups for each in group["params"]}
    if _RANDOM not in found:
        raise EngineError(f"{path} is incomplete: it has no {_RANDOM!r}.")
    try:
        torch.set_rng_state(found.pop(_RANDOM))
    except (TypeError, RuntimeError) as error:
        raise EngineError(
            f"{path} is corrupt: {_RANDOM!r} is not of a generator: {error}"
        ) from None
    for name, value in found.items():
        parameter, _, key = name.rpartition(_SEPARATOR)
        if parameters.get(parameter) not in trained:
            raise EngineError(
                f"{path} holds {key!r} of the parameter {parameter!r}, which does not train here. "
                "Resume the run with the model that it was started with."
            )
        _check_value(path, name, value, parameters[parameter])
        optimizer.state[parameters[parameter]][key] = _in_format_of(parameters[parameter], value)
    kind = type(optimizer).__name__
    for name, each in parameters.items():
        # A parameter that the loss does not depend on is never stepped.
        if each in optimizer.state and set(optimizer.state[each]) != _KEPT.get(
            kind, set(optimizer.state[each])
        ):
            raise EngineError(
                f"{path} holds {sorted(optimizer.state[each])} of the parameter {name!r}, and "
                f"{kind} keeps {sorted(_KEPT[kind])}. It is corrupt, or of another optimizer."
            )


def _in_format_of(parameter: nn.Parameter, value: torch.Tensor) -> torch.Tensor:
    """`value` in the memory format of `parameter`, as the optimizer allocates it; a scalar
    unchanged."""
    import torch

    if not value.dim():
        return value
    return torch.empty_like(parameter, dtype=value.dtype).copy_(value).detach()


def _check_value(path: Path, name: str, value: torch.Tensor, parameter: nn.Parameter) -> None:
    if not value.is_floating_point():
        raise EngineError(f"{path} is corrupt: {name!r} is {value.dtype}, not of floating point.")
    if value.dim() and value.shape != parameter.shape:
        raise EngineError(
            f"{path} holds {name!r} of shape {tuple(value.shape)} for a parameter of shape "
            f"{tuple(parameter.shape)}. Resume the run with the model that it was started with."
        )
