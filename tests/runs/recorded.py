"""The folder of a run that has ended, as a worker leaves it, written without one."""

from __future__ import annotations

import functools
import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from workbench.data import Dataset
from workbench.load import load_model
from workbench.machine.machine import describe_machine
from workbench.models import Model
from workbench.run_folder.checkpoint import write_checkpoint
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import make_config

STEPS = 4


@functools.cache
def model() -> Model:
    """One layer, as ONNX alone: nothing that looks at it needs torch."""
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]>'
        "agraph (float[batch, 1, 8, 8] x) => (float[batch, 10] y) "
        "<float[64, 10] weight, float[10] bias> {"
        "flat = Flatten(x) product = MatMul(flat, weight) y = Add(product, bias) }"
    )
    for name, shape in (("weight", (64, 10)), ("bias", (10,))):
        values = np.linspace(-1, 1, math.prod(shape), dtype=np.float32).reshape(shape)
        made.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(made, Path(folder) / "line.onnx")
        return load_model(Path(folder) / "line.onnx")


def recorded(digits: Dataset, engine: str = "pytorch") -> RunFolder:
    """A completed run, in a folder of this test's home."""
    folder = RunFolder.create(f"line-{engine}")
    model().save(folder.model_path)
    digits.save(folder.data_path)
    config = make_config({"engine": engine, "steps": STEPS, "warmup_steps": 1})
    folder.write_spec(
        {
            "config": config.model_dump(),
            "model": "line",
            "dataset": "digits",
            "samples": 1438,
            "machine": describe_machine(),
            "versions": {},
            "launched": 1.0,
        }
    )
    events = EventWriter(folder.events_path)
    events.write("started", pid=1, engine=engine)
    events.write("built", rss_before_bytes=1)
    events.write(
        "steps",
        first_step=1,
        losses=[2.0, 1.5, 1.2, 1.0],
        nanoseconds=[10**6] * STEPS,
        batch_size=32,
        steps_per_epoch=44,
        rss_bytes=10**8,
    )
    events.write("evaluation", step=STEPS, epoch=1, loss=1.0, accuracy=0.5)
    events.close()
    write_checkpoint(folder.checkpoint_path(STEPS), model().weights())
    folder.write_summary(
        {
            "engine": engine,
            "status": "completed",
            "error": None,
            "steps": STEPS,
            "evaluation": {"loss": 1.0, "accuracy": 0.5},
            "peak_rss_bytes": 10**8,
            "rss_before_bytes": 1,
            "statistics": None,
            "ended": 2.0,
        }
    )
    return folder


def changed(path: Path, change: Callable[[Any], Any]) -> None:
    """Write a JSON file again, `change` applied to what it holds."""
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def with_value(content: Any, place: str, value: Any) -> Any:
    """`content` with `value` at "a.b.c"."""
    first, _, rest = place.partition(".")
    return {**content, first: with_value(content[first], rest, value) if rest else value}
