"""The last checkpoint and the export of every real engine hold the weights after the last step."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.fork_server import forked
from tests.plain_onnxruntime.environment import plain_onnxruntime
from tests.runs.engines.exported import TOLERANCE as EXPORT_TOLERANCE
from tests.runs.engines.exported import assert_statistics_moved, difference
from tests.runs.workers.test_last_weights import SETTINGS, STEPS, Weights
from workbench.data import Dataset
from workbench.load import load_model
from workbench.runs import Run, load_run, train

TOLERANCE = 1e-4
"""Largest difference of a weight between engines; a step moves some by 1e-2 and more."""
BY_SGD = {**SETTINGS, "optimizer": "sgd", "learning_rate": 0.1}
"""AdamW takes whole steps where rounding, which differs by processor, decides on a sign."""

PROBE = """
import sys
from pathlib import Path
import numpy as np
from workbench.data import load_saved_dataset
from workbench.engines import engine_class
from workbench.engines.base import EngineSetup

from workbench.settings.config import make_config
from workbench.run_folder.run_folder import RunFolder

folder, to, steps = RunFolder(Path(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3])
config = make_config(folder.read_spec()["config"])
engine = engine_class(config.engine)(
    EngineSetup(folder.model_path, folder.artifacts_path, config, lambda text: None)
)
batches = load_saved_dataset(folder.data_path).train.batches(config.batch_size, config.seed, 1)
for step in range(1, steps + 1):
    engine.train_step(next(batches))
    if step >= steps - 1:
        np.savez(to / f"{step}.npz", **engine.weights())
"""
ENGINES = ("pytorch", "ondevice", "ortmodule")


@pytest.fixture(scope="module")
def trained(digits: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A run of each engine over the same batches; the workers share no folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        model = load_model("digits-cnn")
        started = {
            engine: train(model, digits, engine=engine, steps=STEPS, **BY_SGD) for engine in ENGINES
        }
        return {engine: run.wait(240) for engine, run in started.items()}


@pytest.fixture(scope="module")
def exports(trained: dict[str, Run], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("exports")
    return {engine: run.export(folder / f"{engine}.onnx") for engine, run in trained.items()}


@pytest.fixture(scope="module")
def expected(
    trained: dict[str, Run], tmp_path_factory: pytest.TempPathFactory
) -> dict[int, Weights]:
    """PyTorch's weights after the last step and after the one before it, stepped by hand."""
    folder = tmp_path_factory.mktemp("expected")
    subprocess.run(
        forked("-c", PROBE, trained["pytorch"].folder.path, folder, str(STEPS)),
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return {step: dict(np.load(folder / f"{step}.npz")) for step in (STEPS - 1, STEPS)}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_leaves_the_weights_of_its_last_step(
    engine: str, trained: dict[str, Run], expected: dict[int, Weights]
) -> None:
    run = trained[engine]
    assert run.checkpoint == run.folder.checkpoint_path(STEPS)
    found = run.weights()
    assert found.keys() == expected[STEPS].keys()
    worst = largest_difference(found, expected[STEPS])
    assert worst < TOLERANCE, f"differs by {worst:.1e} from the weights after the last step"
    before = largest_difference(found, expected[STEPS - 1])
    assert before > 10 * TOLERANCE, "a step earlier or later would not be noticed"


@pytest.mark.parametrize("engine", ENGINES)
def test_every_export_holds_the_weights_of_the_last_step(
    engine: str, trained: dict[str, Run], exports: dict[str, Path]
) -> None:
    run = trained[engine]
    graph = onnx.load(exports[engine]).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for name, value in run.weights().items():
        if not name.endswith("num_batches_tracked"):  # a counter that only training uses
            np.testing.assert_array_equal(held[name], value, err_msg=name)


@pytest.mark.parametrize("engine", ["pytorch", "ondevice"])
def test_an_export_in_todays_onnxruntime_equals_the_evaluation_of_its_engine(
    engine: str, trained: dict[str, Run], exports: dict[str, Path], tmp_path: Path
) -> None:
    """With the running statistics of batch normalization; every sample and engine is a sweep."""
    run, plain = trained[engine], plain_onnxruntime()
    assert_statistics_moved(run)
    found = difference(run, exports[engine], plain, tmp_path)
    assert tuple(map(int, plain.version.split(".")[:2])) >= (1, 31)
    assert found < EXPORT_TOLERANCE, f"differs by {found:.1e}"


def test_an_export_of_a_run_found_again_is_the_same(
    trained: dict[str, Run], exports: dict[str, Path], tmp_path: Path
) -> None:
    """From the run folder alone, without the model that it was started with."""
    again = load_run(trained["ondevice"].folder.path)
    exported = again.export(tmp_path / "folder" / "trained.onnx")
    assert exported.read_bytes() == exports["ondevice"].read_bytes()


def largest_difference(one: Weights, other: Weights) -> float:
    return max(float(np.abs(one[name] - value).max()) for name, value in other.items())
