"""Clients and workers communicate only through the run folder; widgets only show state."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.layers.imports import broken, files, imports, is_module, layer_of, nodes
from tests.layers.table import LAYERS, PACKAGE, ROOT, WIDGETS


def test_the_client_side_imports_neither_engines_nor_worker() -> None:
    offenders = [
        found.where
        for found in imports()
        if LAYERS[found.layer].client
        and (found.is_of("workbench.engines") or found.is_of("workbench.worker"))
    ]
    broken("clients and workers communicate only through the run folder:", offenders)


def test_the_client_side_loads_neither_engines_nor_worker_through_others() -> None:
    def module(file: Path) -> str:
        return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")

    loads: dict[str, set[str]] = {}
    for found in imports():
        if found.at_load and found.is_of("workbench"):
            parts = found.target.split(".")
            # Importing a module imports the packages that it is in; a name is no module.
            loaded = {".".join(parts[:count]) for count in range(2, len(parts) + 1)}
            loads.setdefault(module(found.file), set()).update(filter(is_module, loaded))
    offenders = []
    for begin in (module(file) for file in files() if LAYERS[layer_of(file)].client):
        ways = {begin: begin}
        pending = [begin]
        while pending:
            current = pending.pop()
            for further in loads.get(current, set()) - ways.keys():
                ways[further] = f"{ways[current]} -> {further}"
                pending.append(further)
        offenders += [
            way for name, way in ways.items() if name in ("workbench.engines", "workbench.worker")
        ]
    broken("a client of the run folder loads no engine and no worker:", offenders)


def test_only_widgets_import_the_packages_of_widgets() -> None:
    offenders = [
        found.where
        for found in imports()
        if not LAYERS[found.layer].widgets and any(map(found.is_of, WIDGETS))
    ]
    broken("what the page does is in `controller`, which needs no widgets:", offenders)


STARTS = {
    *("train", "compare", "launch", "load_model", "load_dataset", "resume", "federate", "tune"),
    *("verify", "profile", "personalise", "generate_artifacts", "prepare", "graphs_of_source"),
}
"""Functions that load something or start a job."""


def test_widgets_start_no_jobs() -> None:
    """Views show state and send commands; the controller alone trains and compares."""
    offenders = [
        f"{file.relative_to(ROOT)}:{node.lineno} imports {alias.name}"
        for file in sorted((PACKAGE / "widgets").rglob("*.py"))
        for node in nodes(file.read_text(encoding="utf-8"))
        if isinstance(node, ast.ImportFrom | ast.Import)
        for alias in node.names
        if alias.name in STARTS
        or alias.name.partition(".")[0] in {"subprocess", "multiprocessing"}
        or getattr(node, "module", None) == "subprocess"
    ]
    broken("a view starts nothing and loads nothing:", offenders)
