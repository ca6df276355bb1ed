"""How far the losses of engines differ, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.runs.written import DONE, steps, write_run
from workbench.compare.lockstep import make_plan
from workbench.compare.loss_agreement import BY_CHANCE, loss_agreement
from workbench.compare.rounds.measured_rounds import MeasuredRounds
from workbench.run_folder.statistics import GraphStatistics, Nodes, Statistics
from workbench.runs import Run

GRAPH = GraphStatistics(
    inputs=(), gradient_s=0, load_s=0, exported_nodes=1, trainable_nodes=1,
    built=Nodes(forward=1, backward=1), threads=1, draws=True,
)  # fmt: skip


def run_of(engine: str, losses: Sequence[float], **summary: object) -> Run:
    events = [steps(1, [0.1] * len(losses), [*losses])]
    return write_run("a", events, {**DONE, **summary}, engine=engine)


def told_of(runs: Mapping[str, Run]) -> list[str]:
    return loss_agreement(runs, MeasuredRounds(make_plan(40, 5), lambda: None).steps, "pytorch")


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ({"fake": [2.0, 1.0]}, ["The losses are the same."]),
        (
            {"fake": [2.0, 1.00001], "ondevice": [2.0, 1.0]},
            ["The losses agree: they differ by at most 1.00e-05 at the same step."],
        ),
        ({"fake": [2.0, 1.25]}, ["The losses differ by at most 0.250 at the same step."]),
        ({"fake": [2.0, None]}, []),
        ({}, []),
    ],
)
def test_the_largest_difference_is_told(
    others: dict[str, Sequence[float]], told: list[str]
) -> None:
    losses = {"pytorch": [2.0, 1.0], **others}
    assert told_of({engine: run_of(engine, each) for engine, each in losses.items()}) == told


def test_the_losses_of_a_model_that_draws_differ_by_chance() -> None:
    drawn = Statistics(engine="fake", graphs=(GRAPH,)).model_dump(mode="json")
    runs = {"pytorch": run_of("pytorch", [1.0]), "fake": run_of("fake", [2.0], statistics=drawn)}
    assert loss_agreement(
        runs, MeasuredRounds(make_plan(40, 5), lambda: None).steps, "pytorch"
    ) == [BY_CHANCE]
    going = write_run("b", [steps(1, [0.1])], engine="fake")
    assert (
        loss_agreement(
            {**runs, "fake": going}, MeasuredRounds(make_plan(40, 5), lambda: None).steps, "pytorch"
        )
        == []
    )
