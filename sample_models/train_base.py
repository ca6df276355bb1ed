"""Makes the base checkpoint of a sample: `python -m sample_models.train_base sketch-cnn`.

Plain PyTorch with the sample's defaults, more epochs and a learning rate that falls to 0 as a
cosine. Its parameters are written as float16, half of their size; they are read as float32. The
accuracy that is printed is that of the file. The inference graph is written beside it, so that
personalisation need not export one.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from sample_models import SAMPLES, Sample
from sample_models.sample import BASE_FILE, GRAPH_FILE

EPOCHS = {"sketch-cnn": 30, "speech-commands": 20, "text-gpt": 2}


def main() -> None:
    """Train, write and evaluate."""
    parser = argparse.ArgumentParser(prog="python -m sample_models.train_base")
    parser.add_argument("name", choices=EPOCHS)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    parser.add_argument("--graph", action="store_true", help="write the graph alone")
    options = parser.parse_args()
    sample = SAMPLES[options.name]
    path = options.folder / options.name.replace("-", "_") / BASE_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    if not options.graph:
        print(train_base(sample, EPOCHS[options.name], path))
    write_graph(options.name, path.with_name(GRAPH_FILE))


def train_base(sample: Sample, epochs: int, path: Path) -> str:
    """Train, write the parameters to `path`; returns loss and accuracy of the file, in words."""
    import torch
    from safetensors.numpy import load_file, save_file

    torch.manual_seed(0)
    data = sample.dataset(0.2, 0)
    module, size = sample.build(), int(sample.defaults["batch_size"])
    optimizer = torch.optim.AdamW(module.parameters(), lr=sample.defaults["learning_rate"])
    total = epochs * data.train.steps(size)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: (1 + math.cos(math.pi * step / total)) / 2
    )
    for epoch in range(1, epochs + 1):
        for batch in data.train.batches(size, 0, epoch):
            loss = _loss(module, batch.inputs[0], batch.target)[0]
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch} of {epochs}: loss {loss.item():.3f}", flush=True)
    state = {name: value.numpy().astype(np.float16) for name, value in module.state_dict().items()}
    save_file(state, path)
    stored = {name: torch.from_numpy(value).float() for name, value in load_file(path).items()}
    module.load_state_dict(stored)
    module.eval()
    test = data.test
    assert test is not None
    with torch.no_grad():
        loss, accuracy = _loss(module, test.inputs[0], test.target)
    return f"{path}: test loss {loss.item():.3f}, accuracy {accuracy:.2%}"


def write_graph(name: str, path: Path) -> None:
    """Write the inference graph of a sample, with names and shapes of its parameters alone."""
    import onnx

    from workbench.models import Model
    from workbench.models.sources.sample import SampleSource

    model = Model(SampleSource.read(path.parent, {"sample": name, "seed": 0}), name=name)
    graph = onnx.load(model.export(path))
    for tensor in graph.graph.initializer:
        if tensor.name in model.parameter_names:
            tensor.ClearField("raw_data")
            tensor.ClearField("float_data")
    # Where in this machine's files each node was written.
    for node in graph.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    onnx.save(graph, path)


def _loss(module: Any, inputs: np.ndarray, target: np.ndarray) -> tuple[Any, float]:
    """Cross-entropy and accuracy; classes are on the last axis."""
    import torch

    logits = module(torch.from_numpy(inputs)).flatten(0, -2)
    classes = torch.from_numpy(target).flatten()
    loss = torch.nn.functional.cross_entropy(logits, classes)
    return loss, float((logits.argmax(dim=1) == classes).double().mean())


if __name__ == "__main__":
    main()
