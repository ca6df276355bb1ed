"""The engines by name. A name costs nothing until its class is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from workbench.engines.base import Engine
from workbench.errors import EngineError, nearest, value_text
from workbench.settings.config import OFFERED_ENGINES

ENGINES: dict[str, str] = {
    "pytorch": "workbench.engines.pytorch:PyTorchEngine",
    "pytorch-compile": "workbench.engines.pytorch_compile:PyTorchCompileEngine",
    "ondevice": "workbench.engines.ondevice:OnDeviceEngine",
    "ortmodule": "workbench.engines.ortmodule:ORTModuleEngine",
    "fake": "workbench.engines.fake:FakeEngine",
}
"""Name of an engine -> module and class, imported only by `engine_class`."""


class EngineRow(NamedTuple):
    """One engine and whether it can run on this machine."""

    name: str
    description: str
    ok: bool
    reason: str
    """Why it cannot run here, in a sentence; empty when it can."""
    remedy: str
    """The one command that mends it; empty when there is none."""


def engine_class(name: str) -> type[Engine]:
    """The class of the engine called `name`.

    Raises:
        EngineError: there is no such engine; offers the nearest names.
    """
    try:
        module_name, class_name = ENGINES[name].split(":")
    except KeyError:
        offered = nearest(name, OFFERED_ENGINES)
        raise EngineError(f"There is no engine {value_text(name)}. {offered}") from None
    found: type[Engine] = getattr(import_module(module_name), class_name)
    return found


def engines() -> list[EngineRow]:
    """Every engine with whether it can run here; imports neither torch nor onnxruntime."""
    rows = []
    for name in ENGINES:
        engine = engine_class(name)
        rows.append(EngineRow(name, engine.description, *engine.availability()))
    return rows
