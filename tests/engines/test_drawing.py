"""An engine resumed from a checkpoint draws what the engine that wrote it would have drawn."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.engines.drawing_probe import SAVED_AFTER, STEPS
from tests.fork_server import forked
from workbench.load import load_model


@pytest.mark.sweep
@pytest.mark.parametrize("engine", ["ondevice", "ortmodule", "pytorch", "pytorch-compile"])
def test_draws_go_on_from_a_checkpoint(engine: str, tmp_path: Path) -> None:
    model = load_model(
        "tests.engines.drawing_module:drawing", example_inputs=np.zeros((4, 8), np.float32)
    )
    model.save(tmp_path / "model")
    python = forked if engine != "ondevice" else lambda *given: [sys.executable, *given]
    done = subprocess.run(
        python("-m", "tests.engines.drawing_probe", engine, tmp_path / "model", tmp_path),
        cwd=Path(__file__).parents[2],
        env=model.code.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert len(set(found["whole"]["losses"])) == STEPS - SAVED_AFTER
    assert found["whole"]["steps"] == STEPS, "what the module counts itself"
    assert found["resumed"] == found["whole"]
