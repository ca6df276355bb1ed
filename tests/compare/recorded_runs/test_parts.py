"""A part of a comparison has the figures that the whole comparison has found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.runs.written import steps, write_run
from workbench.compare import compare_runs, load_comparison
from workbench.compare.lockstep import make_plan
from workbench.compare.record import ComparisonRecord, comparisons_folder
from workbench.compare.recorded_throughputs import record_throughputs
from workbench.machine.load import Load
from workbench.runs import Run

DONE = {"status": "completed", "samples_per_s": 1.0}
ENGINES = ("pytorch", "ondevice", "ortmodule")


def compared(ondevice_steps: int = 42, slow_steps: int = 0) -> list[Run]:
    """Three runs of a comparison on a machine that disturbed each of them now and then."""
    random = np.random.default_rng(1)
    record = ComparisonRecord(make_plan(steps=42, warmup_steps=2), [*ENGINES])
    runs = []
    for engine, seconds in zip(ENGINES, (0.1, 0.008, 0.05), strict=True):
        times = seconds * random.uniform(1, 3, ondevice_steps if engine == "ondevice" else 42)
        times[2 : 2 + slow_steps] *= 6
        run = write_run(engine, [steps(1, times.tolist())], DONE, engine=engine)
        record.add_run(engine, run.id)
        runs.append(run)
    for _ in range(20):
        record.add_load(Load(wall_s=1.0, other_s=0.0, cores=2))
    record_throughputs(record.id)
    return runs


@pytest.mark.parametrize("part", [(1, 2), (2, 1), (0, 2), (2, 0), (1, 2, 0)])
def test_its_throughputs_are_those_of_the_runs_and_give_its_ratios(part: tuple[int, ...]) -> None:
    runs = compared()
    chosen = [runs[index] for index in part]
    found = compare_runs(chosen)
    table = found.table()
    assert table["samples_per_s"].tolist() == [run.samples_per_s for run in chosen]
    quotients = table["samples_per_s"] / table["samples_per_s"][found.reference]
    assert table["ratio"].tolist() == pytest.approx(quotients.tolist(), rel=1e-12)
    assert (table["ratio_low"] <= table["ratio"]).all()
    assert (table["ratio"] <= table["ratio_high"]).all()
    assert (table["rounds"] == 20).all()
    assert "cannot be read" not in found.verdict().sentence
    assert found.verdict().level == "quiet"


def test_the_whole_has_the_same_figures_by_any_way() -> None:
    runs = compared()
    whole = compare_runs(runs).table().reset_index(drop=True)
    (path,) = comparisons_folder().glob("*.json")
    saved = load_comparison(path.stem).table().reset_index(drop=True)
    assert whole.equals(saved)


def test_the_whole_says_that_rounds_differ_though_the_machine_was_quiet() -> None:
    compared(slow_steps=12)
    (path,) = comparisons_folder().glob("*.json")
    sentence = load_comparison(path.stem).verdict().sentence
    quiet = (
        "; the machine was quiet while this was measured, but speeds differed between rounds of "
    )
    assert f"{quiet}measuring (pytorch by " in sentence


@pytest.mark.parametrize("taken", [42, 41, 20, 12, 4])
def test_a_part_one_of_which_has_ended_early_has_consistent_figures(taken: int) -> None:
    """Of a run that failed there are fewer rounds."""
    runs = compared(ondevice_steps=taken)
    found = compare_runs(runs[1:])
    table = found.table()
    assert table["samples_per_s"].tolist() == [run.samples_per_s for run in runs[1:]]
    first, second = table.to_dict("records")
    assert second["ratio"] == pytest.approx(second["samples_per_s"] / first["samples_per_s"])
    assert second["rounds"] == min(20, (taken - 2) // 2)
    if second["rounds"] < 6:
        assert math.isnan(second["ratio_low"])
    else:
        assert second["ratio_low"] < second["ratio"] < second["ratio_high"]


def test_a_part_whose_baseline_was_deleted_says_that_its_figures_differ() -> None:
    first, second, third = compared()
    found, before = compare_runs([second, third]), compare_runs([second, third])
    settled, said = before.table(), before.verdict()
    first.delete()
    table, sentence = found.table(), found.verdict().sentence
    assert (
        "The run of pytorch that these were measured against cannot be read: their throughputs "
        "here are of their own rounds alone, and differ from those in the list of runs."
    ) in sentence
    quotient = table["samples_per_s"].iloc[1] / table["samples_per_s"].iloc[0]
    assert table["ratio"].iloc[1] == pytest.approx(quotient)
    assert compare_runs([second, third]).table().equals(table)
    assert before.table().equals(settled), "what was read is kept"
    assert before.verdict() == said


def test_engines_are_compared_where_the_baseline_failed_before_its_first_round() -> None:
    random = np.random.default_rng(5)
    record = ComparisonRecord(make_plan(steps=42, warmup_steps=2), [*ENGINES])
    failed = write_run("f", [steps(1, [0.1])], {"status": "failed"}, engine="pytorch")
    record.add_run("pytorch", failed.id)
    runs = []
    for engine, seconds in (("ondevice", 0.01), ("ortmodule", 0.05)):
        times = seconds * random.uniform(1, 3, 42)
        runs.append(write_run(engine, [steps(1, times.tolist())], DONE, engine=engine))
        record.add_run(engine, runs[-1].id)
    record_throughputs(record.id)
    table = compare_runs(runs).table()
    assert table["samples_per_s"].tolist() == [run.samples_per_s for run in runs]
    quotient = table["samples_per_s"].iloc[1] / table["samples_per_s"].iloc[0]
    assert table["ratio"].iloc[1] == pytest.approx(quotient)
    assert table["ratio_low"].iloc[1] < quotient < table["ratio_high"].iloc[1]
