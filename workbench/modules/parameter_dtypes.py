"""What the parameters of a module are made of: float32, which alone trains here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import ModelError

if TYPE_CHECKING:
    import torch


def train_in_float32(module: torch.nn.Module) -> tuple[str, ...]:
    """Make float16 and bfloat16 parameters and buffers float32, in place; says which were so.

    Their values are kept exactly. Buffers of another dtype stay as they are.
    """
    import torch

    halves = (torch.float16, torch.bfloat16)
    names: dict[torch.dtype, list[str]] = {}
    for name, value in [*module.named_parameters(), *module.named_buffers()]:
        if value.dtype in halves:
            names.setdefault(value.dtype, []).append(name)
            # The tensor stays the same object, so tied weights stay tied.
            value.data = value.data.float()
    return tuple(notice(str(dtype).removeprefix("torch."), held) for dtype, held in names.items())


def notice(dtype: str, names: list[str]) -> str:
    """What to tell of values in half precision."""
    which = f"{names[0]!r} is" if len(names) == 1 else f"{len(names)} weights are"
    return f"{which} {dtype}; trained and exported in float32."


def refuse_untrainable_state(module: torch.nn.Module) -> None:
    """Raise a ModelError for parameters that no engine here can hold: only float32 on the CPU."""
    import torch

    for name, value in module.named_parameters():
        if isinstance(value, torch.nn.parameter.UninitializedParameter):
            raise ModelError(
                f"Parameter {name!r} is not initialised yet (a lazy layer); run the module once "
                "on example inputs before you load it."
            )
        if value.dtype != torch.float32:
            dtype = str(value.dtype).removeprefix("torch.")
            raise ModelError(
                f"Parameter {name!r} is {dtype}; the workbench trains float32. "
                "Convert the module first, with module.float()."
            )
