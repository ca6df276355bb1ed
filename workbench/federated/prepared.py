"""Inputs of federated training, simulated or deployed: settings, and the rows of each client."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from workbench.data import Dataset
from workbench.errors import ConfigError, EngineError, value_text
from workbench.federated.splits import Assignment, ClientSplit, iid
from workbench.load import load_model
from workbench.models import Model
from workbench.runs import Run, dataset_of, from_base, prepare
from workbench.settings.config import TrainingConfig
from workbench.settings.engines import ARTIFACTS_ENGINE
from workbench.settings.federation import (
    DEFAULT_CLIENTS,
    FEWEST_SECURE_CLIENTS,
    OF_PRIVACY,
    FederationOptions,
)
from workbench.settings.setting_problems import problems_of

_OF_ROUNDS = {
    "epochs": "local_epochs=, passes of a client in a round",
    "steps": "rounds= and local_steps=",
    "early_stopping": "fewer rounds=",
    "device": "round_timeout_s= and unavailable=",
    "gradient_accumulation": "a larger batch_size=",
}
"""Settings of `train` that a federated run has no use for, and what to give instead."""

SIMULATED = ("unavailable", "speed_spread", "devices", "processes")
"""Settings of a simulation, which real devices do not need."""


class Prepared(NamedTuple):
    """Contents of a run folder before it is written."""

    model: Model
    data: Dataset
    config: TrainingConfig
    options: FederationOptions
    assignment: Assignment
    split: ClientSplit
    origin: dict[str, Any] | None
    """Where the initial weights are from."""
    deployed: bool

    def record(self, clients: list[dict[str, Any]]) -> dict[str, Any]:
        """The record of the federation; `clients` is what `write_client_data` returns."""
        return {
            "options": self.options.model_dump(),
            "split": self.split.name,
            "clients": clients,
            "parameters": list(self.model.parameter_names),
            "deployed": self.deployed,
        }


def prepare_federation(
    model: Model | str | Path,
    data: Dataset | str | None,
    settings: dict[str, Any],
    split: ClientSplit | None,
    base: Run | str | Path | None,
    *,
    deployed: bool = False,
) -> Prepared:
    """Check all that `federate` is given, and divide the rows.

    Args:
        model: see `federate`.
        data: see `federate`.
        settings: of the federation and of the clients.
        split: see `federate`.
        base: see `federate`.
        deployed: nothing is simulated.

    Raises:
        ConfigError, ModelError, DataError, EngineError: see `federate`.
    """
    if find_spec("flwr") is None:
        raise EngineError(
            "Federated training needs Flower. Install it: "
            "pip install 'onnxruntime-training-workbench[federated]'"
        )
    simulated = [name for name in SIMULATED if name in settings]
    if deployed and simulated:
        raise ConfigError([f"{name}= is for simulated clients." for name in simulated])
    chosen = iid() if split is None else split
    if not isinstance(chosen, ClientSplit):
        raise ConfigError(
            [f"split={value_text(split)}: give one of wb.federated, such as dirichlet(0.3)."]
        )
    loaded, origin = from_base(model, base, ())
    loaded_model = loaded if isinstance(loaded, Model) else load_model(loaded)
    dataset = dataset_of(loaded_model, data)
    clients = settings.get("clients")
    if clients is None:
        clients = chosen.fixed_clients(dataset) or DEFAULT_CLIENTS
    options, training = _settings({**settings, "clients": clients})
    chosen.check(dataset, options.clients)
    _, _, config = prepare(loaded_model, dataset, {"tuning": "off", **training})
    if config.engine != ARTIFACTS_ENGINE:
        raise EngineError(
            f"engine={config.engine!r}: clients are devices and train with {ARTIFACTS_ENGINE!r}."
        )
    _refuse_statistics(loaded_model, options)
    rng = np.random.default_rng(config.seed)
    assignment = chosen.assign(dataset, options.clients, rng)
    return Prepared(loaded_model, dataset, config, options, assignment, chosen, origin, deployed)


def _refuse_statistics(model: Model, options: FederationOptions) -> None:
    """Refuse running statistics, which neither noise nor masks would hide.

    Raises:
        ConfigError: the model has some.
    """
    if options.privacy is None and not options.secure_aggregation:
        return
    held = sorted(set(model.weights()) - set(model.parameter_names))
    if held:
        raise ConfigError(
            [
                f"{held[0]!r} is a running statistic of the clients' rows, which privacy= and "
                "secure_aggregation= do not hide. Use a model with GroupNorm or LayerNorm in the "
                "place of BatchNorm."
            ]
        )


def _without_effect(options: FederationOptions, given: Collection[str]) -> list[str]:
    """Problems of settings that would leave the run without privacy, robustness or training."""
    problems = [
        f"{name}={getattr(options, name):g} needs privacy='central' or 'local': without, there is "
        "neither clipping nor noise."
        for name in OF_PRIVACY
        if name in given and options.privacy is None
    ]
    selected = options.strategy_options.get("num_nodes_to_select", 1)
    if selected > options.clients:
        problems.append(
            f"num_nodes_to_select={selected:g} of clients={options.clients} leaves none out; give "
            "less than the clients of a round."
        )
    asked = max(1, int(options.clients * options.fraction))
    needed = max(options.fewest_clients, FEWEST_SECURE_CLIENTS * options.secure_aggregation)
    if asked < needed:
        what = "secure_aggregation=True" if options.secure_aggregation else options.strategy
        problems.append(
            f"fraction={options.fraction:g} of clients={options.clients} is {asked} in a round, "
            f"but {what} needs {needed}: no round would change the weights. Give a larger fraction."
        )
    return problems


def _settings(given: dict[str, Any]) -> tuple[FederationOptions, dict[str, Any]]:
    """The options of the federation, and the settings of its clients.

    Raises:
        ConfigError: an option is wrong, or a setting has no meaning here.
    """
    problems = [
        f"{name}={value_text(given[name])}: federated training counts rounds; give {instead}."
        for name, instead in _OF_ROUNDS.items()
        if name in given
    ]
    fields = FederationOptions.model_fields
    options = None
    try:
        options = FederationOptions(**{n: value for n, value in given.items() if n in fields})
    except ValidationError as error:
        problems += problems_of(error, FederationOptions)
    if options is not None:
        problems += _without_effect(options, given)
    if options is None or problems:
        raise ConfigError(problems)
    training = {name: value for name, value in given.items() if name not in fields}
    # A step of the run is a round. Evaluation after each is the default.
    return options, {"engine": ARTIFACTS_ENGINE, **training, "epochs": 1, "steps": options.rounds}
