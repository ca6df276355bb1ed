"""The Python code of docs/on-device.md, run from top to bottom as a reader would."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.artifacts import open_bundle

GUIDE = Path(__file__).parents[1] / "docs" / "on-device.md"


def test_the_code_of_the_guide_runs_and_bundles_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, GUIDE.name, "exec"), names)
    bundle = open_bundle(tmp_path / "digits.zip", tmp_path / "opened")
    assert bundle.nominal_checkpoint is None, "those of `nominal` are bundled"
    assert bundle.trainable == names["artifacts"].trainable == ("output.weight", "output.bias")
    trained, nominal = names["trained"], names["nominal"]
    assert nominal.nominal_checkpoint.is_file()
    bias = nominal.buffer_to_parameters(trained, trainable_only=True)["output.bias"]
    np.testing.assert_array_equal(bias, names["run"].weights()["output.bias"])
