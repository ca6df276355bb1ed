"""Dtypes of a module's parameters: only float32 is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import ModelError

if TYPE_CHECKING:
    import torch


def train_in_float32(module: torch.nn.Module) -> tuple[str, ...]:
    """Convert float16 and bfloat16 parameters and buffers to float32 in place, without loss.

    Returns:
        A message per converted dtype.
    """
    import torch

    halves = (torch.float16, torch.bfloat16)
    names: dict[torch.dtype, list[str]] = {}
    for name, value in [*module.named_parameters(), *module.named_buffers()]:
        if value.dtype in halves:
            names.setdefault(value.dtype, []).append(name)
            # The tensor object stays the same, so tied weights stay tied.
            value.data = value.data.float()
    return tuple(notice(str(dtype).removeprefix("torch."), held) for dtype, held in names.items())


def notice(dtype: str, names: list[str]) -> str:
    """The message about converted half-precision weights."""
    which = f"{names[0]!r} is" if len(names) == 1 else f"{len(names)} weights are"
    return f"{which} {dtype}; trained and exported in float32."


def refuse_untrainable_state(module: torch.nn.Module) -> None:
    """Raise a ModelError for parameters that are uninitialized or not float32."""
    import torch

    for name, value in module.named_parameters():
        if isinstance(value, torch.nn.parameter.UninitializedParameter):
            raise ModelError(
                f"Parameter {name!r} is not initialized (a lazy module); run the module once on "
                "example inputs before loading it."
            )
        if value.dtype != torch.float32:
            dtype = str(value.dtype).removeprefix("torch.")
            raise ModelError(
                f"Parameter {name!r} is {dtype}, but only float32 can be trained. Convert the "
                "module first, with module.float()."
            )
