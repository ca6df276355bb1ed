"""`python exported.py FOLDER`: what a program left in an unzipped bundle, held to each other.

Prints the largest difference between the exported model's outputs and those of the eval model with
the saved checkpoint.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from workbench.artifacts import Artifacts
from workbench.ort.native import native
from workbench.ort.ondevice.ondevice import TrainingSession


def main() -> None:
    folder = Path(sys.argv[1])
    described = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))["description"]
    artifacts = Artifacts.load(folder / "artifacts")
    native()
    import onnxruntime

    fed = {
        value["name"]: np.fromfile(folder / value["file"], value["dtype"]).reshape(
            value["sample_shape"]
        )
        for value in (*described["inputs"], *described["targets"])
    }
    session = TrainingSession(
        checkpoint=folder / "trained_checkpoint",
        training_model=artifacts.training_model,
        eval_model=artifacts.eval_model,
        optimizer_model=artifacts.optimizer_model,
        threads=1,
        seed=0,
    )
    expected = dict(
        zip(
            [value["name"] for value in described["results"]],
            session.eval_results(list(fed.values())),
            strict=True,
        )
    )
    exported = onnxruntime.InferenceSession(folder / "trained_model.onnx")
    taken = [value.name for value in exported.get_inputs()]
    assert taken == [value["name"] for value in described["inputs"]], taken
    results = exported.run(described["outputs"], {name: fed[name] for name in taken})
    differences = [
        np.abs(result - expected[name]).max()
        for name, result in zip(described["outputs"], results, strict=True)
    ]
    print(max(differences))


if __name__ == "__main__":
    main()
