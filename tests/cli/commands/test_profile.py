"""`workbench profile`, run as people run it."""

from __future__ import annotations

import pytest

from tests.cli.command import Invoke


@pytest.mark.sweep
def test_the_operators_of_a_step_are_listed(workbench: Invoke) -> None:
    outcome = workbench(
        "profile", "digits-mlp", "--engine", "pytorch", "--steps", "2", "--threads", "1"
    )
    assert outcome.status == 0, outcome.stderr
    assert "pytorch: " in outcome.stdout
    # On a machine that is too busy to time a step none are listed, and it is said.
    assert ("aten::addmm" in outcome.stdout) != ("Do not trust them" in outcome.stdout)
    assert "medians over the faster half of 2 steps" in outcome.stdout


def test_it_is_one_json_document(workbench: Invoke) -> None:
    arguments = ("--engine", "pytorch", "--steps", "1", "--json", "--plot", "profile.png")
    outcome = workbench("profile", "digits-mlp", *arguments)
    assert outcome.status == 0, outcome.stderr
    (engine,) = outcome.json["engines"]
    assert engine["engine"] == "pytorch"
    assert "aten::addmm" in {row["op"] for row in engine["operators"]}


def test_an_engine_without_a_profiler_is_refused(workbench: Invoke) -> None:
    outcome = workbench("profile", "digits-mlp", "--engine", "pytorch-compile")
    assert outcome.status == 1
    assert "only pytorch, ondevice, ortmodule can be profiled" in outcome.stderr
