"""Which packages may load torch, onnxruntime and Flower, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.layers.imports import broken, imports, layer_of
from tests.layers.table import LAYERS, PACKAGE


def may_load(native: str, file: Path) -> bool:
    """Whether `file` may import torch or onnxruntime when it is imported itself."""
    row = LAYERS[layer_of(file)]
    if native == "onnxruntime":
        return row.loads_onnxruntime
    return any((PACKAGE / layer_of(file) / name) in file.parents for name in row.loads_torch)


@pytest.mark.parametrize("native", ["torch", "onnxruntime"])
def test_native_packages_load_only_where_they_must(native: str) -> None:
    offenders = [
        found.where
        for found in imports()
        if found.is_of(native)
        and not (may_load(native, found.file) if found.at_load else LAYERS[found.layer].native)
    ]
    broken(f"{native} may be imported only inside functions, and here not at all:", offenders)


def test_the_ondevice_engine_never_imports_torch() -> None:
    offenders = [
        found.where
        for found in imports()
        if found.is_of("torch")
        and (
            {"ondevice", "kernel_library", "worker"} & set(found.file.with_suffix("").parts)
            or "ondevice" in found.file.stem
        )
    ]
    broken("a process that trains on device has no torch in it:", offenders)


def test_only_ort_knows_the_internals_of_onnxruntime_training() -> None:
    offenders = [
        found.where
        for found in imports()
        if (found.is_of("onnxruntime.training") or found.is_of("onnxruntime.capi"))
        and found.layer != "ort"
    ]
    broken("internals of onnxruntime.training belong in workbench/ort:", offenders)


def test_only_flower_imports_flower() -> None:
    offenders = [
        found.where for found in imports() if found.is_of("flwr") and found.layer != "flower"
    ]
    broken("the server of federated training is in `flower` alone:", offenders)
