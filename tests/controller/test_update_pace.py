"""A page updates less often while a run has every core."""

from __future__ import annotations

import pytest

from workbench.controller import update_pace
from workbench.controller.update_pace import BUSY_PERIOD_S, UpdatePace
from workbench.machine.load import Load, LoadMeter


class Measured(LoadMeter):
    """Measures what it is given."""

    load: Load | None = None

    def take(self) -> Load | None:
        return self.load


@pytest.fixture(autouse=True)
def at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update_pace, "MEASURE_S", 0.0)


@pytest.mark.parametrize("cores", [2, 16])
def test_updates_are_rare_while_no_core_is_free(cores: int) -> None:
    meter = Measured()
    pace = UpdatePace(meter)

    def with_free(free: float) -> float:
        meter.load = Load(1.0, cores - free, cores)
        return pace()

    assert with_free(min(cores, 1.0)) == 0.0
    assert with_free(0.5) == BUSY_PERIOD_S
    assert with_free(1.0) == BUSY_PERIOD_S, "of which the page would take half a core"
    assert with_free(1.5) == 0.0


def test_a_load_that_is_unknown_changes_nothing() -> None:
    pace = UpdatePace(Measured())
    assert pace() == 0.0


def test_a_real_meter_is_read() -> None:
    assert UpdatePace()() in (0.0, BUSY_PERIOD_S)
