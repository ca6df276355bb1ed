"""More threads than cores are refused, wherever they are given; a record of them is read."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.errors import ConfigError
from workbench.machine.threads import default_threads
from workbench.settings.config import make_config, read_config
from workbench.settings.ortmodule_options import make_options

CORES = default_threads()


@pytest.mark.fault
@pytest.mark.parametrize("threads", [CORES + 1, 100_000, 10**30])
def test_more_threads_than_cores_are_refused(threads: int) -> None:
    words = rf"threads={threads}: this process may use {CORES} core.*give {CORES} or less"
    with pytest.raises(ConfigError, match=words):
        make_config({"threads": threads})
    with pytest.raises(ConfigError, match=words):
        make_options({"threads": threads})
    with pytest.raises(ConfigError, match=rf"ortmodule\.{words}"):
        make_config({"ortmodule": {"threads": threads}})


@pytest.mark.fault
@pytest.mark.parametrize("function", [wb.train, wb.compare, wb.profile, wb.verify])
def test_every_function_that_takes_threads_refuses_them(function: object) -> None:
    with pytest.raises(ConfigError, match="threads=100000: this process may use"):
        function("digits-mlp", threads=100_000)  # type: ignore[operator]
    assert len(wb.runs()) == 0


@pytest.mark.fault
@pytest.mark.parametrize("threads", [0, -1, 1.5, "many"])
def test_threads_are_a_whole_number(threads: object) -> None:
    with pytest.raises(ConfigError, match="threads="):
        make_config({"threads": threads})


def test_as_many_threads_as_cores_are_taken() -> None:
    assert make_config({"threads": CORES}).threads == CORES
    assert make_config({"threads": 1}).threads == 1


def test_a_record_from_a_larger_machine_is_read() -> None:
    record = make_config({}).model_dump(mode="json")
    record |= {"threads": 4096, "ortmodule": {"threads": 4096}}
    config = read_config(record)
    assert (config.threads, config.ortmodule.threads) == (4096, 4096)
