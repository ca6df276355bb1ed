"""The device that a run simulates: profiles, numbers of your own, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import ConfigError
from workbench.machine.threads import default_threads
from workbench.settings.config import make_config, read_config
from workbench.settings.device import PROFILES, Device
from workbench.settings.engines import engine_info


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_found_by_its_name_and_kept_by_a_record(name: str) -> None:
    config = make_config({"device": name})
    assert config.device == PROFILES[name]
    assert config.worker_memory_bytes == PROFILES[name].memory_bytes
    assert config.worker_cores == PROFILES[name].cores
    assert config.threads == min(default_threads(), PROFILES[name].cores or 1)
    assert read_config(config.model_dump(mode="json")) == config


def test_given_numbers_are_the_limits() -> None:
    config = make_config({"device": {"memory_bytes": 500_000_000}, "memory_limit_bytes": 10**9})
    assert config.device == Device(memory_bytes=500_000_000)
    assert config.worker_memory_bytes == 500_000_000
    assert config.worker_cores is None
    assert config.threads == default_threads()
    lower = make_config({"device": "phone", "memory_limit_bytes": 10**8})
    assert lower.worker_memory_bytes == 10**8


@pytest.mark.fault
@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("fone", "device='fone': no such profile. Did you mean 'phone'?"),
        ("xyz", "Known: browser, phone, single-board-computer."),
        ({"cores": 0}, "device.cores=0: must be 1 or more."),
        ({"memory_bytes": -5}, "device.memory_bytes=-5: must be 1 or more"),
        ({"memory_bytes": 0}, "device.memory_bytes=0: must be 1 or more"),
        ({"cores": 1.5}, "device.cores=1.5: must be an integer"),
        ({"cors": 1}, "device.cors: no such setting. Did you mean 'cores'?"),
        ({}, "device.cores: give it, or memory_bytes; this device limits nothing."),
        (
            {"memory_bytes": 79_999_999},
            "device.memory_bytes=79999999: not even a batch of 1 fits; a worker of "
            "ondevice takes 80,000,000 bytes without a model. Give more.",
        ),
        (
            7,
            "device=7: must be a dict of its settings, "
            "such as {'cores': 2, 'memory_bytes': 500000000}.",
        ),
    ],
)
def test_a_wrong_device_is_one_problem_in_one_sentence(device: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_config({"device": device})
    (problem,) = caught.value.problems
    assert sentence in problem


@pytest.mark.parametrize("memory_bytes", [1, 79_999_999])
def test_a_device_for_training_on_device_has_the_memory_of_a_worker_without_a_model(
    memory_bytes: int,
) -> None:
    """Not of a record, which stays readable, nor of an engine whose need is not known."""
    device = Device(memory_bytes=memory_bytes)
    other = make_config({"device": device, "engine": "pytorch"})
    assert other.device == device
    record = {**other.model_dump(mode="json"), "engine": "ondevice"}
    assert read_config(record).device == device
    with pytest.raises(ConfigError, match="a worker of ondevice takes 80,000,000 bytes"):
        make_config({"device": device})
    least_bytes = engine_info("ondevice").least_memory_bytes
    enough = make_config({"device": {"memory_bytes": least_bytes}})
    assert enough.worker_memory_bytes == least_bytes


@pytest.mark.fault
def test_more_threads_than_the_device_has_cores_are_refused() -> None:
    with pytest.raises(ConfigError, match="threads=2: the device has 1; give 1 or less"):
        make_config({"device": "browser", "threads": 2})
