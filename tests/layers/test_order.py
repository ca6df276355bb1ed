"""Imports point one way: between the rows of the table, and within each folder."""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile

import pytest

from tests.layers.imports import Import, broken, files, imports, imports_of, is_module, layer_of
from tests.layers.table import PACKAGE, RANK, ROOT


def test_every_module_has_its_layer() -> None:
    unknown = sorted({layer_of(file) for file in files()} - RANK.keys())
    assert not unknown, f"no layer is stated for {unknown}; add it to LAYERS"


def test_imports_point_one_way() -> None:
    offenders = []
    for found in imports():
        if not found.is_of("workbench"):
            continue
        parts = found.target.split(".")
        target = parts[1] if len(parts) > 1 else ""
        # `from workbench import load_model` names a function, of the public face.
        rank = RANK.get(target, RANK[""])
        if rank > RANK[found.layer]:
            offenders.append(found.where)
    broken("a higher layer imports a lower one:", offenders)


def cycles_in(found: Iterable[Import]) -> list[str]:
    """Cycles among the files and subpackages of each folder, of which imports point every way.

    A subpackage is one node there: what its files import, it imports. The package's `__init__` is
    a node beside its files. Imports for types alone count too: who reads one file then has to read
    the other.
    """
    graphs: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for each in found:
        if not each.is_of("workbench") or not is_module(each.target):
            continue
        importing = each.file.relative_to(ROOT).with_suffix("").parts
        imported = tuple(each.target.split("."))
        if ROOT.joinpath(*imported).is_dir():
            imported += ("__init__",)
        pairs = zip(importing, imported, strict=False)
        shared = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        if 0 < len(shared) < len(importing):
            graph = graphs.setdefault(tuple(shared), {})
            graph.setdefault(importing[len(shared)], set()).add(imported[len(shared)])
    cycles = []
    for folder, graph in graphs.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycles.append(f"{'/'.join(folder)}: {' <- '.join(error.args[1])}")
    return cycles


def test_no_package_has_a_cycle_of_imports() -> None:
    broken("files and subpackages import one another in a circle:", cycles_in(imports()))


@pytest.mark.parametrize(
    ("sources", "cycles"),
    [
        (
            {"runs/run.py": "from .export import a", "runs/export.py": "import workbench.runs.run"},
            1,
        ),
        (
            {
                "runs/run.py": "from .export import a",
                "runs/export.py": "def f():\n from . import run",
            },
            1,
        ),
        ({"runs/run.py": "import_module('.export', p)", "runs/export.py": "from .run import a"}, 1),
        (
            {
                "cli/app.py": "from workbench.cli import main",
                "cli/__init__.py": "from .app import b",
            },
            1,
        ),
        # Subpackages, whose files are in no circle.
        (
            {
                "widgets/app/workbench.py": "from workbench.widgets.train.trainer import a",
                "widgets/train/settings_form.py": "from workbench.widgets.app.app_bar import b",
            },
            1,
        ),
        (
            {
                "runs/run.py": "from .export import a",
                "runs/export.py": "if TYPE_CHECKING:\n from .run import Run",
            },
            1,
        ),
        (
            {
                "cli/app.py": "from workbench.cli import run",
                "cli/__init__.py": "from .app import b",
            },
            1,
        ),
        (
            {
                "cli/app.py": "from workbench.cli import options",
                "cli/__init__.py": "from .app import b",
            },
            0,
        ),
    ],
)
def test_cycles_are_seen(sources: dict[str, str], cycles: int) -> None:
    found = [one for name, source in sources.items() for one in imports_of(PACKAGE / name, source)]
    assert len(cycles_in(found)) == cycles
