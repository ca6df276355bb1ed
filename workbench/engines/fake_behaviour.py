"""Faults that the fake engine is asked to produce, by an environment variable."""

from __future__ import annotations

import os

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.errors import EngineError

BEHAVIOUR_VARIABLE = "WORKBENCH_FAKE"


class Behaviour(BaseModel):
    """Faults of the fake engine, and when they occur; steps count from 1. The default has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    build_ms: float = 0.0
    """How long building takes."""
    raise_while_building: bool = False
    step_ms: float = 0.0
    """How long each step takes beside its arithmetic."""
    spin_ms: float = 0.0
    """Processor time that each step takes beside its arithmetic."""
    evaluate_ms: float = 0.0
    """How long the evaluation of each batch takes beside its arithmetic."""
    finish_ms: float = 0.0
    """How long its statistics take at the end of a run, and as long again its process to exit."""
    event_log: str | None = None
    """A file to append a JSON line to for all it does: `what`, `began` and `ended` in seconds since
    the epoch, `began_ns` and `ended_ns` of `time.perf_counter_ns`, the resident set at its begin as
    `rss_bytes`, and of a batch the CRC-32 as `batch`. Records are compared with it."""
    raise_at: int | None = None
    signal_at: tuple[int, str] | None = None
    """Step and name of the signal that the process sends itself, such as "SIGSEGV"."""
    signal_in_gradients: str | None = None
    """Name of the signal that the process sends itself when it computes gradients."""
    nan_at: int | None = None
    """First step whose loss is not a number."""
    allocate_bytes: int = 0
    """Memory taken and kept in each step from `allocate_from` on."""
    allocate_from: int = 1
    hold_gil_at: int | None = None
    """Step that never ends, in native code that keeps the interpreter's lock; 0: while building."""
    hold_gil_bytes: int = 0
    """Memory that this native code takes first."""
    ignore_signals: bool = False
    """Whether SIGTERM and SIGHUP do nothing."""
    build_bytes: int = 0
    """Memory taken while building, and kept."""
    transient_at: int | None = None
    """The step that allocates `transient_bytes` and frees them before it ends."""
    transient_bytes: int = 0
    first_step_ms: float = 0.0
    """How much longer the first step takes than the others."""


def behaviour() -> Behaviour:
    """The behaviour that WORKBENCH_FAKE asks for.

    Raises:
        EngineError: the variable does not hold a valid behaviour.
    """
    text = os.environ.get(BEHAVIOUR_VARIABLE)
    if not text:
        return Behaviour()
    try:
        return Behaviour.model_validate_json(text)
    except ValidationError as error:
        raise EngineError(
            f"{BEHAVIOUR_VARIABLE}={text!r} is not a behaviour of the fake engine: {error}"
        ) from None
