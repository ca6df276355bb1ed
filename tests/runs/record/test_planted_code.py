"""Whatever code the files of a run folder name or hold, to look at them runs none of it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import workbench as wb
from tests.cli.command import COMMAND
from tests.representative import representative
from tests.runs.recorded import changed, recorded, with_value
from workbench.artifacts.manifest_record import FILES, FORMAT_VERSION, KIND
from workbench.data import Dataset
from workbench.errors import ConfigError, ModelError, RunError, WorkbenchError
from workbench.run_folder.control import create_control
from workbench.run_folder.run_folder import RunFolder
from workbench.runs.export import export_saved
from workbench.settings.config import TrainingConfig, read_config

EVIL = """
from pathlib import Path
Path({mark!r}).write_text("it ran")
def f(*_): return Path({mark!r}).write_text("it ran")
class Engine: pass
"""


class Bomb:
    """Runs code when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.mark, "it ran")


class Plants:
    """A run folder that a test changes, and the code to put into it."""

    def __init__(self, folder: RunFolder, project: Path) -> None:
        self.folder, self.project = folder, project
        self.mark = project.parent / "mark"
        self.pickle = pickle.dumps(Bomb(self.mark))
        self.sha256 = hashlib.sha256(self.pickle).hexdigest()

    def spec(self, place: str, value: Any) -> None:
        changed(self.folder.spec_path, lambda spec: with_value(spec, place, value))

    def summary(self, place: str, value: Any) -> None:
        changed(self.folder.summary_path, lambda summary: with_value(summary, place, value))

    def model(self, **record: Any) -> None:
        changed(self.folder.model_path / "model.json", lambda old: {**old, **record})

    def own_loss(self) -> None:
        (self.folder.model_path / f"loss-{self.sha256[:16]}.pkl").write_bytes(self.pickle)
        loss = {"name": "f", "function_sha256": self.sha256, "search_path": [str(self.project)]}
        self.spec("config.loss", [loss])

    def factory(self) -> None:
        specs = {"inputs": [["x", ["batch", 64], "float32"]], "outputs": [["y", ["batch"], "f"]]}
        np.save(self.folder.model_path / "example-0.npy", np.zeros((2, 64), np.float32))
        source = {"factory": "evil:f", "seed": 0, "specs": specs, "search_path": str(self.project)}
        self.model(kind="factory", source=source)

    def sample(self, name: str) -> None:
        self.factory()
        record = json.loads((self.folder.model_path / "model.json").read_text())
        self.model(kind="sample", source={**record["source"], "sample": name})

    def module(self) -> None:
        self.factory()
        (self.folder.model_path / "module.pkl").write_bytes(self.pickle)
        record = json.loads((self.folder.model_path / "model.json").read_text())
        self.model(kind="module", source={**record["source"], "search_path": [str(self.project)]})

    def factory_with_evil_artifacts(self) -> None:
        self.factory()
        artifacts = self.folder.artifacts_path
        artifacts.mkdir()
        for name in FILES:
            (artifacts / name).write_bytes(self.pickle)
        graph = {"inputs": [{"name": "evil:f", "shape": ["evil:f", 64], "dtype": "evil:f"}]}
        manifest = {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "model": "evil:f",
            "files": dict.fromkeys(FILES, self.sha256),
            "loss": "evil:f",
            "optimizer": {"name": "evil:f", "weight_decay": 0.0},
            "requires_grad": ["evil:f"],
            "minimum_batch": 1,
            "graphs": {"training": graph},
            "parameters": {
                "trainable": {"evil:f": {"shape": [1], "dtype": "evil:f"}},
                "frozen": {},
            },
            "counters": ["evil:f"],
            "aliases": {"evil:f": "evil:f"},
        }
        (artifacts / "manifest.json").write_text(json.dumps(manifest))

    def onnx_file(self) -> None:
        (self.folder.model_path / "model.onnx").write_bytes(self.pickle)
        specs = {"inputs": [["x", ["batch", 64], "float32"]], "outputs": [["y", ["batch"], "f"]]}
        self.model(kind="onnx", source={**specs, "parameters": {}, "notices": ["evil:f"]})

    def object_arrays(self) -> None:
        for path in self.folder.data_path.glob("*.npy"):
            np.save(path, np.array([Bomb(self.mark)]), allow_pickle=True)
        self.factory()
        array = np.array([Bomb(self.mark)])
        np.save(self.folder.model_path / "example-0.npy", array, allow_pickle=True)

    def checkpoints(self) -> None:
        for name in ("step-00000009", "step-evil:f", "step-00000008"):
            (self.folder.checkpoints_path / name).mkdir()
            (self.folder.checkpoints_path / name / "state.pt").write_bytes(self.pickle)
        newest = self.folder.checkpoints_path / "step-00000009"
        (newest / "weights.safetensors").write_bytes(self.pickle)

    def metadata(self) -> None:
        from safetensors.numpy import load_file, save_file

        path = self.folder.checkpoint_path(4) / "weights.safetensors"
        save_file(load_file(path), path, metadata={"class": "evil:f", "pickle": self.sha256})

    def file(self, *names: str) -> None:
        for name in names:
            (self.folder.path / name).write_bytes(self.pickle)


