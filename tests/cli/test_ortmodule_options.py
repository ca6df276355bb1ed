"""Options of ORTModule from the command line: to the run, its record and its statistics."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.cli.command import Invoke


def test_options_reach_the_run_and_their_effect_its_summary(
    workbench: Invoke, tmp_path: Path
) -> None:
    outcome = workbench(
        "train",
        "digits-mlp",
        "--engine=ortmodule",
        "--steps=3",
        "--ortmodule=threads=1",
        "--ortmodule=saved-graphs=graphs",
        "--ortmodule=embedding_sparsity=true",
        "--json",
    )
    assert outcome.status == 0, outcome.stderr
    run = wb.load_run(outcome.json["id"])
    folder = tmp_path / "graphs"
    # Where products were measured before, the faster library is among them.
    changed = {**run.config.ortmodule.changed, "pytorch_kernels": "measured"}
    assert changed == {
        "threads": 1,
        "saved_graphs": str(folder),
        "embedding_sparsity": "zeros",
        "pytorch_kernels": "measured",
    }
    states = {each["option"]: each for each in (run.summary or {})["statistics"]["options"]}
    assert list(states) == [*type(run.config.ortmodule).model_fields, "tuning"]
    assert (states["threads"]["state"], states["threads"]["reason"]) == ("on", "1")
    assert states["embedding_sparsity"]["state"] == "on"
    assert states["spinning"]["state"] == "off"
    names = {"1-forward.onnx", "1-gradient.onnx", "1-optimized.onnx"}
    assert {path.name for path in folder.iterdir()} == names


@pytest.mark.fault
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["train", "digits-mlp", "--engine=ortmodule", "--ortmodule=spining=true"],
            "--ortmodule 'spining=true': no such option. Did you mean 'spinning'",
        ),
        (
            ["compare", "digits-mlp", "--ortmodule=memory_optimizer_level=7"],
            "memory_optimizer_level=7: Known: 0, 1, 2.",
        ),
        (
            ["train", "digits-mlp", "--ortmodule=threads=1"],
            "--ortmodule applies only to the engine ortmodule, not to ondevice.",
        ),
        (
            ["compare", "digits-mlp", "--engines=fake,pytorch", "--ortmodule=threads=1"],
            "not to fake, pytorch.",
        ),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(
    workbench: Invoke, arguments: list[str], message: str
) -> None:
    outcome = workbench(*arguments)
    assert outcome.status == 1
    assert message in " ".join(outcome.stderr.split())
    assert wb.runs().empty
