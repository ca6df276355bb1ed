"""JSON in files: written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.files.json_file import write_json


@pytest.mark.fault
def test_json_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(path, {"a": float("nan")})
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]
