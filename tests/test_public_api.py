"""The public names: settled, lazy, and the same whatever was imported before."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb

HEAVY = ("torch", "onnxruntime", "pandas", "pydantic", "matplotlib", "numpy", "onnx")

SETTLED = {
    "ArtifactBuilder",
    "Comparison",
    "ComparisonView",
    "Dataset",
    "GraphView",
    "Examples",
    "Loss",
    "Model",
    "ModelView",
    "ORTModule",
    "ORTModuleOptions",
    "Run",
    "RunBrowser",
    "SketchPad",
    "SoundPad",
    "TextPad",
    "Trainer",
    "TrainingConfig",
    "Tuning",
    "Workbench",
    "WorkbenchError",
    "check",
    "compare",
    "compare_runs",
    "doctor",
    "engines",
    "federate",
    "generate_artifacts",
    "load_comparison",
    "load_dataset",
    "load_model",
    "load_personalisation",
    "load_run",
    "personalise",
    "profile",
    "resume",
    "runs",
    "train",
    "tune",
    "undelete",
    "verify",
}


def loaded_after(program: str) -> list[str]:
    """Which heavy packages a fresh interpreter has loaded after `program`."""
    probe = (
        f"{program}\nimport json, sys; print(json.dumps([n for n in {HEAVY} if n in sys.modules]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 0, result.stderr
    names: list[str] = json.loads(result.stdout.splitlines()[-1])
    return names


def test_the_names_are_the_settled_ones() -> None:
    assert set(wb.__all__) == SETTLED
    assert set(wb.__all__) <= set(dir(wb))


@pytest.mark.parametrize("name", sorted(SETTLED))
def test_every_name_is_there(name: str) -> None:
    value = getattr(wb, name)
    assert callable(value)
    assert value.__name__ == name
    assert value.__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tarin'"):
        wb.tarin  # noqa: B018


def test_type_checkers_see_what_runs() -> None:
    """The imports for type checkers and the table for the interpreter name the same modules."""
    tree = ast.parse(Path(wb.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: str(node.module).removeprefix("workbench.")
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == wb._MODULES


def test_import_loads_nothing_heavy() -> None:
    assert loaded_after("import workbench") == []


@pytest.mark.parametrize(
    "module", ["runs", "compare", "figures", "profiling", "verification", "widgets", "cli.app"]
)
def test_the_kernels_side_loads_no_native_training_code(module: str) -> None:
    loaded = loaded_after(f"import workbench.{module}")
    assert not {"torch", "onnxruntime"} & set(loaded)


def test_the_page_is_made_before_anything_heavy_is_loaded() -> None:
    """A figure and the check of a model load matplotlib and onnx when they are wanted."""
    loaded = loaded_after("import workbench as wb\nwb.Workbench()")
    assert not {"torch", "onnxruntime", "pandas", "matplotlib", "onnx"} & set(loaded)


@pytest.mark.parametrize("name", ["check", "compare", "doctor", "engines", "runs"])
def test_a_function_is_not_hidden_by_its_module(name: str) -> None:
    """`wb.runs` stays the function although the import system binds the module `workbench.runs`."""
    module = importlib.import_module(f"workbench.{name}")
    assert getattr(wb, name) is getattr(module, name)
    program = (
        f"import workbench as wb\nimport workbench.{name}\nassert wb.{name}.__name__ == {name!r}"
    )
    loaded_after(program)


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert wb.__version__ == version("onnxruntime-training-workbench")
