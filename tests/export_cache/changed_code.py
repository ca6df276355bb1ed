"""A user's module whose code changes between two runs, as an export cache must notice."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.fork_server import forked

MODULE = """
import json
from pathlib import Path
import torch
from torch import nn
from factor import factor

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten, self.linear = nn.Flatten(), nn.Linear(64, 10)

    def forward(self, x):
        more = json.loads(Path({settings!r}).read_text())["more"]
        return self.linear(self.flatten(x)) * (factor + more)

def build():
    return Scaled()
"""

SCRIPT = """
import json, sys
import torch
code, engine, kind = sys.argv[1:]
sys.path.append(code)
import workbench as wb
from scaled import Scaled
torch.manual_seed(0)
source = "scaled:build" if kind == "factory" else Scaled()
model = wb.load_model(source, example_inputs=torch.zeros(2, 1, 8, 8))
run = wb.train(model, "digits", loss="cross_entropy", engine=engine, steps=2, evaluate=False)
run.wait()
print(json.dumps([run.error, list(run.follow().poll().loss), run.statistics.graphs[0].cache_s]))
"""


class ChangingCode:
    """The code in a folder: a module, what it imports, and a file that its forward pass reads."""

    def __init__(self, folder: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
        # Files of one size and time would be one to Python's own cache of compiled modules.
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        folder.mkdir()
        self._folder, self._engine = folder, engine
        self._write("settings.json", '{"more": 0}')
        self._write("factor.py", "factor = 1.0")
        self._write("scaled.py", MODULE.format(settings=str(folder / "settings.json")))

    def loss(self, kind: str = "module") -> tuple[float, bool]:
        """The first loss of a run, and whether its export came from the cache."""
        done = subprocess.run(
            forked("-c", SCRIPT, str(self._folder), self._engine, kind),
            capture_output=True,
            text=True,
            check=True,
        )
        error, losses, cache_s = json.loads(done.stdout.splitlines()[-1])
        assert error is None
        return losses[0], cache_s is not None

    def check_that_changes_are_exported_again(self) -> None:
        first, hit = self.loss()
        assert not hit
        assert self.loss() == (first, True)
        self._write("factor.py", "factor = 3.0")
        tripled, hit = self.loss()
        assert not hit
        assert abs(tripled - first) > 1e-3
        self._write("settings.json", '{"more": -2}')
        back, hit = self.loss()
        assert not hit
        assert back == pytest.approx(first, rel=1e-6)

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)
        os.utime(self._folder / name, (1e9, 1e9))
