"""Flower's strategies by name."""

from __future__ import annotations

from typing import Any

from flwr.serverapp import strategy as flower
from flwr.serverapp.strategy import Strategy

from workbench.errors import ConfigError
from workbench.flower.server.distance_strategies import Bulyan, Krum, MultiKrum
from workbench.flower.server.private_strategies import private
from workbench.settings.federation import OPTION_RANGES, FederationOptions, StrategyName

_CLASSES: dict[StrategyName, type[flower.FedAvg]] = {
    "fedavg": flower.FedAvg,
    "fedavgm": flower.FedAvgM,
    "fedprox": flower.FedProx,
    "fedadagrad": flower.FedAdagrad,
    "fedadam": flower.FedAdam,
    "fedyogi": flower.FedYogi,
    "fedmedian": flower.FedMedian,
    "fedtrimmedavg": flower.FedTrimmedAvg,
    "krum": Krum,
    "multikrum": MultiKrum,
    "bulyan": Bulyan,
}


def make_strategy(options: FederationOptions) -> Strategy:
    """The strategy of a run.

    Raises:
        ConfigError: Flower refuses an option.
    """
    given: dict[str, Any] = {
        name: int(value) if OPTION_RANGES[name].whole else value
        for name, value in options.strategy_options.items()
    }
    try:
        strategy = _CLASSES[options.strategy](
            fraction_train=options.fraction,
            fraction_evaluate=1.0,
            # Otherwise Flower waits without end while a client is unreachable.
            min_train_nodes=1,
            min_evaluate_nodes=1,
            min_available_nodes=1,
            **given,
        )
        return private(strategy, options)
    except (TypeError, ValueError) as error:
        raise ConfigError([f"strategy={options.strategy!r}: {error}"]) from error
