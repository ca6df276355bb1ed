"""LoRA and a base checkpoint from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.numpy import save_file

import workbench as wb
from tests.cli.command import Invoke


def test_options_reach_the_run(workbench: Invoke, tmp_path: Path) -> None:
    weights = wb.load_model("digits-mlp", seed=4).weights()
    save_file(weights, tmp_path / "base.safetensors")
    options = ("--lora-rank=4", "--lora-alpha=2", "--lora-targets=hidden*", "--lora-seed=9")
    base = ("--base=base.safetensors", "--base-except=output.*")
    outcome = workbench(
        "train", "digits-mlp", "--engine=fake", "--steps=2", "--json", *options, *base
    )
    assert outcome.status == 0, outcome.stderr
    spec = wb.load_run(outcome.json["id"]).spec
    lora = {"rank": 4, "alpha": 2.0, "targets": ["hidden*"], "seed": 9}
    assert spec["config"]["lora"] == lora
    assert Path(spec["base"]["file"]).name == "base.safetensors"
    assert spec["base"]["except"] == ["output.*"]


@pytest.mark.fault
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--lora-alpha=2",), "require --lora-rank"),
        (("--lora-rank=4", "--lora-targets=nothing*"), "matches no parameter"),
        (("--lora-rank=4", "--lora-alpha=-1"), "lora.alpha=-1.0: must be more than 0"),
        (("--base=missing.safetensors",), "missing.safetensors"),
        (("--base-except=fc",), "requires base="),
    ],
)
def test_wrong_options(options: tuple[str, ...], sentence: str, workbench: Invoke) -> None:
    outcome = workbench("train", "digits-mlp", "--engine=fake", "--steps=2", *options)
    assert outcome.status != 0
    assert sentence in " ".join(outcome.stderr.split())
    assert "Traceback" not in outcome.stderr
