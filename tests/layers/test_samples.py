"""Who may import the sample models, and what these may import."""

from __future__ import annotations

from tests.layers.imports import broken, imports, imports_of
from tests.layers.table import LAYERS, ROOT


def test_only_what_lists_the_samples_imports_them() -> None:
    offenders = [
        found.where
        for found in imports()
        if found.is_of("sample_models") and not LAYERS[found.layer].samples
    ]
    broken("samples are found by `load` and listed for people:", offenders)


def test_samples_know_models_and_data_alone() -> None:
    offenders = []
    for file in sorted((ROOT / "sample_models").rglob("*.py")):
        for found in imports_of(file, file.read_text(encoding="utf-8")):
            if found.is_of("workbench") and found.target.split(".")[1] not in {
                "errors",
                "specs",
                "models",
                "data",
            }:
                offenders.append(found.where)
            if found.is_of("torch") and found.at_load and file.name == "__init__.py":
                offenders.append(found.where)
    broken("samples are models and data, built when asked for:", offenders)
