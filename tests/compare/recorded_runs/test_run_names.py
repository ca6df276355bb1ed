"""Names of compared runs: no longer than it takes to tell them apart."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.runs.written import steps, write_run
from workbench.compare.recorded_runs.run_names import distinct_names
from workbench.runs import Run

MORNING = datetime.datetime(2001, 5, 3, 9, 30, 15).timestamp()  # local time, as titles have
DAY_S = 86_400


def run_of(
    model: str = "a",
    engine: str = "pytorch",
    after_s: float = 0,
    name: str = "",
    **settings: Any,
) -> Run:
    run = write_run(model, [steps(1, [1.0])], {"status": "completed"}, engine=engine, **settings)
    run.spec["launched"] = MORNING + after_s
    if name:
        run.rename(name)
    return run


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ([{}], ["model-a · pytorch · 3 May 2001 09:30:15"]),
        ([{}, {"engine": "ondevice"}], ["pytorch", "ondevice"]),
        ([{}, {"model": "b"}], ["model-a · pytorch", "model-b · pytorch"]),
        (
            [{}, {"model": "b", "engine": "ondevice"}],
            ["model-a · pytorch", "model-b · ondevice"],
        ),
        ([{}, {"after_s": 5}], ["pytorch · 09:30:15", "pytorch · 09:30:20"]),
        (
            [{}, {"after_s": DAY_S}],
            ["pytorch · 3 May 2001 09:30:15", "pytorch · 4 May 2001 09:30:15"],
        ),
        (
            [{}, {"model": "b"}, {"after_s": 1}],
            [
                "model-a · pytorch · 09:30:15",
                "model-b · pytorch",
                "model-a · pytorch · 09:30:16",
            ],
        ),
        ([{"name": "baseline"}, {}], ["baseline", "pytorch"]),
        ([{"name": "pytorch"}, {}], ["pytorch", "pytorch · 09:30:15"]),
        ([{"name": "same"}, {"name": "same"}, {}], ["same (1)", "same (2)", "pytorch"]),
        ([{}, {}], ["pytorch · 09:30:15 (1)", "pytorch · 09:30:15 (2)"]),
    ],
)
def test_a_name_has_what_distinguishes_the_run(
    runs: list[dict[str, Any]], names: list[str]
) -> None:
    assert distinct_names([run_of(**each) for each in runs]) == names


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ([{}, {"learning_rate": 0.5}], ["pytorch · lr 0.001", "pytorch · lr 0.5"]),
        (
            [{"learning_rate": 0.5, "batch_size": 4}, {"learning_rate": 0.25, "batch_size": 8}],
            ["pytorch · lr 0.5, batch 4", "pytorch · lr 0.25, batch 8"],
        ),
        (
            [{}, {"learning_rate": 0.5}, {"learning_rate": 0.5}],
            [
                "pytorch · lr 0.001",
                "pytorch · lr 0.5 · 09:30:15 (1)",
                "pytorch · lr 0.5 · 09:30:15 (2)",
            ],
        ),
        (
            [{}, {"engine": "ondevice", "learning_rate": 0.5}],
            ["pytorch · lr 0.001", "ondevice · lr 0.5"],
        ),
        ([{"evaluate": False}, {}], ["pytorch · evaluate no", "pytorch · evaluate yes"]),
        (
            [{"max_grad_norm": 1.0}, {"lr_warmup_steps": 5}],
            [
                "pytorch · warm-up steps 0, clip gradients to 1",
                "pytorch · warm-up steps 5, no clipping",
            ],
        ),
        (
            [{"lora": {"rank": 2}, "engine": "ondevice"}, {"engine": "ondevice"}],
            ["ondevice · LoRA rank 2", "ondevice · no LoRA"],
        ),
        (
            [{"steps": 200, "evaluate": False}, {"epochs": 40}],
            ["pytorch · 200 steps", "pytorch · 40 epochs"],
        ),
        (
            [
                {"seed": 1, "weight_decay": 0.1, "learning_rate": 0.5, "batch_size": 4},
                {"seed": 2, "weight_decay": 0.2, "learning_rate": 0.5, "batch_size": 8},
                {"seed": 3, "weight_decay": 0.3, "learning_rate": 0.25, "batch_size": 8},
            ],
            [
                "pytorch · lr 0.5, batch 4",
                "pytorch · lr 0.5, batch 8",
                "pytorch · lr 0.25, batch 8",
            ],
        ),
    ],
)
def test_runs_of_an_engine_are_named_by_the_settings_that_differ(
    settings: list[dict[str, Any]], names: list[str]
) -> None:
    assert distinct_names([run_of(**each) for each in settings]) == names


def test_more_settings_than_a_name_can_hold_are_left_to_the_table() -> None:
    other = {"learning_rate": 0.5, "batch_size": 4, "optimizer": "sgd"}
    assert distinct_names([run_of(), run_of(**other)]) == [
        "pytorch · lr 0.001, batch 10, adamw",
        "pytorch · lr 0.5, batch 4, sgd",
    ]
    more = {**other, "seed": 3}
    assert distinct_names([run_of(), run_of(**more)]) == ["pytorch · lr 0.001", "pytorch · lr 0.5"]
    long = [run_of(requires_grad=["a" * 40]), run_of(after_s=5, requires_grad=["b"])]
    assert distinct_names(long) == ["pytorch · 09:30:15", "pytorch · 09:30:20"]


def test_a_display_name_that_ends_with_a_number_is_not_taken_twice() -> None:
    runs = [run_of(name="same"), run_of(name="same"), run_of(name="same (1)")]
    assert len(set(distinct_names(runs))) == 3
