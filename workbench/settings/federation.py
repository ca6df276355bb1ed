"""Settings of federated training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import (
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from workbench.errors import nearest
from workbench.settings.device import Device, as_device
from workbench.settings.plain_numbers import PlainNumbers

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

PrivacyName = Literal["central", "local"]
ClippingName = Literal["fixed", "adaptive"]

PRIVATE_MEANS: tuple[StrategyName, ...] = ("fedavg", "fedprox")
"""Strategies whose result is the mean of the clients, for which Flower's noise is calibrated."""

MEANS: tuple[StrategyName, ...] = (
    *("fedavg", "fedavgm", "fedprox", "fedadagrad", "fedadam", "fedyogi"),
)
"""Strategies that need only the mean of the clients, as secure aggregation computes it."""


class OptionRange(NamedTuple):
    """Valid values of an option of a strategy.

    Flower accepts any value, and some of them fail in the middle of a run or make weights NaN.
    """

    low: float
    high: float
    low_included: bool = True
    whole: bool = False

    def problem(self, value: float) -> str:
        """Problem of `value`, as a text that follows its name; empty if there is none."""
        above = value >= self.low if self.low_included else value > self.low
        if self.whole and value != int(value):
            return "must be an integer."
        if above and value < self.high:
            return ""
        first = f"{self.low:g} or more" if self.low_included else f"above {self.low:g}"
        return (
            f"must be {first}."
            if math.isinf(self.high)
            else (f"must be {first} and below {self.high:g}.")
        )


_RATE = OptionRange(0, math.inf, low_included=False)
_SHARE = OptionRange(0, 1)

OPTION_RANGES: Mapping[str, OptionRange] = {
    "server_learning_rate": _RATE,
    "server_momentum": _SHARE,
    "proximal_mu": OptionRange(0, math.inf),
    "eta": _RATE,
    "eta_l": _RATE,
    "tau": _RATE,
    "beta_1": _SHARE,
    "beta_2": _SHARE,
    "beta": OptionRange(0, 0.5),
    "num_malicious_nodes": OptionRange(0, math.inf, whole=True),
    "num_nodes_to_select": OptionRange(1, math.inf, whole=True),
}
"""Limits of each option, for all strategies that have it."""

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


DEFAULT_CLIENTS = 8
"""Where the division of the rows does not determine it, as one by groups does."""

LARGEST_SECURE_WEIGHT = 8.0
"""Flower's default range of a weight in secure aggregation, which would clip what is outside."""

OF_PRIVACY = ("clipping_norm", "noise_multiplier", "delta")
"""Settings that have an effect with `privacy` alone."""

FEWEST_SECURE_CLIENTS = 3
MOST_SECURE_CLIENTS = 1000
"""Sums of SecAgg+ are modulo 2^32 and a client adds up to 2^22, so that 1024 clients fit."""


