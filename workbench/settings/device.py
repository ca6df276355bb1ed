"""The device that a run simulates: how many cores and how much memory its worker may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from workbench.errors import nearest
from workbench.machine.threads import default_threads
from workbench.settings.engines import engine_info
from workbench.settings.plain_numbers import PlainNumbers

GIB = 2**30


class Device(PlainNumbers):
    """Limits of a worker's cores and memory. The speed of a device's cores is not simulated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(default="own numbers", max_length=60, description="shown in records")
    cores: int | None = Field(
        default=None, ge=1, description="None: those of this machine", examples=[2]
    )
    memory_bytes: int | None = Field(
        default=None,
        ge=1,
        description="resident set of the whole worker; None: not limited",
        examples=[500_000_000],
    )

    @model_validator(mode="after")
    def _require_a_limit(self) -> Device:
        if self.cores is None and self.memory_bytes is None:
            raise ValueError("cores: give it, or memory_bytes; this device limits nothing.")
        return self


PROFILES: Mapping[str, Device] = {
    device.name: device
    for device in (
        Device(name="phone", cores=4, memory_bytes=2 * GIB),
        Device(name="single-board-computer", cores=4, memory_bytes=1 * GIB),
        Device(name="browser", cores=1, memory_bytes=4 * GIB),
    )
}
"""Typical devices; for a known device, give its numbers.

- phone: the performance cores of a common big.LITTLE processor (4 of 8), and half of the 4 GiB of
  an entry-level phone: a system ends an app in the foreground that takes much more.
- single-board-computer: a quad-core board of the Raspberry Pi class with 1 GiB.
- browser: one thread, as WebAssembly has without cross-origin isolation, and the 4 GiB that its
  32-bit addresses reach.
"""


def as_device(value: Any) -> Any:
    """The profile named `value`; other values are validated by `Device`.

    Raises:
        PydanticCustomError: no profile has this name; the message has the nearest.
    """
    if not isinstance(value, str):
        return value
    if value not in PROFILES:
        raise PydanticCustomError(
            "device",
            "{sentence}",
            {
                "sentence": f"No such profile. {nearest(value, PROFILES)} Or give numbers of your "
                "own, such as {'cores': 2, 'memory_bytes': 500_000_000}"
            },
        )
    return PROFILES[value]


def memory_problem(device: Device | None, engine: str) -> str:
    """Why no model fits into the memory of `device` with `engine`; empty where one may.

    Such a worker would be killed before it can report its memory.
    """
    memory_bytes = None if device is None else device.memory_bytes
    least_bytes = engine_info(engine).least_memory_bytes
    if memory_bytes is None or memory_bytes >= least_bytes:
        return ""
    return (
        f"device.memory_bytes={memory_bytes}: not even a batch of 1 fits; a worker of {engine} "
        f"takes {least_bytes:,} bytes without a model. Give more."
    )


def cores_of(settings: Mapping[str, Any]) -> int | None:
    """Cores of the device among the settings of a run; None: those of this machine."""
    device: Device | None = settings.get("device")
    return None if device is None else device.cores


def threads_of(settings: Mapping[str, Any]) -> int:
    """Default number of threads: the cores of this machine, at most those of the device."""
    return min(default_threads(), cores_of(settings) or default_threads())
