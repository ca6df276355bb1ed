"""Models that are samples: a name, a seed and declared specs, and nothing else that runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sample_models
from sample_models import SAMPLES
from workbench.errors import ModelError
from workbench.load import load_model
from workbench.models import load_saved
from workbench.models.sources.sample import PACKAGE, sample_module


def with_source(folder: Path, source: dict[str, Any]) -> Path:
    """The model in `folder` with another record of its source."""
    path = folder / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "source": source}))
    return folder


def test_every_sample_is_the_folder_of_its_name_and_the_other_way_round() -> None:
    folders = {f"sample_models.{init.parent.name}" for init in PACKAGE.glob("*/__init__.py")}
    assert {sample_module(name) for name in SAMPLES} == folders
    for name, sample in SAMPLES.items():
        module = sys.modules[sample_module(name)]
        assert module.SAMPLE is sample  # type: ignore[attr-defined]
        assert module.build is sample.build  # type: ignore[attr-defined]


def test_a_saved_sample_is_read_without_importing_the_samples(tmp_path: Path) -> None:
    model = load_model("text-bert-512", seed=3)
    model.save(tmp_path / "model")
    code = """
import sys
from pathlib import Path
from workbench.models import load_saved
model = load_saved(Path(sys.argv[1]))
print([*model.inputs, *model.outputs])
print([name for name in sys.modules if name.partition(".")[0] in ("sample_models", "torch")])
"""
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [str([*model.inputs, *model.outputs]), "[]"]


@pytest.mark.parametrize("name", ["digits-mlp", "text-bert-512"])
def test_a_record_without_specs_is_read(tmp_path: Path, name: str) -> None:
    """As they were until the specs were recorded."""
    model = load_model(name, seed=3)
    model.save(tmp_path / "model")
    loaded = load_saved(with_source(tmp_path / "model", {"sample": name, "seed": 3}))
    assert (loaded.inputs, loaded.outputs) == (model.inputs, model.outputs)
    for key, value in model.weights().items():
        assert np.array_equal(loaded.weights()[key], value)


@pytest.mark.fault
@pytest.mark.parametrize(
    "name",
    [
        *("gone", "sample", "", ".", "..", "../evil", "evil:f", "os", "x" * 5000),
        *("digits_mlp", "digits-mlp:load_digits", "digits-mlp\n", "text-gpt.network"),
        *(None, 3, ["digits-mlp"]),
    ],
)
@pytest.mark.parametrize("specs", [True, False])
def test_a_record_names_a_sample_and_nothing_else(
    tmp_path: Path, name: object, specs: bool
) -> None:
    load_model("digits-mlp").save(tmp_path / "model")
    source = json.loads((tmp_path / "model" / "model.json").read_text())["source"]
    changed = {**source, "sample": name} if specs else {"sample": name, "seed": 0}
    with pytest.raises(ModelError, match="This workbench has no sample") as caught:
        load_saved(with_source(tmp_path / "model", changed))
    assert len(str(caught.value)) < 600


@pytest.mark.fault
@pytest.mark.parametrize("specs", [True, False])
def test_another_package_of_that_name_is_not_imported(tmp_path: Path, specs: bool) -> None:
    """A folder in the working directory, from which a record is looked at."""
    load_model("digits-mlp").save(tmp_path / "model")
    if not specs:
        with_source(tmp_path / "model", {"sample": "digits-mlp", "seed": 0})
    mark = tmp_path / "mark"
    evil = f"from pathlib import Path\nPath({str(mark)!r}).write_text('it ran')\n"
    (tmp_path / "sample_models" / "digits_mlp").mkdir(parents=True)
    for folder in ("sample_models", "sample_models/digits_mlp"):
        (tmp_path / folder / "__init__.py").write_text(evil)
    code = """
from pathlib import Path
from workbench.models import load_saved
load_saved(Path("model")).module()
"""
    installed = Path(sample_models.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{installed}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "This workbench has no sample 'digits-mlp'" in done.stderr
    assert not mark.exists()
