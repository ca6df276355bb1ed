"""Settings of federated training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from workbench.errors import nearest

StrategyName = Literal[
    "fedavg",
    "fedavgm",
    "fedprox",
    "fedadagrad",
    "fedadam",
    "fedyogi",
    "fedmedian",
    "fedtrimmedavg",
    "krum",
    "multikrum",
    "bulyan",
]

_ADAPTIVE = ("eta", "eta_l", "beta_1", "beta_2", "tau")

STRATEGY_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "fedavg": (),
    "fedavgm": ("server_learning_rate", "server_momentum"),
    "fedprox": ("proximal_mu",),
    "fedadagrad": ("eta", "eta_l", "tau"),
    "fedadam": _ADAPTIVE,
    "fedyogi": _ADAPTIVE,
    "fedmedian": (),
    "fedtrimmedavg": ("beta",),
    "krum": ("num_malicious_nodes",),
    "multikrum": ("num_malicious_nodes", "num_nodes_to_select"),
    "bulyan": ("num_malicious_nodes",),
}
"""The options of each strategy, by the names and with the defaults of Flower's classes."""

assert set(STRATEGY_OPTIONS) == set(get_args(StrategyName))


class FederationOptions(BaseModel):
    """Settings of federated training; frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    clients: int = Field(default=8, ge=1, le=10_000, description="simulated clients")
    rounds: int = Field(default=10, ge=1, description="rounds of training and aggregation")
    strategy: StrategyName = Field(
        default="fedavg", description="how the server aggregates, one of Flower's strategies"
    )
    strategy_options: dict[str, float] = Field(
        default={}, description="of the strategy, by Flower's names, such as proximal_mu"
    )
    fraction: float = Field(
        default=1.0,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="share of the available clients that train in a round",
    )
    local_epochs: int = Field(
        default=1, ge=1, description="passes of a client over its own rows in a round"
    )
    local_steps: int | None = Field(
        default=None, ge=1, description="optimizer steps of a client in a round, at most"
    )
    unavailable: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        allow_inf_nan=False,
        description="probability that a client is unreachable in a round",
    )
    round_timeout_s: float = Field(
        default=60.0,
        gt=0,
        allow_inf_nan=False,
        description="seconds after which a round goes on without the clients that are late",
    )
    processes: int | None = Field(
        default=None, ge=1, description="processes that clients run in; None: one per core"
    )

    @field_validator("strategy_options")
    @classmethod
    def _check_names(cls, value: dict[str, float], info: ValidationInfo) -> dict[str, float]:
        strategy = info.data.get("strategy")
        if strategy is None:
            return value
        known = STRATEGY_OPTIONS[strategy]
        for name in value:
            if name not in known:
                hint = nearest(name, known) if known else "It has none."
                raise ValueError(f"{name!r} is not an option of strategy {strategy!r}. {hint}")
        return value
