"""No row of the table allows what its package does not do."""

from __future__ import annotations

from tests.layers.computed_imports import computed_imports, is_in
from tests.layers.imports import imports, layer_of
from tests.layers.named_modules import named_below
from tests.layers.table import LAYERS, PACKAGE, PICKLES, WIDGETS


def test_no_row_allows_what_its_package_does_not_do() -> None:
    loading = {
        (found.layer, name)
        for found in imports()
        if found.at_load and found.is_of("torch")
        for name in LAYERS[found.layer].loads_torch
        if PACKAGE / found.layer / name in found.file.parents
    }
    assert loading == {(name, each) for name, row in LAYERS.items() for each in row.loads_torch}
    by_name = {
        (layer_of(file), place)
        for file, _ in computed_imports()
        for place in LAYERS[layer_of(file)].imports_by_name
        if is_in(file, place)
    }
    stated = {(name, each) for name, row in LAYERS.items() for each in row.imports_by_name}
    assert by_name == stated
    named = {(layer_of(file), target) for file, _, target in named_below()}
    assert named == {(name, each) for name, row in LAYERS.items() for each in row.names}
    for allowed, packages in (
        ("samples", {"sample_models"}),
        ("pickles", PICKLES),
        ("widgets", WIDGETS),
        ("native", {"torch", "onnxruntime"}),
    ):
        using = {found.layer for found in imports() if any(map(found.is_of, packages))}
        assert using == {name for name, row in LAYERS.items() if getattr(row, allowed)}, allowed
