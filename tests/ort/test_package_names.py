"""Scripts for onnxruntime-training's own ORTModule, unchanged after `workbench.ort.install()`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("package_script.py")

INSTALL = "import workbench; workbench.ort.install(); workbench.ort.install()"

STARTS = {
    "before": INSTALL,
    "onnxruntime-first": f"import onnxruntime; {INSTALL}",
}
"""What runs before the script, with onnxruntime imported by then or not."""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module", params=list(STARTS))
def answer(request: pytest.FixtureRequest) -> dict[str, Any]:
    code = f"{STARTS[request.param]}; import runpy; runpy.run_path({str(SCRIPT)!r})"
    return dict(json.loads(run(code).splitlines()[-1]))


def test_an_unchanged_script_trains(answer: dict[str, Any]) -> None:
    pairs = zip(answer["losses"], answer["plain"], strict=True)
    worst = max(abs(one - other) for one, other in pairs)
    assert worst <= 1e-5, f"losses differ by {worst}"
    assert answer["graphs"] == 1
    assert all(answer["same"]), answer["same"]


def test_the_rest_of_the_package_is_its_own(answer: dict[str, Any]) -> None:
    assert answer["package"] == [
        "onnxruntime.training.artifacts",
        "onnxruntime.training.api.checkpoint_state",
    ]


def test_torch_is_as_it_was(answer: dict[str, Any]) -> None:
    assert answer["checkpoint"] == "torch.utils.checkpoint"


def test_what_is_not_to_be_had_is_refused(answer: dict[str, Any]) -> None:
    adam, half, other, prefix = answer["refusals"]
    assert adam.startswith("FusedAdam: EngineError: ")
    assert half.startswith("FP16_Optimizer: EngineError: ")
    assert "AdamW" in adam
    assert "ONNX_OPSET_VERSION is no part of the workbench's ORTModule" in other
    assert "onnx_prefix" in prefix


def test_nothing_is_loaded_before_it_is_needed() -> None:
    loaded = run(
        "import sys, workbench.ort\n"
        "print([name for name in ('torch', 'onnxruntime') if name in sys.modules])"
    )
    assert loaded.strip() == "[]"