PLANTS: dict[str, Callable[[Plants], None]] = {
    "loss by its path": lambda p: p.spec("config.loss", "evil:f"),
    "loss in a record": lambda p: p.spec("config.loss", [{"name": "evil:f"}]),
    "loss with a digest": lambda p: p.spec(
        "config.loss", [{"name": "evil:f", "function_sha256": p.sha256}]
    ),
    "losses by output": lambda p: p.spec("config.loss", {"output": "evil:f"}),
    "own loss": Plants.own_loss,
    "engine": lambda p: p.spec("config.engine", "evil:Engine"),
    "optimizer": lambda p: p.spec("config.optimizer", "evil:f"),
    "requires_grad": lambda p: p.spec("config.requires_grad", ["evil:f", "[!evil:f]*"]),
    "ortmodule": lambda p: p.spec("config.ortmodule", {"log_level": "evil:f"}),
    "an unknown setting": lambda p: p.spec("config.callback", "evil:f"),
    "model's name": lambda p: p.spec("model", "evil:f"),
    "dataset's name": lambda p: p.spec("dataset", "evil:f"),
    "machine": lambda p: p.spec("machine.processor", "evil:f"),
    "versions": lambda p: p.spec("versions", {"evil": "evil:f"}),
    "statistics": lambda p: p.summary("statistics", {"engine": "evil:f"}),
    "error": lambda p: p.summary(
        "error", {"type": "evil:f", "message": "evil:f", "traceback": "evil:f"}
    ),
    "factory": Plants.factory,
    "factory with artifacts": Plants.factory_with_evil_artifacts,
    "module": Plants.module,
    "onnx": Plants.onnx_file,
    "kind of model": lambda p: p.model(kind="evil:f"),
    "sample": lambda p: p.sample("evil:f"),
    "sample by its module": lambda p: p.sample("evil"),
    "sample with a factory": lambda p: p.sample("digits-mlp"),
    "sample without specs": lambda p: p.model(
        kind="sample", source={"sample": "evil", "seed": 0, "factory": "evil:f"}
    ),
    "defaults": lambda p: p.model(defaults={"loss": "evil:f"}),
    "dataset of a model": lambda p: p.model(dataset="evil:f"),
    "weights of a model": lambda p: p.file("model/weights.safetensors"),
    "object arrays": Plants.object_arrays,
    "checkpoints": Plants.checkpoints,
    "metadata of a checkpoint": Plants.metadata,
    "spec": lambda p: p.file("spec.json"),
    "summary": lambda p: p.file("summary.json"),
    "events": lambda p: p.file("events.jsonl"),
    "other records": lambda p: p.file("model/model.json", "data/data.json", "control.bin"),
}
"""Every place in a run folder that names something, or whose file could be of a kind that runs."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with the code, which leaves a mark beside it when it runs."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "evil.py").write_text(EVIL.format(mark=str(tmp_path / "mark")))
    monkeypatch.chdir(folder)
    path = list(sys.path)
    yield folder
    assert not (tmp_path / "mark").exists(), "the code ran"
    assert sys.path == path
    assert "evil" not in sys.modules


def look_at_all(target: Path) -> None:
    """Everything that only looks. A refusal is an answer too, anything else is an error."""
    for row in wb.runs().to_dict("records"):
        refused = contextlib.suppress(WorkbenchError)
        with refused:
            run = wb.load_run(str(row["id"]))
            assert run.id in repr(run)
            assert run.ended
            for look in (
                lambda run=run: run.wait(5),
                lambda run=run: (run.status, run.phase, run.progress, run.error, run.startup_s),
                lambda run=run: (run.history, run.evaluations, run.statistics, run.config),
                lambda run=run: (run.checkpoint, run.weights()),
                lambda run=run: run.plot()._repr_png_(),
                lambda run=run: run.export(target),
            ):
                with refused:
                    look()


@pytest.mark.parametrize("plant", representative(PLANTS))
def test_looking_runs_nothing(digits: Dataset, project: Path, tmp_path: Path, plant: str) -> None:
    folder = recorded(digits)
    PLANTS[plant](Plants(folder, project))
    look_at_all(tmp_path / "exported.onnx")


def test_the_plants_would_run(digits: Dataset, tmp_path: Path) -> None:
    """The code above leaves its mark when something does run it."""
    (tmp_path / "project").mkdir()
    plants = Plants(recorded(digits), tmp_path / "project")
    pickle.loads(plants.pickle)
    assert plants.mark.exists()
    plants.mark.unlink()
    (tmp_path / "evil.py").write_text(EVIL.format(mark=str(plants.mark)))
    subprocess.run([sys.executable, "-c", "import evil"], cwd=tmp_path, check=True)
    assert plants.mark.exists()


@pytest.mark.parametrize(
    "record",
    [
        {"engines": ["evil:Engine"], "runs": {"evil:Engine": "evil:f"}},
        {"engines": ["pytorch"], "runs": {"pytorch": "evil:f"}},
        {"engines": ["pytorch"], "runs": {"pytorch": "../../project"}},
        {"engines": ["pytorch"], "runs": {"pytorch": "PLANTED"}},
    ],
)
def test_comparisons(
    digits: Dataset, project: Path, workbench_home: Path, record: dict[str, Any]
) -> None:
    folder = recorded(digits)
    Plants(folder, project).factory_with_evil_artifacts()
    text = json.dumps({"plan": {"warmup": 1, "burst": 1, "total": 4}, **record})
    (workbench_home / "comparisons").mkdir()
    path = workbench_home / "comparisons" / "one.json"
    path.write_text(text.replace("PLANTED", folder.id))
    with contextlib.suppress(WorkbenchError):
        comparison = wb.load_comparison("one")
        assert "one" in repr(comparison)
        assert list(comparison.table().index) == ["pytorch"]
        comparison.plot()._repr_png_()  # type: ignore[attr-defined]
        with contextlib.suppress(WorkbenchError):
            comparison.wait(5)


def test_the_page(digits: Dataset, project: Path) -> None:
    folder = recorded(digits)
    plants = Plants(folder, project)
    plants.own_loss()
    plants.factory()
    page = wb.Workbench()
    try:
        page.show(wb.load_run(folder.id))
        assert page.wait(60)
        assert page.status.level == "done", page.status.message
    finally:
        page.close()


def test_the_command_line(digits: Dataset, project: Path, tmp_path: Path) -> None:
    chosen = ("loss by its path", "own loss", "factory", "module", "checkpoints", "summary")
    folders = {plant: recorded(digits) for plant in chosen}
    for plant, folder in folders.items():
        PLANTS[plant](Plants(folder, project))

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *arguments], cwd=project, capture_output=True, text=True, check=False
        )

    rows = {row["id"]: row for row in json.loads(command("runs", "--json").stdout)}
    assert rows[folders["loss by its path"].id]["status"] == "unreadable"
    assert "'evil:f'" in rows[folders["loss by its path"].id]["error"]
    assert rows[folders["own loss"].id]["status"] == "completed"
    assert command("runs", folders["own loss"].id).returncode == 0
    for plant in ("factory", "module"):
        done = command("export", folders[plant].id, str(tmp_path / "no.onnx"))
        assert done.returncode == 1
        assert "Pass the model as well" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "plant",
    ["factory", "loss by its path"]
    + [pytest.param(name, marks=pytest.mark.sweep) for name in ("module", "own loss")],
)
def test_a_worker_started_in_a_planted_run_folder(
    digits: Dataset, project: Path, plant: str
) -> None:
    folder = recorded(digits)
    shutil.rmtree(folder.checkpoints_path)
    folder.summary_path.unlink()
    create_control(folder.control_path, None)
    plants = Plants(folder, project)
    plants.model(kind="sample", source={"sample": "digits-mlp", "seed": 0})
    PLANTS[plant](plants)
    done = subprocess.run(
        [sys.executable, "-m", "workbench.worker", str(folder.path)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": f"{Path(wb.__file__).parents[1]}:{project}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (1, 74), done.stderr
    said = {
        "factory": "A saved model is untrusted",
        "loss by its path": "must be one of",
    }.get(plant, "can execute arbitrary code")
    assert said in done.stderr


@pytest.mark.usefixtures("project")
def test_artifacts_whose_manifest_names_a_loss(digits: Dataset) -> None:
    """A resumed on-device run compares its manifest with its settings, and imports nothing."""
    run = wb.train("digits-mlp", digits, steps=2, batch_size=300).wait(120)
    changed(run.folder.artifacts_path / "manifest.json", lambda old: {**old, "loss": "evil:f"})
    with pytest.raises(RunError, match=r"loss='evil:f': must be one of .* in a record"):
        wb.resume(wb.load_run(run.id), steps=4).wait(120)


def test_parsing_a_record_imports_nothing_and_a_call_does(project: Path) -> None:
    record = json.loads(json.dumps({"loss": "evil:f"}))
    with pytest.raises(ConfigError, match="must be one of"):
        read_config(record)
    (project / "good_losses.py").write_text("def steep(output, target): return output.sum()\n")
    path = list(sys.path)
    try:
        assert TrainingConfig(loss="good_losses:steep").losses[0].custom  # type: ignore[arg-type]
    finally:
        sys.path[:] = path
        sys.modules.pop("good_losses", None)


FACTORY = """
from torch import nn, zeros
def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), zeros(2, 1, 8, 8)
"""


@pytest.fixture
def factory_run(digits: Dataset, project: Path) -> Iterator[wb.Run]:
    """A run of a factory's model, as a later process finds it."""
    (project / "good_nets.py").write_text(FACTORY)
    path = list(sys.path)
    model = wb.load_model("good_nets:build", name="[red]a/b$\\frac{")
    run = wb.train(model, digits, engine="ondevice", steps=3, evaluate=False).wait(120)
    sys.path[:] = path
    sys.modules.pop("good_nets")
    yield wb.load_run(run.id)
    sys.path[:] = path
    sys.modules.pop("good_nets", None)


def test_a_trained_factory_is_exported_without_its_code(
    factory_run: wb.Run, tmp_path: Path
) -> None:
    """From what on-device training exported; elsewhere from the model that the call gives."""
    run = factory_run
    written = run.export(tmp_path / "one.onnx")
    assert "good_nets" not in sys.modules
    weights = run.weights()
    name = min(weights)
    with pytest.raises(ModelError, match=f"lacks 1 weights of its model, for example '{name}'"):
        export_saved(
            run.folder,
            tmp_path / "two.onnx",
            {key: value for key, value in weights.items() if key != name},
        )
    shutil.rmtree(run.folder.artifacts_path)
    with pytest.raises(ModelError, match="Pass the model as well"):
        run.export(tmp_path / "two.onnx")
    again = run.export(tmp_path / "two.onnx", model="good_nets:build")
    for path in (written, again):
        held = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
        for name, value in weights.items():
            np.testing.assert_array_equal(held[name], value)
    with pytest.raises(ModelError, match="does not fit model"):
        run.export(tmp_path / "three.onnx", model="digits-mlp")
