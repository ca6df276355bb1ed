"""Devices that are slower than this machine, or have less memory."""

from __future__ import annotations

from typing import Any

from workbench.flower.client.simulated_devices import SimulatedDevices
from workbench.flower.round_record import RoundRecord
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


def test_a_round_waits_for_the_slowest_of_each_phase() -> None:
    devices = SimulatedDevices(FederationOptions(clients=40, speed_spread=100.0), 0)
    slow = [devices.seconds(client, USED) for client in range(40)]
    assert 1 <= min(slow) < 2
    assert 50 < max(slow) <= 100
    record = RoundRecord(1)
    assert "simulated_seconds" not in record.event(), "of devices that are real"
    for seconds, training in ((3.0, True), (5.0, True), (4.0, True), (1.0, False), (2.0, False)):
        record.wait(seconds, training)
    assert record.event()["simulated_seconds"] == 7.0
