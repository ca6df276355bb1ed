"""Which parameters of a torch module train, and their optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import EngineError
from workbench.lora.module import add_lora
from workbench.settings.requires_grad import trainable_names

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

    from workbench.settings.config import TrainingConfig


def make_trainable(module: nn.Module, config: TrainingConfig) -> None:
    """Add the adapters of LoRA if the config has it, and freeze what is not trained, in place."""
    if config.lora is None:
        freeze(module, config.requires_grad)
        return
    # Patterns select among the model's own parameters; the adapters are always trained.
    if config.requires_grad is None:
        module.requires_grad_(False)
    else:
        freeze(module, config.requires_grad)
    add_lora(module, config.lora)


def freeze(module: nn.Module, patterns: tuple[str, ...] | None) -> None:
    """Freeze every parameter that matches no pattern; None keeps the module as it is."""
    if patterns is None:
        return
    names = [name for name, _ in module.named_parameters()]
    chosen = set(trainable_names(names, patterns))
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name in chosen)


def make_optimizer(module: nn.Module, config: TrainingConfig) -> Optimizer:
    """The optimizer of the config over the trainable parameters, in PyTorch's fused form.

    Other arguments have the defaults of `torch.optim`.

    Raises:
        EngineError: no parameter is trainable.
    """
    from torch import optim

    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not parameters:
        raise EngineError("The model has no parameter that requires a gradient; nothing can train.")
    kind = {"adamw": optim.AdamW, "sgd": optim.SGD}[config.optimizer]
    made: Optimizer = kind(
        parameters,
        lr=config.learning_rate,
        weight_decay=config.effective_weight_decay,
        fused=True,
    )
    return made
