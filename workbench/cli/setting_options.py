"""Options for the settings of a run, named as in `TrainingConfig`: one table for all commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from workbench.cli.added_options import Command, adds_options
from workbench.cli.options import given

OPTIONS: dict[str, tuple[Any, str]] = {
    "base": (str, "Start from the weights of a run, or of a .safetensors or .onnx file."),
    "base_except": (
        list[str],
        "Name or pattern of weights not taken from --base; may be repeated.",
    ),
    "epochs": (int, "Passes over the training split."),
    "steps": (int, "Optimizer steps; overrides epochs."),
    "batch_size": (int, "Samples per batch."),
    "learning_rate": (float, "Learning rate of the optimizer."),
    "lr_schedule": (
        str,
        "constant, linear, cosine or polynomial decay of the learning rate to 0.",
    ),
    "lr_warmup_steps": (int, "Steps of linear learning-rate warm-up."),
    "lr_power": (float, "Power of the polynomial schedule."),
    "gradient_accumulation": (int, "Batches whose gradients are averaged for one step."),
    "max_grad_norm": (float, "Gradients are clipped to this total norm."),
    "optimizer": (str, "adamw or sgd."),
    "weight_decay": (float, "Default: as in torch.optim."),
    "loss": (
        str,
        "cross_entropy, nll, mse, l1, smooth_l1, bce_with_logits, package.module:function, or "
        'several by output as JSON: {"logits": "cross_entropy", "aux": {"name": "mse", '
        '"factor": 0.3}}.',
    ),
    "loss_option": (
        list[str],
        "Option of the loss, such as label_smoothing=0.1 or weight=1,4; may be repeated.",
    ),
    "requires_grad": (
        list[str],
        "Name or pattern of parameters to train; may be repeated. Default: all.",
    ),
    "lora_rank": (int, "Train low-rank adapters (LoRA) of this rank."),
    "lora_alpha": (float, "LoRA's product is scaled by alpha / rank. Default: 8."),
    "lora_targets": (
        list[str],
        "Name or pattern of weights to adapt; may be repeated. Default: all linear layers.",
    ),
    "lora_seed": (int, "Random seed of the initial adapters."),
    "seed": (int, "Random seed of the batch order."),
    "processes": (int, "Processes that share each batch; engines pytorch and ortmodule."),
    "threads": (int, "Intra-op threads of each engine."),
    "device_kernels": (
        bool,
        "Run the workbench's own kernels where they are faster; engine ondevice.",
    ),
    "operator_kernels": (
        list[str],
        "Library of a family of operators, such as gelu=standard; may be repeated; engine "
        "ondevice.",
    ),
    "label_sparsity": (
        bool,
        "Compute logits only where the label is not ignored; engine ondevice.",
    ),
    "tuning": (
        str,
        "kept: apply the result of `workbench tune` on this machine, if any; off; or a file of it.",
    ),
    "warmup_steps": (int, "First steps, excluded from throughput."),
    "evaluate": (bool, "Evaluate the test split during training."),
    "evaluate_every": (int, "Steps between evaluations. Default: after each epoch."),
    "early_stopping": (
        int,
        "Stop after this many evaluations in a row without a lower test loss.",
    ),
    "layer_statistics_every": (
        int,
        "Steps between records of each layer's gradient norm and update-to-weight ratio.",
    ),
    "checkpoint_every": (int, "Steps between checkpoints."),
    "checkpoint_every_s": (float, "Seconds between checkpoints."),
    "memory_limit_bytes": (int, "A worker is killed when its resident set exceeds this."),
    "device": (
        str,
        "Limits each worker's cores and memory: phone, single-board-computer, browser, or "
        "numbers such as cores=2,memory_bytes=500000000.",
    ),
    "ortmodule": (
        list[str],
        "Option of the engine ortmodule, such as memory_optimizer_level=1, threads=1 or "
        "saved_graphs=FOLDER; may be repeated. An unknown name lists all options.",
    ),
    "quiet_s": (
        float,
        "Before starting, wait until the machine has been idle for this many seconds.",
    ),
}
"""Type and help of each, in the order of `--help`. They are here, and not in the model of
settings alone, as a command that needs no settings starts twice as fast without pydantic; a test
compares both."""

METAVARS = {
    "base": "RUN|FILE",
    "loss_option": "NAME=VALUE",
    "operator_kernels": "FAMILY=LIBRARY",
    "ortmodule": "NAME=VALUE",
    "tuning": "kept|off|FILE",
}

LORA = ("lora_rank", "lora_alpha", "lora_targets", "lora_seed")
LOSS = ("loss", "loss_option")


def takes_settings(*names: str) -> Callable[[Command], Command]:
    """Give a command an option for each of these settings.

    Its `**settings` are then those that were given, as `TrainingConfig` takes them; only the
    options of ORTModule are as they were typed.
    """
    return adds_options({name: _annotation(name) for name in OPTIONS if name in names}, settings_of)


def _annotation(name: str) -> Any:
    kind, text = OPTIONS[name]
    option = typer.Option(help=text, metavar=METAVARS.get(name), rich_help_panel="Settings")
    return Annotated[kind | None, option]


def settings_of(options: dict[str, Any]) -> dict[str, Any]:
    """The settings that these options give, None where an option was not given.

    Raises:
        ConfigError: options contradict each other or cannot be read.
    """
    options = dict(options)
    lora = _chosen_lora(options)
    loss = chosen_loss(options.pop("loss", None), options.pop("loss_option", None))
    device = _chosen_device(options.pop("device", None))
    return given(**options, loss=loss, lora=lora, device=device)


def _chosen_lora(options: dict[str, Any]) -> dict[str, Any] | None:
    """The value of the options of LoRA for `TrainingConfig`; None: none of them is given.

    Raises:
        ConfigError: there are others without a rank.
    """
    from workbench.errors import ConfigError

    chosen = given(**{name.removeprefix("lora_"): options.pop(name, None) for name in LORA})
    if chosen and "rank" not in chosen:
        raise ConfigError(["--lora-alpha, --lora-targets and --lora-seed require --lora-rank."])
    return chosen or None


def _chosen_device(text: str | None) -> Any:
    """The value of `--device` for `TrainingConfig`: a profile's name, or a dict of numbers."""
    if text is None or "=" not in text:
        return text
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip(): _json_or_text(value.strip()) for name, _, value in pairs}


