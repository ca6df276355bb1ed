"""Flower's wrappers for central differential privacy, with clients that fail."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from flwr.app import ArrayRecord, Message, MetricRecord
from flwr.serverapp import strategy as flower
from flwr.serverapp.strategy import Strategy
from typing_extensions import override

from workbench.settings.federation import FederationOptions


class _AnyReplies(Strategy):
    """Aggregates the replies that came, with the noise that their number needs.

    Flower's wrappers give a round up when one client fails, and scale the noise by the number of
    clients that were expected: too little of it for a mean of fewer.
    """

    num_sampled_clients: int

    @override
    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        fit = [reply for reply in replies if not reply.has_error()]
        if not fit:
            return None, None
        self.num_sampled_clients = len(fit)
        return super().aggregate_train(server_round, fit)  # type: ignore[safe-super]


class _TowardsQuantile(Strategy):
    """Moves the norm so that the chosen share of the updates is clipped, after the noise is added.

    Flower 1.41 counts the clipped updates but moves the norm as the source does by those that are
    not clipped, which drives it away. And it moves it before the noise is drawn, which is then too
    little where the norm falls. Source: Andrew et al., arXiv:1905.03871, section 2.
    """

    clipping_norm: float
    clip_norm_lr: float
    target_clipped_quantile: float
    _factor = 1.0
    """By which the norm changes after the round."""

    @override
    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        self._factor = 1.0
        aggregated = super().aggregate_train(server_round, replies)  # type: ignore[safe-super]
        self.clipping_norm *= self._factor
        return aggregated

    def _geometric_update(self, clipped_fraction: float) -> None:
        excess = clipped_fraction - self.target_clipped_quantile
        self._factor = math.exp(self.clip_norm_lr * excess)


class _FixedByServer(_AnyReplies, flower.DifferentialPrivacyServerSideFixedClipping):
    pass


class _FixedByClient(_AnyReplies, flower.DifferentialPrivacyClientSideFixedClipping):
    pass


class _AdaptiveByServer(
    _AnyReplies, _TowardsQuantile, flower.DifferentialPrivacyServerSideAdaptiveClipping
):
    pass


class _AdaptiveByClient(
    _AnyReplies, _TowardsQuantile, flower.DifferentialPrivacyClientSideAdaptiveClipping
):
    pass


def private(strategy: Strategy, options: FederationOptions) -> Strategy:
    """The strategy with noise, if the options ask for central privacy.

    Clients clip themselves where the server cannot: with secure aggregation.
    """
    if options.privacy != "central":
        return strategy
    by_client = options.secure_aggregation
    noise = options.noise_multiplier
    if options.clipping == "fixed":
        fixed = _FixedByClient if by_client else _FixedByServer
        return fixed(strategy, noise, options.clipping_norm, options.clients)
    adaptive: Any = _AdaptiveByClient if by_client else _AdaptiveByServer
    return adaptive(  # type: ignore[no-any-return]
        strategy,
        noise,
        options.clients,
        initial_clipping_norm=options.clipping_norm,
        # The source's twentieth is too little for few clients. With this the updates get 1.15
        # times the noise, so that both together are as private as `noise_multiplier` says.
        clipped_count_stddev=max(options.clients / 20, noise),
    )
