"""The Python blocks of documents, run from top to bottom as a reader would.

`tests/test_on_device_guide.py` has those of docs/on-device.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.sweep

FOLDER = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)

_ROWS = """
import numpy as np
import torch

import workbench as wb

inputs = np.random.default_rng(0).random((64, 6), np.float32)
labels, numbers = np.arange(64) % 2, inputs[:, :1]
model = wb.load_model(torch.nn.Linear(6, 2), example_inputs=[inputs[:2]])
data = wb.load_dataset(inputs, labels)
"""

_TWO_OUTPUTS = """
class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.classes, self.number = torch.nn.Linear(6, 2), torch.nn.Linear(6, 1)

    def forward(self, x):
        return {"logits": self.classes(x), "aux": self.number(x)}


model = wb.load_model(Both(), example_inputs=[inputs[:2]])
"""

_MODULE = """
import torch

model = torch.nn.Linear(6, 2)
"""

_ONE_STEP = """
model = ORTModule(torch.nn.Linear(6, 2))
model(torch.ones(3, 6)).sum().backward()
assert model.weight.grad is not None
assert not model.pytorch_calls
"""

GIVEN: dict[str, tuple[str, ...]] = {
    "losses.md": (_ROWS, "", _TWO_OUTPUTS, ""),
    "ortmodule.md": (_MODULE, "", _ONE_STEP),
    "personalisation.md": ("", ""),
}
"""Document -> what a reader has before each block, such as a model, and what he does at the end."""


_ALL_RUNS_END = """
import workbench as wb

for run_id in wb.runs().id:
    assert wb.load_run(run_id).wait().status == "completed"
"""


@pytest.mark.parametrize("name", GIVEN)
def test_the_code_of_a_document_runs(name: str, tmp_path: Path) -> None:
    blocks = BLOCK.findall((FOLDER / name).read_text(encoding="utf-8"))
    *before, at_the_end = GIVEN[name]
    read = [part for pair in zip(before, blocks, strict=True) for part in pair]
    script = tmp_path / "document.py"
    script.write_text("\n".join([*read, at_the_end, _ALL_RUNS_END]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_every_document_with_code_is_run() -> None:
    with_code = {path.name for path in FOLDER.glob("*.md") if BLOCK.search(path.read_text("utf-8"))}
    assert with_code == {*GIVEN, "on-device.md"}