def chosen_ortmodule(assignments: list[str] | None, engines: Sequence[str]) -> Any:
    """The value of `--ortmodule` for `TrainingConfig`; None: not given.

    Raises:
        ConfigError: invalid options; lists all of them.
    """
    if not assignments:
        return None
    from workbench.cli.ortmodule_arguments import parse_options
    from workbench.errors import ConfigError
    from workbench.settings.engines import GraphKind, engine_info

    infos = map(engine_info, engines)
    if not any(info.graphs == GraphKind.ORTMODULE for info in infos):
        raise ConfigError(
            [f"--ortmodule applies only to the engine ortmodule, not to {', '.join(engines)}."]
        )
    return parse_options(assignments)


_NO_OPTIONS = ("name", "function_sha256")
"""Fields of a loss that are set by `--loss`, or only in records."""


def chosen_loss(loss: str | None, loss_options: list[str] | None) -> Any:
    """The value of `--loss` and `--loss-option` for `TrainingConfig`; None: not given.

    Raises:
        ConfigError: invalid options; lists all of them.
    """
    from workbench.errors import ConfigError
    from workbench.losses.loss import Loss

    value = _json_or_text(loss) if loss is not None and loss.lstrip()[:1] in ("{", "[") else loss
    if not loss_options:
        return value
    if not isinstance(value, str):
        raise ConfigError(
            ["--loss-option requires --loss with a single name; in JSON, add the options there."]
        )
    problems, parsed = [], {}
    for option in loss_options:
        name, equals, text = option.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            problems.append(f"--loss-option {option!r}: write it as NAME=VALUE.")
        elif name in _NO_OPTIONS:
            problems.append(f"--loss-option {option!r}: {name} is not an option of a loss.")
        parsed[name] = _json_or_text(text)
    if problems:
        raise ConfigError(problems)
    return Loss(value, **parsed)


def _json_or_text(text: str) -> Any:
    """Parse a value as JSON, or comma-separated numbers as a list; otherwise return the text."""
    import json

    for candidate in (text, f"[{text}]"):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return text
