"""Devices that are slower than this machine, or have less memory."""

from __future__ import annotations

from typing import Any

from workbench.flower.client.simulated_devices import SimulatedDevices
from workbench.settings.federation import FederationOptions

USED = {"seconds": 1.0, "peak_rss_bytes": 90_000_000}


def problems(seed: int = 0, **options: Any) -> list[str]:
    devices = SimulatedDevices(FederationOptions(clients=40, **options), seed)
    return [devices.problem(client, USED) for client in range(40)]


def test_slow_devices_are_late_by_the_seed() -> None:
    found = problems(speed_spread=100.0, round_timeout_s=10.0)
    late = [text for text in found if text]
    # The factor is 1 to 100, evenly by its logarithm: half of them are beyond 10.
    assert 10 < len(late) < 30
    assert all(text.startswith("it would not answer within 10 s: its device is") for text in late)
    assert found == problems(speed_spread=100.0, round_timeout_s=10.0)
    assert found != problems(1, speed_spread=100.0, round_timeout_s=10.0)
    assert not any(problems())


def test_small_devices_have_too_little_memory() -> None:
    tiny = {"name": "watch", "memory_bytes": 64_000_000}
    found = problems(devices=("phone", tiny))
    assert set(found) == {"", "it needs 90 MB, and its device (watch) has 64 MB (simulated)."}
    assert not any(problems(devices=("phone",)))
