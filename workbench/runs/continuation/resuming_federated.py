"""Resuming a federated run: its steps are rounds, and only a simulation continues here."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from workbench.errors import ConfigError, RunError
from workbench.runs.run import Run
from workbench.settings.federation import FederationOptions
from workbench.settings.setting_problems import problems_of

CHANGEABLE_FEDERATED = frozenset({
    "rounds", "learning_rate", "evaluate", "evaluate_every", "checkpoint_every",
    "checkpoint_every_s",
})  # fmt: skip
"""Settings that may differ when a federated run is resumed."""


def refuse_deployed(run: Run) -> None:
    """Raise for a run whose server is started by Flower.

    Raises:
        RunError: it is deployed.
    """
    if run.federation is not None and not run.federation.simulated:
        raise RunError(
            f"Run {run.id} is deployed: `flwr run` starts its server, with a new run each time. "
            f"Write another project from its weights: wb.federated.app(..., base={run.id!r})."
        )


def with_rounds(
    federation: dict[str, Any], settings: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record of the federation with `rounds` of `settings`, and the settings with steps.

    Raises:
        ConfigError: `rounds` is wrong.
    """
    if "rounds" not in settings:
        return federation, settings
    try:
        options = FederationOptions.model_validate(
            {**federation["options"], "rounds": settings["rounds"]}
        )
    except ValidationError as error:
        raise ConfigError(problems_of(error, FederationOptions)) from None
    others = {name: value for name, value in settings.items() if name != "rounds"}
    return (
        {**federation, "options": options.model_dump()},
        {**others, "steps": options.rounds},
    )
