"""The verdict on recorded runs that were not measured in lockstep, in sentences."""

from __future__ import annotations

import math

import pytest

from workbench.compare.recorded_runs.final_losses import FinalLosses
from workbench.compare.recorded_runs.run_verdict import unpaired_verdict


def test_there_is_no_interval_and_no_exact_sameness() -> None:
    found = unpaired_verdict({"a": 1.0, "b": 0.5, "c": math.inf}, "a")
    assert found[:3] == (
        "b is slower, 0.50 times as fast as a; measured separately, without an interval.",
        "not in lockstep",
        "unpaired",
    )
    assert "measured on different days," in unpaired_verdict({"a": 1, "b": 2}, "a", days=2).sentence
    none = unpaired_verdict({"a": 1.0}, "a")
    assert none[:3] == ("There is no ratio: there is only one run.", "no ratio", "none")
    unmeasured = unpaired_verdict({"a": 1.0, "b": math.nan}, "a")
    assert unmeasured.sentence == "There is no ratio: fewer than two runs were measured."
    assert unmeasured.level == "none"


def test_of_equal_ratios_no_run_is_named_twice() -> None:
    ratios = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    sentence = unpaired_verdict(ratios, "a").sentence
    assert sentence.startswith("b is about as fast as a, 1.00 times; d is about as fast as a,")


def test_losses_come_first_and_many_settings_are_counted() -> None:
    names = ["batch_size", "learning_rate", "lora.rank", "seed", "optimizer", "machine"]
    losses = FinalLosses(
        "Test loss, lowest first: b: 0.1; a: 0.2.", "test loss", {"b": 0.1, "a": 0.2}
    )
    found = unpaired_verdict({"a": 1.0, "b": 2.0}, "a", losses=losses, differing=names)
    assert found.line == 2, "losses and settings do not depend on the machine"
    assert found.sentence == (
        "Test loss, lowest first: b: 0.1; a: 0.2.\nSettings that differ: batch size, learning "
        "rate, LoRA rank, 3 others.\nb is 2.0 times as fast as a; measured separately, without an "
        "interval."
    )


def test_a_ratio_that_is_not_to_be_trusted_follows_the_doubt() -> None:
    found = unpaired_verdict({"a": 1.0, "b": 2.0}, "a", busy="The machine was busy.")
    doubt, measured = found.sentence.split("\n")
    assert doubt == "The machine was busy."
    assert measured.startswith("As measured, b is 2.0 times as fast as a; measured separately")
    assert found[1:3] == ("machine was busy", "busy")


@pytest.mark.parametrize(("differing", "told"), [("learning_rate", False), ("batch_size", True)])
def test_on_a_busy_machine_speed_is_not_told_of_settings_that_do_not_change_it(
    differing: str, told: bool
) -> None:
    ratios = {"a": 1.0, "b": 3.1}
    found = unpaired_verdict(ratios, "a", differing=[differing], busy="The machine was busy.")
    assert ("3.1 times as fast" in found.sentence) is told
    assert found.level == "busy"
    unknown = unpaired_verdict(ratios, "a", differing=[differing], unknown=True)
    assert ("3.1 times as fast" in unknown.sentence) is told
    assert unknown.level == ("unpaired" if told else "unknown")
    assert "There is no ratio" not in unknown.sentence
    quiet = unpaired_verdict(ratios, "a", differing=[differing])
    assert "3.1 times as fast" in quiet.sentence
