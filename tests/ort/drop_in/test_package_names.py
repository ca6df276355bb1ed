"""Scripts for onnxruntime-training's own ORTModule, unchanged after `workbench.ort.install()`."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from workbench.ort.drop_in.package_variables import VARIABLES

ROOT = Path(__file__).parents[3]
SCRIPT = Path(__file__).with_name("package_script.py")

INSTALL = "import workbench; workbench.ort.install(); workbench.ort.install()"

STARTS = {
    "before": INSTALL,
    "onnxruntime-first": f"import onnxruntime; {INSTALL}",
}
"""Code that runs before the script, with onnxruntime imported by then or not."""


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


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.sweep) for name in STARTS]
)
def answer(request: pytest.FixtureRequest) -> dict[str, Any]:
    code = f"{STARTS[request.param]}; import runpy; runpy.run_path({str(SCRIPT)!r})"
    return dict(json.loads(run(code).splitlines()[-1]))


def test_an_unchanged_script_trains(answer: dict[str, Any]) -> None:
    pairs = zip(answer["losses"], answer["plain"][0], strict=True)
    worst = max(abs(one - other) for one, other in pairs)
    assert worst <= 1e-5, f"losses differ by {worst}"
    assert answer["graphs"] == 1
    assert all(answer["same"]), answer["same"]


def test_the_rest_of_the_package_is_its_own(answer: dict[str, Any]) -> None:
    assert answer["package"] == [
        "onnxruntime.training.artifacts",
        "onnxruntime.training.api.checkpoint_state",
    ]


def test_its_seed_repeats_what_a_graph_draws(answer: dict[str, Any]) -> None:
    assert answer["seeded"]


def test_torch_is_as_it_was(answer: dict[str, Any]) -> None:
    assert answer["checkpoint"] == "torch.utils.checkpoint"


def test_unavailable_names_are_refused(answer: dict[str, Any]) -> None:
    adam, half, other, prefix, folder, level = answer["refusals"]
    assert adam.startswith("FusedAdam: EngineError: ")
    assert half.startswith("FP16_Optimizer: EngineError: ")
    assert "AdamW" in adam
    assert "ONNX_OPSET_VERSION is not part of the workbench's ORTModule" in other
    assert "onnx_prefix" in prefix
    assert folder.startswith("folder: OSError: Directory /not/there is not writable")
    assert level.startswith("level: TypeError: Expected log_level of type LogLevel")


def test_the_forward_has_the_modules_signature(answer: dict[str, Any]) -> None:
    assert answer["signature"] == answer["plain"][1]


def test_graphs_are_saved_under_the_packages_names(answer: dict[str, Any]) -> None:
    assert answer["path"]
    parts = ("execution_model", "optimized_pre_grad", "optimized", "torch_exported")
    assert answer["files"] == [f"my_model_{part}_training.onnx" for part in parts]


def test_the_packages_variables_are_options_here(answer: dict[str, Any]) -> None:
    assert answer["config"] == {"recompute_config": ["ReLU+:1:-1"], "log_level": "fatal"}
    assert answer["chosen"] == {
        "memory_optimizer_level": 1,
        "compute_optimizer": True,
        "embedding_sparsity": "zeros",
        "log_level": "fatal",
    }


def test_variables_that_no_option_means_are_reported_once(answer: dict[str, Any]) -> None:
    cache, typo = answer["warned"]
    assert cache.startswith("ORTMODULE_CACHE_DIR='cache' changes nothing")
    assert "Did you mean 'ORTMODULE_MEMORY_OPT_LEVEL'" in typo


def test_wrong_values_of_variables_are_refused_all_at_once(answer: dict[str, Any]) -> None:
    assert "2 settings are wrong" in answer["wrong"]
    assert "ORTMODULE_ENABLE_LABEL_SPARSE_OPTIMIZER='yes': give 0 or 1." in answer["wrong"]
    assert "ORTMODULE_LOG_LEVEL='LOUD': give one of VERBOSE" in answer["wrong"]


def test_every_variable_of_the_package_is_known() -> None:
    root = Path(importlib.util.find_spec("onnxruntime").origin or "").parent / "training"  # type: ignore[union-attr]
    read = re.compile(
        r"(?:getenv|from_envvar)\(\s*[\"'](ORTMODULE_\w+)|[\"'](ORTMODULE_\w+)[\"'] in os.environ"
        r"|environment_key = [\"'](ORTMODULE_\w+)|ENVIRONMENT_KEY = [\"'](ORTMODULE_\w+)"
    )
    found = {
        name
        for path in root.rglob("*.py")
        for match in read.finditer(path.read_text(encoding="utf-8"))
        for name in match.groups()
        if name
    }
    assert len(found) > 25
    assert found <= VARIABLES


def test_nothing_is_loaded_before_it_is_needed() -> None:
    loaded = run(
        "import sys, workbench.ort\n"
        "print([name for name in ('torch', 'onnxruntime') if name in sys.modules])"
    )
    assert loaded.strip() == "[]"
