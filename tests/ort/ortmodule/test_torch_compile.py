"""torch.compile around an ORTModule: it runs as ever, and Dynamo does not look inside.

In a process of its own, which would crash where Dynamo traced the native code.
"""

from __future__ import annotations

import json
import subprocess

from tests.fork_server import forked

PROGRAM = """
import json, warnings
import torch
from torch import nn
from workbench.ort.ortmodule import ORTModule

torch.manual_seed(0)
plain = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
wrapped = ORTModule(plain)
compiled = torch.compile(wrapped, backend="eager")
worst = 0.0
for rows in (3, 5, 3):
    x = torch.randn(rows, 4)
    for run in (compiled, plain):
        plain.zero_grad()
        result = run(x)
        result.square().sum().backward()
        found = [result.detach(), plain[0].weight.grad.clone()]
        if run is plain:
            worst = max(worst, *(float((a - b).abs().max()) for a, b in zip(before, found)))
        before = found
with torch.no_grad():
    compiled(x)
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    wrapped.compile()
print(json.dumps([worst, len(wrapped.built_graphs), dict(wrapped.pytorch_calls), len(warned)]))
"""


def test_a_compiled_ortmodule_trains_on_its_graph() -> None:
    done = subprocess.run(forked("-c", PROGRAM), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    worst, graphs, calls, warned = json.loads(done.stdout.splitlines()[-1])
    assert worst <= 1e-5, f"differs by {worst}"
    assert (graphs, calls, warned) == (1, {"gradients are turned off": 1}, 1)
