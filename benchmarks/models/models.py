"""All engines on all models: `python -m benchmarks models [--quick] [--output FILE] [MODEL...]`.

Every sample, and models of transformers with real vocabularies and padded text: throughput, memory
and start-up of each engine over eager PyTorch's, compared with the products alone; and what each
option gives. FILE is written after each model, so a run that is cut off keeps what it has.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.models.products import measured
from benchmarks.models.subjects import NAMES, load
from benchmarks.models.tables import as_markdown
from benchmarks.models.ways import Outcome, measure
from workbench.errors import WorkbenchError
from workbench.extensions.native_extension import DEVICE_KERNELS, native_extension
from workbench.machine.machine import describe_machine, machine_sentence
from workbench.tune.products import ensure_product_times

ROUNDS, QUICK_ROUNDS = 10, 6
ROUND_S, QUICK_ROUND_S = 0.2, 0.05
QUICK = ("digits-cnn", "text-gpt", "text-bert", "hf-classifier", "bert-30522", "resnet")
OUTPUT = "models.md"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks models")
    parser.add_argument("names", nargs="*", metavar="MODEL", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="fewer models and rounds")
    parser.add_argument("--no-ablations", action="store_true", help="omit the table of options")
    parser.add_argument("--output", type=Path, default=Path(OUTPUT), help=f"default: {OUTPUT}")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(NAMES)}")
    names = options.names or (QUICK if options.quick else NAMES)
    machine = machine_sentence(describe_machine())
    rounds, round_s = (QUICK_ROUNDS, QUICK_ROUND_S) if options.quick else (ROUNDS, ROUND_S)
    ablations = not (options.quick or options.no_ablations)
    outcomes: list[Outcome] = []
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        # Empty, so that every start is the first of its model, of torch.compile as well.
        for variable in ("WORKBENCH_HOME", "WORKBENCH_CACHE", "TORCHINDUCTOR_CACHE_DIR"):
            os.environ[variable] = str(Path(folder) / variable.lower())
        # Set-up does this once for a machine, before the first run.
        times = ensure_product_times(lambda _: None)
        if times is not None:
            own = not native_extension(DEVICE_KERNELS).problem
            chosen = times.sentence(own_kernels=own)
            problems.append(f"Measured before the first start, as set-up does: {chosen}.")
        for name in names:
            started = time.monotonic()
            try:
                outcomes.append(measure(load(name), measured(name), rounds, round_s, ablations))
            except (WorkbenchError, subprocess.CalledProcessError) as error:
                problems.append(f"- {name}: {error}")
            text = "\n".join([as_markdown(outcomes, machine), *problems])
            options.output.write_text(text, encoding="utf-8")
            print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    print(text)
    return 0
