"""Every sample, trained by every engine: its export computes what the engine evaluates.

One sample on three engines is in `test_last_weights_engines`, which every `make test` runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sample_models import SAMPLES
from tests.engines.needed import unavailable
from tests.plain_onnxruntime.environment import plain_onnxruntime
from tests.runs.engines.exported import TOLERANCE, difference
from workbench.engines import EngineRow, engines
from workbench.runs import train

STEPS = 3


@pytest.mark.sweep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("row", engines(), ids=lambda row: row.name)
@pytest.mark.parametrize("sample", SAMPLES)
def test_an_export_equals_the_eval_model(sample: str, row: EngineRow, tmp_path: Path) -> None:
    if not row.ok:
        unavailable(row.name, row.reason)
    run = train(sample, engine=row.name, steps=STEPS, evaluate=False, threads=1).wait(900)
    exported = run.export(tmp_path / "trained.onnx")
    found = difference(run, exported, plain_onnxruntime(), tmp_path)
    assert found < TOLERANCE, f"{sample} on {row.name} differs by {found:.1e}"
