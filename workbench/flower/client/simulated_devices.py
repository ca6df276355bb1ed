"""Speed and memory of the devices that simulated clients run on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.settings.federation import FederationOptions


class SimulatedDevices:
    """The device of each client, drawn by the seed.

    No client waits: its time on this machine is multiplied, and recorded beside it. Its memory is
    the peak resident set of the process that it ran in.
    """

    def __init__(self, options: FederationOptions, seed: int) -> None:
        rng = np.random.default_rng((seed, options.clients))
        exponents = rng.random(options.clients)
        self._slowness = options.speed_spread**exponents
        self._timeout_s = options.round_timeout_s
        drawn = rng.integers(0, max(1, len(options.devices)), options.clients)
        self._devices = [options.devices[index] for index in drawn] if options.devices else []

    def seconds(self, client: int, facts: Mapping[str, Any]) -> float:
        """How long the device would have taken for what took `facts["seconds"]` here."""
        return float(facts["seconds"] * self._slowness[client])

    def problem(self, client: int, facts: Mapping[str, Any]) -> str:
        """Why the device would not have answered, as a sentence; else empty."""
        slowness = float(self._slowness[client])
        seconds = self.seconds(client, facts)
        if seconds > self._timeout_s:
            return (
                f"it would not answer within {self._timeout_s:g} s: its device is {slowness:.1f} "
                f"times slower than this machine and takes {seconds:.1f} s (simulated)."
            )
        if self._devices:
            device = self._devices[client]
            needed, limit = facts["peak_rss_bytes"], device.memory_bytes
            if limit is not None and needed > limit:
                return (
                    f"it needs {needed / 1e6:.0f} MB, and its device ({device.name}) has "
                    f"{limit / 1e6:.0f} MB (simulated)."
                )
        return ""
