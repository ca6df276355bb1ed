"""Converts pydantic's validation errors of settings to sentences."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from workbench.display.validation_messages import validation_message
from workbench.errors import nearest, value_text

NOT_A_DICT = ("model_type", "model_attributes_type")
"""Pydantic's types of errors for a value in place of a dict of settings."""

OTHER_NAMES = {
    "batch_size": {"bs", "per_device_train_batch_size"},
    "epochs": {"max_epochs", "num_train_epochs"},
    "gradient_accumulation": {"accumulate_grad_batches", "gradient_accumulation_steps"},
    "learning_rate": {"lr"},
    "lr_schedule": {"lr_scheduler", "lr_scheduler_type", "scheduler"},
    "lr_warmup_steps": {"num_warmup_steps", "warmup"},
    "max_grad_norm": {"clip_grad_norm", "grad_clip", "gradient_clip_val", "gradient_clipping"},
    "seed": {"random_seed", "random_state"},
    "steps": {"max_steps"},
    "weight_decay": {"wd"},
}
"""Names of settings in other libraries, of which an error says what they are called here."""


def problems_by_setting(error: ValidationError, settings: type[BaseModel]) -> dict[str, str]:
    """Problem of each setting, without its name and value; inner settings have dotted names."""
    found: dict[str, str] = {}
    for problem in error.errors():
        if problem["type"] == "default_factory_not_called":
            continue
        for sentence in _sentences(problem, settings):
            name = ".".join(str(part) for part in problem["loc"] if not _is_branch(part))
            own, _, rest = sentence.partition(": ")
            # A sentence of our own on the whole begins with the name of the setting it is about.
            named = name or re.split(r"[ =:]", own)[0]
            found.setdefault(named, rest if rest and "=" in own else sentence)
    return found


def _is_branch(part: object) -> bool:
    """Whether it names the branch of a union in pydantic's error location, not a setting."""
    return isinstance(part, int) or str(part).startswith(("tuple[", "function-"))


def problems_of(error: ValidationError, settings: type[BaseModel]) -> list[str]:
    """One sentence per problem, with the nearest valid name or value if there is one.

    Args:
        error: raised by the validation of `settings`.
        settings: the model class; its fields may be models as well.
    """
    return [
        sentence
        for problem in error.errors()
        # Not a separate problem: the default depends on a setting that is wrong.
        if problem["type"] != "default_factory_not_called"
        for sentence in _sentences(problem, settings)
    ]


def _sentences(problem: Any, settings: type[BaseModel]) -> list[str]:
    owners = []
    for name in problem["loc"]:
        inner = _held(settings, name)
        if inner is None:
            break
        owners.append(f"{name}.")
        settings = inner
    if problem["type"] == "value_error":
        # Raised by a validator of the settings, with complete sentences.
        return [f"{''.join(owners)}{sentence}" for sentence in problem["ctx"]["error"].args]
    return [_sentence(problem, settings)]


def _sentence(problem: Any, settings: type[BaseModel]) -> str:
    """One sentence for an error of pydantic; `settings` is the class of the invalid field."""
    name = ".".join(str(part) for part in problem["loc"])
    last = str(problem["loc"][-1]) if problem["loc"] else ""
    if problem["type"] == "extra_forbidden":
        return f"{name}: no such setting. {_suggestion(last, settings.model_fields)}"
    if problem["type"] == "missing":  # its input is all that holds it
        return f"{name} is missing."
    value = problem["input"]
    field = settings.model_fields.get(last)
    if problem["type"] == "literal_error" and field is not None:
        known = _choices(field.annotation)
        shown = value_text(value)
        return f"{name}={shown}: {nearest(value if isinstance(value, str) else shown, known)}"
    message = f"{name}={value_text(value)}: {validation_message(problem)}"
    if problem["type"] in NOT_A_DICT and (example := _example(settings)):
        message += f", such as {example}"
    return f"{message}."


def _suggestion(name: str, known: Collection[str]) -> str:
    """The setting that other libraries give this name, or those with the nearest names."""
    ours = next((ours for ours, theirs in OTHER_NAMES.items() if name in theirs), None)
    return f"It is {ours!r} here." if ours and ours in known else nearest(name, known)


def _example(settings: type[BaseModel]) -> dict[str, Any]:
    """The settings of which the class has examples."""
    return {
        name: field.examples[0] for name, field in settings.model_fields.items() if field.examples
    }


def _choices(annotation: Any) -> list[str]:
    """The values of a Literal, also of one of several types that a setting may have."""
    found: list[str] = []
    for each in get_args(annotation):
        found += [str(each)] if isinstance(each, str | int) else _choices(each)
    return found


def _held(settings: type[BaseModel], name: object) -> type[BaseModel] | None:
    """The model class of the field `name`; None if it is not a model."""
    field = settings.model_fields.get(str(name))
    if field is None:
        return None
    kinds = (field.annotation, *get_args(field.annotation))
    models = (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))
    return next(models, None)
