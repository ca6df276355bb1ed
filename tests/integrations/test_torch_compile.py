"""ORTTrainer refuses torch_compile. In a process of its own: Accelerate keeps what it is told."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.fork_server import forked
from tests.integrations.needed_packages import needs

PROGRAM = """
import sys
from torch import nn
from transformers import TrainingArguments
from workbench.errors import ConfigError
from workbench.integrations.huggingface import ORTTrainer

arguments = TrainingArguments(sys.argv[1], torch_compile=True, use_cpu=True, report_to=[])
try:
    ORTTrainer(model=nn.Linear(2, 2), args=arguments)
except ConfigError as error:
    print(error.problems[0])
"""


@needs("trainer")
def test_torch_compile_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        forked("-c", PROGRAM, str(tmp_path)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout.splitlines()[-1]
    assert said.startswith("torch_compile=True compiles the model for PyTorch")