class FederationOptions(PlainNumbers):
    """Settings of federated training; frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    clients: int = Field(default=DEFAULT_CLIENTS, ge=1, le=10_000, description="simulated clients")
    rounds: int = Field(default=10, ge=1, description="rounds of training and aggregation")
    strategy: StrategyName = Field(default="fedavg", description="aggregation strategy of Flower")
    strategy_options: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(
        default={}, description="options of the strategy, by Flower's names, such as proximal_mu"
    )
    fraction: float = Field(
        default=1.0,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="fraction of the available clients that train in a round",
    )
    local_epochs: int = Field(default=1, ge=1, description="local epochs of a client in a round")
    local_steps: int | None = Field(
        default=None, ge=1, description="maximum optimizer steps of a client in a round"
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
        description="seconds after which late clients are left out of a round",
    )
    processes: int | None = Field(
        default=None, ge=1, description="processes that clients run in; None: one per core"
    )

    speed_spread: float = Field(
        default=1.0,
        ge=1,
        allow_inf_nan=False,
        description="clients are up to this many times slower than this machine, drawn by the seed",
    )
    devices: tuple[Device, ...] = Field(
        default=(),
        description="devices of the clients, drawn by the seed: names of profiles, or numbers; a "
        "client that needs more memory than its device has is left out",
    )
    privacy: PrivacyName | None = Field(
        default=None,
        description="differential privacy of a client: noise by the server (central), or by the "
        "client before it sends (local)",
    )
    clipping: ClippingName = Field(
        default="fixed", description="the clipping norm is fixed, or adapts to the updates"
    )
    clipping_norm: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="largest L2 norm of a client's update; the initial one if adaptive",
    )
    noise_multiplier: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="standard deviation of the noise divided by the clipping norm",
    )
    delta: float = Field(
        default=1e-5,
        gt=0,
        lt=1,
        allow_inf_nan=False,
        description="delta of (epsilon, delta) privacy",
    )
    secure_aggregation: bool = Field(
        default=False, description="the server only sees the sum of the clients' weights (SecAgg+)"
    )

    @field_validator("devices", mode="before")
    @classmethod
    def _parse_devices(cls, value: Any) -> Any:
        if isinstance(value, str | Device | Mapping):
            value = (value,)
        return (
            tuple(as_device(each) for each in value) if isinstance(value, list | tuple) else value
        )

    @model_validator(mode="after")
    def _check_privacy(self) -> FederationOptions:
        if self.privacy == "central" and self.strategy not in PRIVATE_MEANS:
            raise ValueError(
                f"privacy='central': noise is calibrated for a mean, which "
                f"strategy={self.strategy!r} is not; use {' or '.join(map(repr, PRIVATE_MEANS))}, "
                "or privacy='local'."
            )
        if self.clipping == "adaptive" and self.privacy != "central":
            raise ValueError("clipping='adaptive' needs privacy='central': the server adapts it.")
        if self.secure_aggregation and self.strategy not in MEANS:
            raise ValueError(
                f"secure_aggregation=True: strategy={self.strategy!r} compares clients, which the "
                f"server does not see then; use one of {', '.join(MEANS)}."
            )
        if self.secure_aggregation and not (
            FEWEST_SECURE_CLIENTS <= self.clients <= MOST_SECURE_CLIENTS
        ):
            raise ValueError(
                f"clients={self.clients}: secure aggregation needs {FEWEST_SECURE_CLIENTS} to "
                f"{MOST_SECURE_CLIENTS}."
            )
        return self

    @model_validator(mode="after")
    def _check_clients(self) -> FederationOptions:
        needed, malicious = self.fewest_clients, self.strategy_options.get("num_malicious_nodes", 0)
        if self.clients < needed:
            raise ValueError(
                f"clients={self.clients}: strategy={self.strategy!r} needs {needed} or more in a "
                f"round with num_malicious_nodes={malicious:g}."
            )
        return self

    @property
    def fewest_clients(self) -> int:
        """Fewest clients whose weights the strategy needs for an aggregation.

        Sources: Blanchard et al., Machine Learning with Adversaries, 2017 (Krum: n > 2f + 2);
        El Mhamdi et al., arXiv:1802.07927 (Bulyan: n >= 4f + 3).
        """
        malicious = int(self.strategy_options.get("num_malicious_nodes", 0))
        if self.strategy == "bulyan":
            return 4 * malicious + 3
        return 2 * malicious + 3 if malicious else 1

    @field_validator("strategy_options")
    @classmethod
    def _check_names(cls, value: dict[str, float], info: ValidationInfo) -> dict[str, float]:
        strategy = info.data.get("strategy")
        if strategy is None:
            return value
        known = STRATEGY_OPTIONS[strategy]
        for name, number in value.items():
            if name not in known:
                hint = nearest(name, known) if known else "It has none."
                raise ValueError(f"{name!r} is not an option of strategy {strategy!r}. {hint}")
            if problem := OPTION_RANGES[name].problem(number):
                raise ValueError(f"{name}={number:g} {problem}")
        return value
