"""Engine classes by name, imported on use, and whether each can run here.

A class imports torch or onnxruntime inside functions, in the process that trains.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from workbench.engines.base import Availability, Engine
from workbench.errors import EngineError
from workbench.settings.engines import engine_info, engine_table


class EngineRow(NamedTuple):
    """One engine and whether it can run on this machine."""

    name: str
    description: str
    ok: bool
    reason: str
    """Why it cannot run here, in a sentence; empty when it can."""
    remedy: str
    """The command that makes it run; empty when there is none."""


def engine_class(name: str) -> type[Engine]:
    """The class of the engine called `name`.

    Raises:
        EngineError: there is no such engine; the message has the nearest names; or its class cannot
            be imported.
    """
    implementation = engine_info(name).implementation
    module_name, class_name = implementation.split(":")
    try:
        found = getattr(import_module(module_name), class_name)
    except Exception as error:  # whatever the module of another package raises
        raise EngineError(
            f"Engine {name!r}: {implementation} cannot be imported: {error}"
        ) from error
    if not (isinstance(found, type) and issubclass(found, Engine)):
        raise EngineError(f"Engine {name!r}: {implementation} is not a subclass of Engine.")
    return found


def engines(*, internal: bool = False) -> list[EngineRow]:
    """Every engine with whether it can run here; imports neither torch nor onnxruntime.

    One whose class cannot be imported has a row with the reason.

    Args:
        internal: include engines for tests.
    """
    return [
        EngineRow(info.name, info.description, *_availability(info.name))
        for info in engine_table().values()
        if info.offered or internal
    ]


def _availability(name: str) -> Availability:
    try:
        return engine_class(name).availability()
    except EngineError as error:
        return Availability(False, str(error))
    except Exception as error:  # of the code of another package
        return Availability(False, f"Engine {name!r}: {type(error).__name__}: {error}")
