"""Recorded runs of any day beside each other, from records that are known to the last digit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.runs.written import DONE, append, steps, write_run
from workbench.compare import Comparison, compare_runs
from workbench.compare.differences import differing
from workbench.compare.lockstep import make_plan
from workbench.compare.record import ComparisonRecord
from workbench.compare.recorded_runs.run_comparison import _day
from workbench.errors import ConfigError, RunFolderError
from workbench.machine.load import Load
from workbench.runs import Run, load_run

EVALUATION = {"event": "evaluation", "step": 22, "epoch": 8, "loss": 0.5, "accuracy": 0.75}


def recorded(label: str, step_s: float, **settings: Any) -> Run:
    """A run of 22 steps of ten samples; the first two, of the warm-up, take ten times as long."""
    seconds = [10 * step_s] * 2 + [step_s] * 20
    losses = [2.0 - step / 100 for step in range(22)]
    summary = {
        "status": "completed",
        "peak_rss_bytes": 300_000_000,
        "rss_before_bytes": 100_000_000,
    }
    return write_run(
        label,
        [steps(1, seconds[:1], losses[:1]), steps(2, seconds[1:], losses[1:]), EVALUATION],
        summary,
        **{"engine": "fake", "steps": 22, "warmup_steps": 2, **settings},
    )


def test_the_table_is_the_records_and_the_first_run_the_reference() -> None:
    slow, fast = recorded("same", 0.5), recorded("same", 0.25)
    slow.rename("slow")
    fast.rename("fast")
    both = compare_runs([slow, fast.id])
    table = both.table()
    assert list(table.index) == ["slow", "fast"]
    assert both.reference == "slow"
    np.testing.assert_allclose(table["samples_per_s"], [20.0, 40.0], rtol=1e-12)
    np.testing.assert_allclose(table["ratio"], [1.0, 2.0], rtol=1e-12)
    assert table["ratio_low"].isna().all()
    assert list(table["memory_growth_mb"]) == [200.0, 200.0]
    assert list(table["steps"]) == [22, 22]


def test_the_first_run_of_pytorch_is_the_reference() -> None:
    runs = [recorded("a", 0.5), *(recorded("a", 0.25, engine="pytorch") for _ in "bc")]
    found = compare_runs(runs)
    assert found.runs[found.reference].id == runs[1].id
    np.testing.assert_allclose(found.table()["ratio"], [0.5, 1.0, 1.0], rtol=1e-12)


def test_the_verdict_has_the_losses_the_differing_settings_and_the_speeds() -> None:
    slow, fast = recorded("same", 0.5), recorded("same", 0.25, learning_rate=0.5)
    append(fast.folder.events_path, [{**EVALUATION, "step": 22, "loss": 0.25, "accuracy": 0.875}])
    slow.rename("slow")
    fast.rename("fast")
    found = compare_runs([slow, fast])
    assert (
        found.verdict()
        .sentence.replace("\n", " ")
        .startswith(
            "Final test loss, lowest first: fast: 0.2500 (accuracy 87.5 %); slow: 0.5000 "
            "(2.00× the lowest, accuracy 75.0 %). Settings that differ: learning rate. "  # noqa: RUF001
            "It is not known whether the machine was quiet while these runs were measured."
        )
    )
    assert found.verdict().level == "unknown", "a learning rate changes no speed"
    assert found.badge == "lowest final test loss 0.2500: fast"
    assert found.table()["test_loss"].tolist() == [0.5, 0.25]


def test_the_badge_has_the_ratio_where_only_the_engines_differ() -> None:
    runs = [recorded("same", 0.5, engine="pytorch"), recorded("same", 0.25)]
    assert compare_runs(runs).badge == "≈ 2.0× fake vs pytorch"  # noqa: RUF001
    runs.append(recorded("same", 0.25, engine="pytorch", seed=3))
    assert "2.0× fake" in compare_runs(runs).badge, "no loss is the lowest"  # noqa: RUF001


def test_losses_of_other_data_do_not_compare() -> None:
    one, other = recorded("same", 0.5, engine="pytorch"), recorded("same", 0.25)
    other.spec["dataset"] = "other rows"
    sentence = compare_runs([one, other]).verdict().sentence.replace("\n", " ")
    assert sentence.startswith("Their losses do not compare: they are of different datasets. ")
    assert "accuracy" not in sentence.lower()


def test_accuracies_decide_between_loss_functions() -> None:
    slow, fast = recorded("same", 0.5, engine="pytorch"), recorded("same", 0.25, loss="nll")
    append(fast.folder.events_path, [{**EVALUATION, "step": 22, "loss": -9.0, "accuracy": 0.092}])
    found = compare_runs([slow, fast])
    lines = found.verdict().sentence.splitlines()
    assert lines[0] == (
        "Their losses do not compare: they are of different loss functions. Final test accuracy, "
        "highest first: pytorch · loss function cross_entropy: 75.0 %; "
        "fake · loss function nll: 9.2 %."
    )
    assert found.badge.startswith("highest final test accuracy 75.0 %: pytorch")
    assert [*found.deciding_losses.by_run.values()] == [0.75, 0.092]
    assert found.table()["test_accuracy"].tolist() == [0.75, 0.092]
    third = recorded("same", 0.25, engine="ondevice")
    sentence = compare_runs([slow, fast, third]).verdict().sentence
    assert "loss function nll: another loss function (accuracy 9.2 %)." in sentence


def test_where_there_is_no_accuracy_r2_decides() -> None:
    runs = [recorded("same", 0.5, engine="pytorch", loss="mse"), recorded("same", 0.5, loss="l1")]
    for run, r2 in zip(runs, (0.5, 0.75), strict=True):
        append(run.folder.events_path, [{**EVALUATION, "accuracy": None, "r2": r2}])
    found = compare_runs(runs)
    assert found.badge.startswith("highest final test R² 0.750: fake")
    assert "Final test R², highest first: fake · loss function l1: 0.750; pytorch" in (
        found.verdict().sentence
    )


def test_a_test_loss_of_a_run_in_progress_is_not_final() -> None:
    done = recorded("same", 0.5, engine="pytorch")
    events = [steps(1, [0.25] * 22), {**EVALUATION, "loss": 0.25}]
    going = write_run("same", events, engine="fake", steps=40, learning_rate=0.5)
    sentence = compare_runs([done, going]).verdict().sentence
    assert sentence.startswith("Test loss so far, lowest first: ")


def test_a_run_on_other_data_is_left_out_of_the_losses() -> None:
    runs = [recorded("same", 0.5, engine="pytorch"), recorded("same", 0.25)]
    other = recorded("same", 0.25, engine="ondevice")
    other.spec["dataset"] = "other rows"
    found = compare_runs([*runs, other]).verdict().sentence.replace("\n", " ")
    assert found.startswith(
        "Final test loss of pytorch and fake: 0.5000 (accuracy 75.0 %); ondevice: another dataset. "
    )


def test_turns_of_a_comparison_are_no_run_at_a_stretch() -> None:
    whole, part = recorded("same", 0.5, engine="pytorch"), recorded("same", 0.25)
    part.spec["comparison"] = "20261129-120000"
    found = compare_runs([whole, part])
    sentence = found.verdict().sentence
    assert "fake was measured in the short turns of a comparison, and not as whole runs" in sentence
    assert "different measurements: their speeds do not compare" in sentence
    assert "times as fast" not in sentence
    assert math.isnan(found.table().loc["fake", "ratio"])
    whole.spec["comparison"] = "20261129-120000"
    assert "short turns" not in compare_runs([whole, part]).verdict().sentence


def test_last_batches_of_different_steps_have_no_lowest_loss() -> None:
    settings = {"engine": "fake", "warmup_steps": 0}
    one = write_run("same", [steps(1, [1.0], [3.0])], DONE, learning_rate=0.5, **settings)
    two = write_run("same", [steps(1, [1.0, 1.0], [3.0, 2.0])], DONE, **settings)
    assert "lowest" not in compare_runs([one, two]).badge
    other = write_run("same", [steps(1, [1.0], [2.0])], DONE, **settings)
    assert compare_runs([one, other]).badge == "lowest loss of the last batch 2.0000: lr 0.001"


def test_without_a_test_loss_of_each_the_losses_are_those_of_the_last_batch() -> None:
    tested = recorded("same", 0.5, engine="pytorch")
    untested = write_run("same", [steps(1, [1.0, 1.0], [3.0, 2.0])], DONE, engine="fake")
    nothing = write_run("same", [], DONE, engine="ondevice")
    diverged = write_run("same", [steps(1, [1.0], [None])], DONE, engine="ortmodule")
    found = (
        compare_runs([tested, untested, nothing, diverged]).verdict().sentence.replace("\n", " ")
    )
    assert found.startswith(
        "Loss of the last batch, at different steps: pytorch · 22 steps: 1.7900 at step 22; "
        "fake · 1 epoch: 2.0000 at step 2; ortmodule · 1 epoch: not finite at step 1. "
    )


def test_runs_that_were_not_tested_are_named_after_those_that_were() -> None:
    first, second = recorded("same", 0.5, engine="pytorch"), recorded("same", 0.25)
    append(second.folder.events_path, [{**EVALUATION, "step": 20, "loss": 0.25, "accuracy": None}])
    failed = write_run("same", [steps(1, [1.0])], {"status": "failed"}, engine="ondevice")
    assert (
        compare_runs([first, second, failed])
        .verdict()
        .sentence.replace("\n", " ")
        .startswith(
            "Last test loss, lowest first: fake · 22 steps: 0.2500 at step 20; pytorch · 22 "
            "steps: 0.5000 at step 22 (2.00× the lowest, accuracy 75.0 %); ondevice · 1 epoch: not "  # noqa: RUF001
            "tested. "
        )
    )


def test_of_many_runs_the_lowest_losses_and_the_highest_are_named() -> None:
    runs = []
    for number, step_s in enumerate((0.5, 0.25, 0.125, 1.0, 0.5, 0.5)):
        run = recorded("same", step_s, seed=number, batch_size=10 + number)
        loss = 1 - number / 10
        append(run.folder.events_path, [{**EVALUATION, "step": 22, "loss": loss, "accuracy": None}])
        run.rename(f"run {number}")
        runs.append(run)
    sentence = compare_runs(runs).verdict().sentence.replace("\n", " ")
    assert (
        "run 5: 0.5000; run 4: 0.6000 (1.20× the lowest); run 3: 0.7000 (1.40× the "  # noqa: RUF001
        "lowest); 2 others; run 0: 1.0000 (2.00× the lowest). " in sentence  # noqa: RUF001
    )
    assert (
        " run 2 is 4.0 times as fast as run 0; run 3 is slower, 0.50 times as fast as run 0; "
        "measured separately, without an interval." in sentence
    )


def test_the_verdict_says_that_a_run_is_still_in_progress() -> None:
    ended = recorded("same", 0.5)
    events = [{"event": "built", "rss_before_bytes": 1}, steps(1, [0.25] * 20, [1.0] * 20)]
    running = write_run("same", events, engine="fake", steps=40, warmup_steps=2)
    running.rename("running")
    said = compare_runs([ended, running]).verdict().sentence.replace("\n", " ")
    assert said.endswith("running is still in progress: the figures are of the steps so far.")
    assert " running is 2.0 times as fast as" in said
    assert "in progress" not in compare_runs([ended]).verdict().sentence.replace("\n", " ")


def test_the_load_of_a_comparison_that_goes_on_elsewhere_is_read_until_its_end() -> None:
    runs = [recorded("same", 0.5, engine="pytorch"), recorded("same", 0.25)]
    record = ComparisonRecord(make_plan(20, 2), [run.engine for run in runs])
    for run in runs:
        record.add_run(run.engine, run.id)
    both = compare_runs(runs)
    assert both.measured_together
    assert both.verdict().level == "unknown"
    record.add_load(Load(1.0, 1.5, 2))
    assert both.verdict().level == "busy"


def test_of_runs_that_were_all_stopped_the_one_stopped_long_before_is_named() -> None:
    """A comparison that was stopped as a whole, after one of its engines was stopped elsewhere."""
    stopped = {"status": "stopped"}
    settings = {"steps": 200, "warmup_steps": 0}
    last = write_run("last", [steps(1, [0.5] * 100)], stopped, **settings)
    with_it = write_run("with", [steps(1, [0.5] * 90)], stopped, **settings)
    before = write_run("before", [steps(1, [0.5] * 40)], stopped, **settings)
    found = compare_runs([last, with_it, before])
    assert (
        found.verdict()
        .sentence.replace("\n", " ")
        .endswith(f"{list(found.runs)[2]} was stopped at step 40 of 200.")
    )
    assert "was stopped" not in compare_runs([last, with_it]).verdict().sentence.replace("\n", " ")
    in_warmup = {"steps": 100, "warmup_steps": 40}
    one = write_run("one", [steps(1, [0.5] * 40)], stopped, **in_warmup)
    two = write_run("two", [steps(1, [0.5])], stopped, **in_warmup)
    assert "was stopped" not in compare_runs([one, two]).verdict().sentence.replace("\n", " "), (
        "the warm-up is a turn"
    )


def test_another_batch_size_is_said_before_the_ratio() -> None:
    slow, fast = recorded("same", 0.5, engine="pytorch"), recorded("same", 0.25, batch_size=5)
    sentence = compare_runs([slow, fast]).verdict().sentence.replace("\n", " ")
    assert "differ: engine, batch size. fake · batch 5 is 2.0 times as fast as pytorch" in sentence


def test_runs_of_different_models_have_no_ratio() -> None:
    small, large = recorded("small", 0.25, engine="pytorch"), recorded("large", 0.5)
    both = compare_runs([small, large])
    assert both.verdict()[:3] == (
        "Final test loss of model-small · pytorch and model-large · fake: 0.5000 (accuracy 75.0 "
        "%).\nSamples per second: model-small · pytorch: 40.0; "
        "model-large · fake: 20.0; different models: their speeds do not compare.",
        "no ratio",
        "none",
    )
    table = both.table()
    assert table["ratio"].isna().tolist() == [False, True]
    assert table["samples_per_s"].tolist() == pytest.approx([40.0, 20.0])


def test_a_run_on_other_data_is_left_out_of_the_ratios() -> None:
    slow, fast, other = (recorded("same", step_s) for step_s in (0.5, 0.25, 0.1))
    for run, name in ((slow, "slow"), (fast, "fast"), (other, "other")):
        run.rename(name)
    other.spec["dataset"] = "other rows"
    sentence = compare_runs([slow, fast, other]).verdict().sentence.replace("\n", " ")
    assert " fast is 2.0 times as fast as slow;" in sentence
    assert (
        "Samples per second: slow: 20.0; other: 100; different datasets: their speeds do not "
        "compare." in sentence
    )
    other.spec["model"] = "another"
    sentence = compare_runs([slow, fast, other]).verdict().sentence.replace("\n", " ")
    assert "; different models and datasets: their speeds" in sentence


def test_what_is_little_known_of_a_run_is_said() -> None:
    long, short = recorded("same", 0.5), recorded("same", 0.25, warmup_steps=19)
    long.rename("long")
    short.rename("short")
    sentence = compare_runs([long, short]).verdict().sentence.replace("\n", " ")
    assert "Only 3 measured steps of short." in sentence
    assert "steps of long" not in sentence
    assert sentence.endswith("whether the machine was quiet while these runs were measured.")


@pytest.mark.parametrize("launched", [None, 1e12, 1e17, 1e300])
def test_a_day_that_no_calendar_has_is_left_out(launched: float | None) -> None:
    known, other = recorded("same", 0.5), recorded("same", 0.5)
    other.spec["launched"] = launched
    assert _day(known) in {"1 Jan 1970", "31 Dec 1969"}
    assert _day(other) == ""
    assert compare_runs([known, other]).verdict().level == "unpaired"


def test_only_settings_that_differ_are_listed() -> None:
    # What a tuning notes of itself is no setting.
    tuning = {"variant": "default", "reason": "measured here"}
    slow = recorded("same", 0.5, tuning=tuning)
    fast = recorded("same", 0.5, learning_rate=0.5, seed=7)
    found = compare_runs([slow, fast]).differences()
    assert list(found.index) == ["learning_rate", "seed"]
    assert found.loc["seed"].tolist() == ["0", "7"]
    assert compare_runs([slow]).differences().empty


def test_options_of_ortmodule_differ_only_between_its_runs() -> None:
    own = {"pytorch_kernels": "dropout"}
    eager = recorded("same", 0.5, engine="pytorch")
    chosen = recorded("same", 0.5, engine="ortmodule", ortmodule=own)
    plain = recorded("same", 0.5, engine="ortmodule")
    assert list(compare_runs([eager, chosen]).differences().index) == ["engine"]
    assert "ettings that differ" not in compare_runs([eager, chosen]).verdict().sentence.replace(
        "\n", " "
    )
    found = compare_runs([eager, chosen, plain]).differences()
    assert list(found.index) == ["engine", "ortmodule.pytorch_kernels"]
    assert found.loc["ortmodule.pytorch_kernels"].tolist() == ["not used", "dropout", "auto"]


def test_a_run_that_was_measured_on_a_busy_machine_is_named() -> None:
    busy, other = recorded("same", 0.5, engine="pytorch"), recorded("same", 0.25)
    load = {"event": "load", "step": 22, "wall_s": 10.0, "other_s": 12.0, "cores": 2}
    append(busy.folder.events_path, [load])
    found = compare_runs([busy, other])
    assert found.badge.startswith("Do not trust: 2.0")
    verdict = found.verdict()
    assert (verdict.level, verdict.badge) == ("busy", "machine was busy")
    said = "The machine was busy while pytorch was measured (other programs used 1.2 of 2 cores): "
    assert f"{said}do not trust its throughput." in verdict.sentence
    assert "\nAs measured, fake is 2.0 times as fast as pytorch; " in verdict.sentence
    third = recorded("same", 0.25, engine="ondevice")
    append(other.folder.events_path, [{**load, "other_s": 9.0}])
    said = "The machine was busy while {} were measured: do not trust their throughputs."
    assert said.format("these runs") in compare_runs([busy, other]).verdict().sentence.replace(
        "\n", " "
    )
    three = compare_runs([busy, other, third]).verdict().sentence.replace("\n", " ")
    assert said.format("pytorch, fake") in three


def test_a_comparison_of_an_older_version_tells_of_its_runs_that_the_machine_was_busy() -> None:
    busy, other = recorded("same", 0.5, engine="pytorch"), recorded("same", 0.25)
    record = ComparisonRecord(make_plan(22, 2), ["pytorch"])
    record.add_run("pytorch", busy.id)
    record.add_load(Load(wall_s=10.0, other_s=12.0, cores=2))
    assert compare_runs([busy, other]).verdict().level == "busy"


def test_the_caption_says_what_is_trained() -> None:
    partly = recorded("partly", 0.5, requires_grad=["head.*", "*.bias"])
    assert (
        ", batch 10, adamw with lr 0.001, trained parameters: head.*, *.bias, "
        in compare_runs([partly]).caption
    )
    lora = recorded("lora", 0.5, engine="ondevice", lora={"rank": 2})
    assert ", adamw with lr 0.001, LoRA of rank 2, " in compare_runs([lora]).caption


def test_a_setting_that_a_run_does_not_have_differs() -> None:
    found = differing({"a": {"x": 1, "y": None}, "b": {"x": 1, "y": 3}, "c": {"y": None}})
    assert found == {
        "x": {"a": "1", "b": "1", "c": "not set"},
        "y": {"a": "not set", "b": "3", "c": "not set"},
    }


def test_patterns_that_differ_are_listed_as_they_are_typed() -> None:
    found = differing({"a": {"x": ("head.*", "*.bias")}, "b": {"x": ()}, "c": {"x": None}})
    assert found == {"x": {"a": "head.*, *.bias", "b": "none", "c": "not set"}}


def test_a_comparison_is_replaced_by_its_runs() -> None:
    runs = {"pytorch": recorded("one", 0.5, engine="pytorch"), "fake": recorded("two", 0.25)}
    comparison = Comparison("c", make_plan(22, 2), [*runs], runs=runs)
    other = recorded("three", 1.0)
    found = compare_runs([comparison, other])
    assert [run.id for run in found.runs.values()] == [
        *(run.id for run in runs.values()),
        other.id,
    ]
    assert comparison.differences().index.tolist() == ["model"]
    assert comparison.verdict().level == "unknown"


@pytest.mark.fault
def test_arguments_that_are_no_runs_are_refused() -> None:
    run = recorded("once", 0.5)
    with pytest.raises(ConfigError, match="give at least one run"):
        compare_runs([])
    with pytest.raises(ConfigError, match="twice"):
        compare_runs([run, run.id])
    with pytest.raises(RunFolderError, match="nowhere"):
        compare_runs(["nowhere"])


def test_a_part_of_a_record_that_is_missing_is_said() -> None:
    whole = write_run("whole", [steps(1, [1.0, 1.0], [3.0, 2.0])], DONE)
    gap = write_run("gap", [steps(1, [1.0], [3.0]), steps(3, [1.0], [2.0])], DONE)
    sentence = compare_runs([whole, gap]).verdict().sentence.replace("\n", " ")
    assert sentence.endswith(f"{gap.folder.events_path} is incomplete: 1 of its steps is missing.")


def test_a_run_that_was_trained_further_is_said() -> None:
    plain, further = recorded("plain", 0.5), recorded("further", 0.25)
    further.folder.write_spec({**further.spec, "resumed_from": 1200})
    sentence = compare_runs([plain, load_run(further.id)]).verdict().sentence.replace("\n", " ")
    assert "was resumed at step 1,200: its throughput is of all its steps" in sentence
    assert sentence.count("was resumed") == 1
