"""The wishes of the watchers, as the worker sees them without asking the system."""

from pathlib import Path

import pytest

from workbench.run_folder.control import ControlReader, create_control, grant, want


def test_a_worker_may_step_until_something_stands_against_it(tmp_path: Path) -> None:
    path = tmp_path / "control.bin"
    create_control(path, granted_steps=2)
    reader = ControlReader(path)
    assert [reader.may_step(done) for done in (0, 1, 2)] == [True, True, False]
    grant(path, 5)
    assert reader.may_step(4)
    want(path, "pause")
    assert reader.read() == ("pause", 5)
    assert not reader.may_step(0)
    want(path, "run")
    assert reader.read() == ("run", 5)
    want(path, "stop")
    assert not reader.may_step(0)


def test_without_a_grant_there_is_no_limit(tmp_path: Path) -> None:
    create_control(tmp_path / "c", granted_steps=None)
    assert ControlReader(tmp_path / "c").may_step(10**15)


@pytest.mark.fault
def test_a_wish_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    create_control(tmp_path / "c", granted_steps=None)
    with pytest.raises(ValueError, match="not in tuple"):
        want(tmp_path / "c", "halt")  # type: ignore[arg-type]
