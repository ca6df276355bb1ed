"""The fields of federated training, and their conversion to arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError

from workbench.errors import ConfigError
from workbench.federated import ClientSplit, dirichlet, feature_shift, groups, iid, quantity
from workbench.settings.federation import (
    ClippingName,
    FederationOptions,
    PrivacyName,
    StrategyName,
)
from workbench.settings.setting_problems import problems_of

SplitName = Literal["iid", "dirichlet", "quantity", "feature_shift", "groups"]

SPLITS: Mapping[str, Callable[..., ClientSplit]] = {
    "iid": iid,
    "dirichlet": dirichlet,
    "quantity": quantity,
    "feature_shift": feature_shift,
    "groups": groups,
}
"""Splits by name in the form. `groups` divides by the groups that the dataset was loaded with."""
OF_ALPHA = ("dirichlet", "quantity")


class FederationForm(FederationOptions):
    """The options of federated training, and the division of the rows, in a form; frozen."""

    split: SplitName = Field(
        default="iid",
        description="how rows are divided: at random, by label, by number, by the inputs' mean, "
        "or by the dataset's groups (Group column of a .csv file)",
    )
    alpha: float = Field(
        default=0.3,
        gt=0,
        lt=1e9,
        allow_inf_nan=False,
        description="of dirichlet and quantity: the smaller, the more the clients differ",
    )


SWITCH = (
    "Federated",
    "Train divides the rows among simulated clients that train on device; Compare does not",
)
"""Label and description of the field that turns it on."""

LABELS: Mapping[str, tuple[str, str]] = {
    "federation.clients": (
        "Clients",
        "simulated; one per group by default if Split is groups",
    ),
    "federation.rounds": ("Rounds", ""),
    "federation.strategy": ("Strategy", ""),
    "federation.strategy_options": (
        "Strategy options",
        "by Flower's names, such as proximal_mu=0.1, with commas between",
    ),
    "federation.split": ("Split", ""),
    "federation.alpha": ("Split alpha", ""),
    "federation.local_epochs": ("Local epochs", ""),
    "federation.local_steps": ("Local steps", ""),
    "federation.fraction": ("Share of clients", ""),
    "federation.unavailable": ("Unreachable", ""),
    "federation.round_timeout_s": ("Round timeout (s)", ""),
    "federation.speed_spread": ("Speed spread", ""),
    "federation.devices": (
        "Client devices",
        "profiles that are drawn by the seed; a client that needs more memory is left out",
    ),
    "federation.privacy": ("Privacy", ""),
    "federation.clipping": ("Clipping", ""),
    "federation.clipping_norm": ("Clipping norm", ""),
    "federation.noise_multiplier": ("Noise multiplier", ""),
    "federation.delta": ("Delta", ""),
    "federation.secure_aggregation": ("Secure aggregation", ""),
}
"""In the order of the form: label, and a description where that of the options is unsuitable."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "federation.strategy": get_args(StrategyName),
    "federation.split": get_args(SplitName),
    "federation.privacy": get_args(PrivacyName),
    "federation.clipping": get_args(ClippingName),
}
UNSET = {
    "federation.strategy_options": "those of Flower",
    "federation.local_steps": "all rows",
    "federation.devices": "this machine",
    "federation.privacy": "none",
}
"""Effective value of an empty field, where the default does not show it."""

ELSEWHERE: Mapping[str, str] = {
    "epochs": "Federated training counts rounds: set Local epochs instead.",
    "steps": "Federated training counts rounds: set Rounds and Local steps instead.",
    "early_stopping": "Federated training counts rounds: set fewer Rounds instead.",
    "device": "Set Client devices instead, which limits the clients.",
    "gradient_accumulation": "Clients do not accumulate gradients: set a larger Batch size.",
    "base_except": "Clients start from all of the initial weights: leave this empty.",
}
"""Training settings that federated training does not accept, with the reason and an alternative."""


def federate_settings(form: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `federate` for the values of the form.

    Raises:
        ConfigError: some are wrong; lists all of them.
    """
    try:
        FederationForm(**form)
    except ValidationError as error:
        raise ConfigError(problems_of(error, FederationForm)) from None
    given = {name: value for name, value in form.items() if name not in ("split", "alpha")}
    if "split" not in form:
        return given
    make = SPLITS[form["split"]]
    return {**given, "split": make(*_alpha(form))}


def split_code(form: Mapping[str, Any]) -> str:
    """The expression for `split=`, as "wb.federated.dirichlet(0.3)"; empty for the default."""
    if "split" not in form:
        return ""
    return f"wb.federated.{form['split']}({', '.join(map(repr, _alpha(form)))})"


def form_of(options: FederationOptions, split: str) -> dict[str, Any]:
    """The values of the form that describe a recorded run.

    Args:
        options: of the run.
        split: name of its split, as "dirichlet(0.3)".
    """
    given = {
        name: value
        for name, value in options
        if f"federation.{name}" in LABELS and value != FederationForm.model_fields[name].default
    }
    if "devices" in given:
        given["devices"] = tuple(device.name for device in given["devices"])
    found = re.fullmatch(r"(\w+)(?:\((.+)\))?", split)
    if found is not None and found[1] in SPLITS and found[1] != "iid":
        given["split"] = found[1]
        if found[2]:
            given["alpha"] = float(found[2])
    return given


def _alpha(form: Mapping[str, Any]) -> tuple[Any, ...]:
    """The argument of the split, if it takes one."""
    default = FederationForm.model_fields["alpha"].default
    return (form.get("alpha", default),) if form["split"] in OF_ALPHA else ()
