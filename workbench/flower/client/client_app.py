"""The client as Flower's `ClientApp`: in a simulation with privacy, and deployed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from flwr.app import Context, Error, Message
from flwr.clientapp import ClientApp
from flwr.clientapp.mod import LocalDpMod, adaptiveclipping_mod, fixedclipping_mod
from flwr.clientapp.typing import ClientAppCallable, Mod
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.compat.common import recorddict_compat

from workbench.data import Dataset
from workbench.errors import EngineError, WorkbenchError
from workbench.flower.client.client_messages import (
    ARRAYS,
    REFUSED,
    STATISTICS,
    answer,
    arrays_of,
    facts_of,
    question,
)
from workbench.flower.client.client_training import ClientTraining
from workbench.settings.federation import LARGEST_SECURE_WEIGHT, FederationOptions


class Client(NamedTuple):
    """The client that a message is for."""

    number: int
    data: Dataset
    training: ClientTraining


def make_client_app(
    options: FederationOptions, client_of: Callable[[Context, dict[str, Any]], Client]
) -> ClientApp:
    """A client that trains on device, with the mods that the options ask for.

    Args:
        options: of the run.
        client_of: finds the client by Flower's context and the settings of the message.
    """
    app = ClientApp()

    @app.train(mods=[_sentences, *_mods(options)])
    def train(message: Message, context: Context) -> Message:
        config = _config(message)
        client = client_of(context, config)
        content = message.content
        found = client.training.train(
            client.number,
            client.data,
            arrays_of(content, ARRAYS, STATISTICS),
            round_number=int(config["round"]),
            proximal_mu=float(config.get("proximal-mu", 0.0)),
        )
        weights = {name: found.arrays[name] for name in content.array_records[ARRAYS]}
        before = arrays_of(content, ARRAYS)
        if options.privacy and all(np.array_equal(weights[name], before[name]) for name in before):
            raise EngineError("its update is zero, which has no norm to clip.")
        others = {n: value for n, value in found.arrays.items() if n not in weights}
        for name, value in weights.items():
            # With secure aggregation the server could not find out.
            if not np.isfinite(value).all():
                raise EngineError(f"its value of {name!r} is not finite.")
        return Message(answer(found.facts, weights, others), reply_to=message)

    @app.evaluate(mods=[_sentences])
    def evaluate(message: Message, context: Context) -> Message:
        client = client_of(context, _config(message))
        weights = arrays_of(message.content, ARRAYS, STATISTICS)
        found = client.training.evaluate(client.data, weights)
        return Message(answer(found.facts, {}, {}), reply_to=message)

    return app


def _sentences(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """A mod that sends the reason of a failure to the server, which leaves the client out."""
    try:
        return call_next(message, context)
    except WorkbenchError as error:
        reason = str(error)
    except Exception as error:  # the device continues, and the server says why it was left out
        reason = f"{type(error).__name__}: {error}"
    return Message(Error(code=REFUSED, reason=reason), reply_to=message)


def _config(message: Message) -> dict[str, Any]:
    return dict(message.content.config_records["config"])


def _mods(options: FederationOptions) -> list[Mod]:
    """Flower's mods, the outermost first."""
    mods: list[Mod] = []
    if options.secure_aggregation:
        from flwr.client.mod import secaggplus_mod

        mods += [secaggplus_mod, _named_records(options)]
    if options.privacy == "local":
        mods.append(_local_mod(options))
    elif options.privacy == "central" and options.secure_aggregation:
        mods.append(fixedclipping_mod if options.clipping == "fixed" else adaptiveclipping_mod)
    return mods


def _local_mod(options: FederationOptions) -> LocalDpMod:
    """Noise of `noise_multiplier` times the clipping norm.

    Flower takes an epsilon and derives the noise from it by a bound that holds below 1 alone. Here
    it is chosen so that the noise is what the settings say; `PrivacyAccountant` has its epsilon.
    """
    bound = math.sqrt(2 * math.log(1.25 / options.delta))
    return LocalDpMod(
        clipping_norm=options.clipping_norm,
        sensitivity=options.clipping_norm,
        epsilon=bound / options.noise_multiplier,
        delta=options.delta,
    )


def _named_records(options: FederationOptions) -> Any:
    """A mod between SecAgg+, which has Flower's older records without names, and the others."""

    def named(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        old = recorddict_compat.recorddict_to_fitins(message.content, keep_input=True)
        names = json.loads(str(old.config.pop("names")))
        most_rows = int(old.config.pop("most_rows"))
        weights = dict(zip(names, parameters_to_ndarrays(old.parameters), strict=True))
        message.content = question(weights, {}, old.config)
        reply = call_next(message, context)
        if reply.has_error():
            raise EngineError(reply.error.reason)
        facts = facts_of(reply.content)
        found = arrays_of(reply.content, ARRAYS)
        for name, value in found.items():
            if np.abs(value).max(initial=0) > LARGEST_SECURE_WEIGHT:
                raise EngineError(
                    f"a value of {name!r} is beyond ±{LARGEST_SECURE_WEIGHT:g}, the range of "
                    "secure aggregation."
                )
        result = FitRes(
            Status(Code.OK, ""),
            ndarrays_to_parameters([found[name] for name in names]),
            # With central privacy no client may count for more than another.
            1 if options.privacy == "central" else min(facts["rows"], most_rows),
            facts,
        )
        content = recorddict_compat.fitres_to_recorddict(result, keep_input=False)
        return Message(content, reply_to=message)

    return named
