"""Losses of every kind all the way: from `train` through workers to equal losses."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

import workbench as wb
from workbench.data import Split
from workbench.errors import ConfigError, RunError

TOLERANCE = 1e-5
STEPS = 100
RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(64, 6)).astype(np.float32)
TARGETS = (RANDOM.integers(0, 3, 64), RANDOM.normal(size=(64, 2)).astype(np.float32))


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.one, self.two = nn.Linear(6, 16), nn.Linear(16, 3), nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        body = torch.tanh(self.body(x))
        return {"logits": self.one(body), "aux": self.two(body)}


def focal(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    chosen = output.log_softmax(1).gather(1, target[:, None])
    return -((1 - chosen.exp()) ** 2 * chosen).mean()


@pytest.fixture(scope="module")
def model() -> wb.Model:
    torch.manual_seed(0)
    return wb.load_model(Heads(), example_inputs=ROWS[:2], name="heads")


@pytest.fixture(scope="module")
def data() -> wb.Dataset:
    return wb.load_dataset(ROWS, TARGETS, name="pairs", test_fraction=0.25)


@pytest.mark.sweep
def test_all_engines_agree_on_several_losses_with_a_function(
    model: wb.Model, data: wb.Dataset, workbench_home: object
) -> None:
    loss = {"logits": focal, "aux": wb.Loss("smooth_l1", beta=0.3, factor=0.5)}
    settings = {"loss": loss, "batch_size": 16, "threads": 1, "evaluate": True}
    engines = ["pytorch", "ondevice", "ortmodule"]
    compared = wb.compare(model, data, engines=engines, steps=STEPS, **settings).wait(180)
    table = compared.table()
    assert list(table["status"]) == ["completed"] * 3
    worst = float(table["max_loss_difference"].max())
    assert worst < TOLERANCE, f"losses differ by {worst:.1e}"
    tests = [run.evaluations["loss"].iloc[-1] for run in compared.runs.values()]
    assert max(tests) - min(tests) < TOLERANCE
    run = compared.runs["ondevice"]
    recorded = json.loads((run.folder.path / "spec.json").read_text())["config"]["loss"]
    assert [record["name"] for record in recorded] == ["focal", "smooth_l1"]
    assert wb.load_run(run.id).config.losses[1] == wb.Loss(
        "smooth_l1", beta=0.3, factor=0.5, output="aux"
    )


def test_the_loss_of_the_test_split_is_pytorchs_where_labels_are_ignored(
    model: wb.Model, data: wb.Dataset, workbench_home: object
) -> None:
    assert data.test is not None
    labels = data.test.target.copy()
    labels[:9] = -100  # a whole batch and more
    test = Split(data.test.inputs, (labels, data.test.targets[1]))
    weight = [0.2, 3.0, 1.0]
    loss = {"logits": wb.Loss("cross_entropy", weight=weight), "aux": wb.Loss("mse", factor=0.5)}
    settings = {"loss": loss, "batch_size": 7, "threads": 1, "evaluate": True}
    ignored = wb.Dataset("ignored", data.train, test)
    engines = ["pytorch", "ondevice", "ortmodule"]
    compared = wb.compare(model, ignored, engines=engines, steps=2, **settings).wait(180)
    heads = model.module().eval()
    for engine, run in compared.runs.items():
        heads.load_state_dict({n: torch.from_numpy(w) for n, w in run.weights().items()})
        with torch.no_grad():
            found = heads(torch.from_numpy(test.inputs[0]))
        classes = nn.functional.cross_entropy(
            found["logits"], torch.from_numpy(labels), weight=torch.tensor(weight)
        )
        numbers = nn.functional.mse_loss(found["aux"], torch.from_numpy(test.targets[1]))
        difference = abs(run.evaluations["loss"].iloc[-1] - (classes + 0.5 * numbers).item())
        assert difference < 1e-6, f"{engine}: the losses differ by {difference:.1e}"


def test_accuracy_leaves_ignored_labels_out(workbench_home: object) -> None:
    digits = wb.load_dataset("digits")
    labels = digits.train.target.copy()
    labels[labels >= 5] = -1
    rows = Split(digits.train.inputs, labels)
    loss = wb.Loss("cross_entropy", ignore_index=-1)
    settings = {"engine": "fake", "epochs": 3, "learning_rate": 0.1}
    run = wb.train("digits-mlp", wb.Dataset("some", rows, rows), loss=loss, **settings).wait(60)
    assert run.evaluations["accuracy"].iloc[-1] > 0.9


@pytest.mark.fault
def test_a_function_without_a_scalar_fails_with_its_name(
    model: wb.Model, data: wb.Dataset, workbench_home: object
) -> None:
    def vector(outputs: object, targets: tuple[torch.Tensor, ...]) -> torch.Tensor:
        return targets[1] ** 2

    run = wb.train(model, data, engine="pytorch", steps=2, batch_size=16, loss=vector)
    with pytest.raises(RunError, match="loss vector returned a float32 tensor of shape"):
        run.wait(60)


@pytest.mark.fault
def test_wrong_losses_are_refused_before_a_run_starts(model: wb.Model, data: wb.Dataset) -> None:
    with pytest.raises(ConfigError) as caught:
        wb.train(model, data, loss={"logits": "cross_entrpy"}, epochs=0)
    assert len(caught.value.problems) == 2
    with pytest.raises(ConfigError, match=r"no output 'logit'\. Did you mean 'logits'"):
        wb.train(model, data, loss={"logit": "cross_entropy", "aux": "mse"})
