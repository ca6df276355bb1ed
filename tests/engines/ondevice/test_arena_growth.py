"""Memory of training where the logits have another size in each step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from workbench.load import load_model


def test_logits_of_other_sizes_leave_no_holes(tmp_path: Path) -> None:
    """The logits of the last step and their neighbours grow, not what the steps before took.

    In regions that double from 2 MB on, the growth is 4 times the logits of the last step.
    """
    example = (np.zeros((2, 128), np.int64),)
    model = load_model("tests.engines.ondevice.modules:large_vocabulary", example_inputs=example)
    model.save(tmp_path / "large_vocabulary")
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.ondevice.growth_probe", str(tmp_path)],
        cwd=Path(__file__).parents[3],
        env=model.code.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert 0.5 < float(done.stdout) < 3
