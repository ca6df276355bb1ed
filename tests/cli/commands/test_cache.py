"""`workbench clean-cache` removes entries and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import Invoke


def test_it_removes_entries(workbench: Invoke, tmp_path: Path) -> None:
    exports = tmp_path / "cache" / "exports"
    entry = exports / ("ab" * 32)
    entry.mkdir(parents=True, mode=0o700)
    exports.chmod(0o700)
    (entry / "model.onnx").write_bytes(bytes(1_500_000))
    (exports / "mine").write_text("kept")
    outcome = workbench("clean-cache", "--json", WORKBENCH_CACHE=str(tmp_path / "cache"))
    assert outcome.status == 0
    assert json.loads(outcome.stdout) == {"folder": str(exports), "removed_bytes": 1_500_000}
    assert [path.name for path in exports.iterdir()] == ["mine"]
    outcome = workbench("clean-cache", WORKBENCH_CACHE=str(tmp_path / "cache"))
    assert "Removed 0.0 MB" in outcome.stdout


def test_without_a_cache_the_output_says_so(workbench: Invoke) -> None:
    outcome = workbench("clean-cache", WORKBENCH_CACHE="off")
    assert outcome.status == 0
    assert "No export is cached here" in outcome.stdout
