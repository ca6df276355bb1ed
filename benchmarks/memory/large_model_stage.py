"""One stage on the way of a GPT-2 to its artifacts: `python -m ... STAGE LAYERS`.

Prints the seconds that the stage took and the largest resident set of this process or of a child,
PyTorch and the module included.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import workbench as wb
from workbench.artifacts.generation.forward_graphs import forward_graphs
from workbench.artifacts.generation.kept_outputs import first_output_only
from workbench.artifacts.generation.parameters import choose_parameters
from workbench.models import Model
from workbench.trainable import make_trainable
from workbench.worker.memory import peak_rss_bytes


def main() -> None:
    stage, layers = sys.argv[1], int(sys.argv[2])
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    module = GPT2LMHeadModel(GPT2Config(n_layer=layers, use_cache=False))
    parameters = sum(parameter.numel() for parameter in module.parameters())
    tokens = np.random.default_rng(0).integers(0, 50257, (2, 64))
    model = wb.load_model(module, example_inputs={"input_ids": tokens})
    seconds = STAGES[stage](model)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(
        json.dumps(
            {
                "seconds": seconds,
                "parameters": parameters,
                "model_bytes": 4 * parameters,
                "peak_bytes": max(peak_rss_bytes(), children),
            }
        )
    )


def check(model: Model) -> float:
    started = time.perf_counter()
    if not wb.check(model).ok:
        raise RuntimeError("GPT-2 does not train.")
    return time.perf_counter() - started


def rewrite(model: Model) -> float:
    """The seconds of make_trainable alone, of a graph that was exported before."""
    with tempfile.TemporaryDirectory() as folder:
        forward = forward_graphs(model, lambda _: None, state_folder=Path(folder))
        graph = first_output_only(forward.training)
        names = choose_parameters(forward, graph, None).trainable
        started = time.perf_counter()
        make_trainable(graph, names)
        return time.perf_counter() - started


def generate(model: Model) -> float:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        wb.generate_artifacts(model, loss="cross_entropy", directory=f"{folder}/artifacts")
        return time.perf_counter() - started


STAGES = {"check": check, "make_trainable": rewrite, "generate_artifacts": generate}

if __name__ == "__main__":
    main()
