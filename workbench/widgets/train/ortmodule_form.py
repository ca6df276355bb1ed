"""The options of ORTModule as a form, in a foldable section under the settings."""

from __future__ import annotations

from typing import Any, get_args

import anywidget
import traitlets
from pydantic import ValidationError

from workbench.settings.ortmodule_options import DEFAULTS, ORTModuleOptions
from workbench.settings.setting_problems import problems_by_setting
from workbench.widgets.bundle import bundle

GROUPS: dict[str, tuple[str, ...]] = {
    "Memory": (
        "memory_optimizer_level",
        "recompute_config",
        "memory_efficient_gradients",
        "memory_reuse",
        "memory_pattern",
    ),
    "Graph": (
        "compute_optimizer",
        "training_outputs",
        "label_sparsity",
        "embedding_sparsity",
        "gelu_approximation",
        "cast_propagation_level",
        "cast_propagation_strategy",
        "cast_propagation_allow",
    ),
    "Running": (
        *("gradient_pieces", "threads", "spinning", "deterministic", "pytorch_kernels"),
        *("device_kernels", "operator_kernels"),
    ),
    "Records": ("saved_graphs", "saved_graphs_prefix", "log_level"),
}
"""Heading -> the options under it."""


class ORTModuleForm(anywidget.AnyWidget):
    """A field for each option, with a description.

    Invalid values are marked here, and refused by `TrainingConfig`, all at once, with reasons.
    """

    _esm = bundle("ortmodule_form.js")
    _css = bundle("ortmodule_form.css")

    groups = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "title": traitlets.Unicode(),
                "fields": traitlets.List(
                    traitlets.Dict(
                        per_key_traits={
                            "name": traitlets.Unicode(),
                            "label": traitlets.Unicode(),
                            "description": traitlets.Unicode(),
                            "kind": traitlets.Unicode(),
                            "choices": traitlets.List(traitlets.Any()),
                            "default": traitlets.Any(),
                        }
                    )
                ),
            }
        )
    ).tag(sync=True)
    """One dict a heading, with a dict an option. `kind` is "switch", "choice", "number" or "text";
    `choices` are those of a choice."""
    value = traitlets.Dict().tag(sync=True)
    """Options that differ from their defaults, by name."""
    problems = traitlets.Dict(
        key_trait=traitlets.Unicode(), value_trait=traitlets.Unicode(), default_value={}
    ).tag(sync=True)
    """Why an option is refused, by its name, in a sentence."""

    def __init__(self, **kwargs: Any) -> None:
        groups = [
            {
                "title": title,
                "fields": [_field(name) for name in names if name in ORTModuleOptions.model_fields],
            }
            for title, names in GROUPS.items()
        ]
        super().__init__(groups=groups, **kwargs)
        self.observe(self._check, "value")
        self._check()

    def wrong(self) -> list[str]:
        """Labels of the options that are refused, in their order."""
        fields = (field for group in self.groups for field in group["fields"])
        return [field["label"] for field in fields if field["name"] in self.problems]

    def _check(self, _: Any = None) -> None:
        try:
            ORTModuleOptions(**self.value)
            self.problems = {}
        except ValidationError as error:
            found = problems_by_setting(error, ORTModuleOptions)
            self.problems = {name: why[0].upper() + why[1:] for name, why in found.items()}


def _field(name: str) -> dict[str, Any]:
    field = ORTModuleOptions.model_fields[name]
    default = getattr(DEFAULTS, name)
    choices: tuple[Any, ...] = ()
    if field.annotation is bool:
        kind = "switch"
    elif field.annotation == int | None:
        kind = "number"
    elif field.annotation in (str | None, tuple[str, ...]):
        kind, default = "text", ""
    else:
        kind, choices = "choice", get_args(field.annotation)
    return {
        "name": name,
        "label": field.title,
        "description": (field.description or "").replace("`", ""),
        "kind": kind,
        "choices": list(choices),
        "default": default,
    }
