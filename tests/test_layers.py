"""The layers of the package: every import is parsed and held to the order below.

A module may import its own row and every row above it, never one below. This holds for imports
inside functions too. Inside a package, too, files and subpackages import one another one way.
A row also says whether its package may import torch, onnxruntime or modules by a computed name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "workbench"


class Row(NamedTuple):
    """Permitted imports of a subpackage besides the rows above it."""

    native: bool = True
    """torch and onnxruntime, inside functions."""
    loads_torch: tuple[str, ...] = ()
    """Which of its folders are only imported where torch is wanted, and load it with themselves;
    "" for the whole of it."""
    loads_onnxruntime: bool = False
    """It is only imported where onnxruntime is wanted."""
    imports_by_name: tuple[str, ...] = ()
    """Which of its folders and files import modules whose name is no literal: their own, or of what
    a call or a pickle names."""
    names: tuple[str, ...] = ()
    """Rows below it, or `sample_models`, whose modules it names in a text, which something else
    imports, starts or reads."""
    client: bool = False
    """A client of the run folder: imports neither the worker's side nor an engine."""
    samples: bool = False
    """sample_models: it finds them, or lists them for people."""
    pickles: bool = False
    """pickle: it writes what another process of the same run reads."""
    widgets: bool = False
    """anywidget, ipywidgets and traitlets."""


SAMPLES = "sample_models"

LAYERS = {
    "errors": Row(native=False),
    "specs": Row(native=False),
    "display": Row(native=False),
    "files": Row(native=False),
    "progress": Row(native=False, client=True, widgets=True),
    "user_code": Row(imports_by_name=("",), pickles=True),
    "losses": Row(pickles=True),
    "machine": Row(native=False),
    "settings": Row(native=False, imports_by_name=("engines.py",), names=("engines",)),
    "run_folder": Row(native=False),
    "child_process": Row(native=False),
    "extensions": Row(native=False),
    "export_cache": Row(native=False, names=(SAMPLES,)),  # reads the code, for its digest
    "modules": Row(pickles=True),
    "onnx_io": Row(),
    "lora": Row(),
    "export": Row(loads_torch=("traced", "autograd", "effects")),
    "models": Row(names=(SAMPLES,)),  # records name them, and `user_code` finds them
    "data": Row(),
    "load": Row(samples=True),
    "tuning_results": Row(),
    "trainable": Row(native=False),
    "ort": Row(
        loads_torch=("ortmodule", "drop_in"), loads_onnxruntime=True, imports_by_name=("drop_in",)
    ),
    "extension_build": Row(native=False),
    "integrations": Row(loads_torch=("",)),
    "inference": Row(),
    "artifacts": Row(),
    "check": Row(),
    "engines": Row(imports_by_name=("__init__.py",)),
    "verification": Row(),
    "worker": Row(),
    "ranks": Row(),
    "flower": Row(),
    "quantization": Row(),
    "chart_series": Row(native=False, client=True),
    "figures": Row(client=True),
    "runs": Row(client=True),
    "federated": Row(client=True),
    "profiling": Row(),
    "graph_view": Row(client=True),
    "compare": Row(client=True),
    "tune": Row(),
    "personalisation": Row(client=True),
    "doctor": Row(),
    "controller": Row(client=True),
    "widgets": Row(client=True, samples=True, widgets=True),
    "": Row(imports_by_name=("__init__.py",)),  # workbench/__init__.py: the public names
    "cli": Row(samples=True),
}
"""One row per subpackage, which may import those above it: there are no circular imports."""

PICKLES = {"pickle", "cloudpickle", "dill", "joblib"}
WIDGETS = {"anywidget", "ipywidgets", "traitlets"}

RANK = {name: rank for rank, name in enumerate(LAYERS)}


class Import(NamedTuple):
    """One imported module."""

    file: Path
    line: int
    target: str
    """Absolute dotted name."""
    at_load: bool
    """Whether it runs when the file is imported: outside functions and `if TYPE_CHECKING`."""

    @property
    def where(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.target}"

    @property
    def layer(self) -> str:
        return layer_of(self.file)

    def is_of(self, package: str) -> bool:
        return self.target == package or self.target.startswith(f"{package}.")


def layer_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "static" not in path.parts)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {
        "TYPE_CHECKING",
        "typing.TYPE_CHECKING",
    }


def dotted_module(file: Path) -> list[str]:
    """The package that a relative import in `file` starts from."""
    return list(file.relative_to(ROOT).parent.parts)


def imports_of(file: Path, source: str) -> Iterator[Import]:
    """Every import statement and every `import_module` of a literal name."""

    def targets(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module.split(".") if node.module else []
            if node.level:
                package = dotted_module(file)
                base = package[: len(package) - node.level + 1] + base
            for alias in node.names:
                # `from a.b import c` may name the module a.b.c.
                name = ".".join([*base, alias.name])
                known = base != ["workbench"] and base[0] != "onnxruntime"
                yield ".".join(base) if known and not is_module(name) else name
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func).split(".")[-1]:
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                name = first.value.lstrip(".")
                level = len(first.value) - len(name)
                package = dotted_module(file)
                base = package[: len(package) - level + 1] if level else []
                yield ".".join([*base, name])

    def visit(node: ast.AST, at_load: bool) -> Iterator[Import]:
        for target in targets(node):
            yield Import(file, getattr(node, "lineno", 0), target, at_load)
        inner = at_load and not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        )
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # Decorators and defaults run where the function is defined.
            for outside in (*node.decorator_list, node.args):
                yield from visit(outside, at_load)
            for child in node.body:
                yield from visit(child, False)
            return
        if is_type_checking(node):
            assert isinstance(node, ast.If)
            for child in node.body:
                yield from visit(child, False)
            for child in node.orelse:
                yield from visit(child, inner)
            return
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inner)

    yield from visit(ast.parse(source), True)


@cache
def imports() -> tuple[Import, ...]:
    return tuple(
        found for file in files() for found in imports_of(file, file.read_text(encoding="utf-8"))
    )


def broken(rule: str, offenders: list[str]) -> None:
    if offenders:
        pytest.fail(rule + "\n  " + "\n  ".join(offenders))


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
    ):
        using = {found.layer for found in imports() if any(map(found.is_of, packages))}
        assert using == {name for name, row in LAYERS.items() if getattr(row, allowed)}, allowed


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
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom | ast.Import)
        for alias in node.names
        if alias.name in STARTS
        or alias.name.partition(".")[0] in {"subprocess", "multiprocessing"}
        or getattr(node, "module", None) == "subprocess"
    ]
    broken("a view starts nothing and loads nothing:", offenders)


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


def is_in(file: Path, place: str) -> bool:
    """Whether `file` is a file, or in a folder, of its row; "" is the whole of it."""
    path = PACKAGE / layer_of(file) / place
    return file == path or path in file.parents


FINDERS = {
    *("import_module", "resolve_name", "__import__", "run_module", "run_path", "exec_module"),
    *("load_module", "locate", "_gcd_import", "ImportString"),
}
"""Functions that import what a text names."""


def computed_imports_of(file: Path, source: str) -> Iterator[tuple[Path, int]]:
    """File and line of each import of a name that is no literal.

    A finder that is not called in its place, but stored or handed on, could import anything; an
    entry point loads what other packages name.
    """
    tree = ast.parse(source)
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        name = node.id if isinstance(node, ast.Name) else node.attr
        call = called.get(id(node))
        if name in FINDERS:
            literal = call and call.args and isinstance(call.args[0], ast.Constant)
            if not literal:
                yield file, node.lineno
        elif name == "load" and re.search(r"(?i)entry_?point", source) and call and not call.args:
            yield file, node.lineno


@cache
def computed_imports() -> tuple[tuple[Path, int], ...]:
    return tuple(
        found
        for file in files()
        for found in computed_imports_of(file, file.read_text(encoding="utf-8"))
    )


def test_modules_are_imported_by_name_only_where_the_row_allows_it() -> None:
    offenders = [
        f"{file.relative_to(ROOT)}:{line}"
        for file, line in computed_imports()
        if not any(is_in(file, place) for place in LAYERS[layer_of(file)].imports_by_name)
    ]
    broken("what a name is found for, `user_code` finds:", offenders)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import_module(name)", 1),
        ("importlib.import_module(f'{a}.b')", 1),
        ("import_module('torch')", 0),
        ("find = importlib.import_module", 1),
        ("map(import_module, names)", 1),
        ("pkgutil.resolve_name(name)", 1),
        ("runpy.run_path(path)", 1),
        ("from importlib.metadata import EntryPoint\nentry.load()", 1),
        ("from importlib.metadata import entry_points\nfor e in entry_points(): e.load()", 1),
        ("x: ImportString", 1),
        ("pickle.load(file)", 0),
    ],
)
def test_computed_imports_are_seen(source: str, count: int) -> None:
    assert len([*computed_imports_of(PACKAGE / "runs" / "run.py", source)]) == count


COMPUTED = "?"


def text_of(node: ast.AST, package: str) -> str | None:
    """The text that an expression makes, with `COMPUTED` for its unknown parts; None: no text."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.Name(id="__package__"):
            return package
        case ast.FormattedValue(value=value):
            return text_of(value, package) or COMPUTED
        case ast.JoinedStr(values=values):
            return "".join(text_of(value, package) or COMPUTED for value in values)
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
            texts = (text_of(left, package), text_of(right, package))
            return None if texts == (None, None) else "".join(each or COMPUTED for each in texts)
    return None


def texts_in(node: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and text of each text in `node`, docstrings left out."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    text = text_of(node, package)
    if text is not None:
        yield getattr(node, "lineno", 0), text
        return
    for child in ast.iter_child_nodes(node):
        yield from texts_in(child, package)


def named_below_in(file: Path, source: str) -> Iterator[tuple[Path, int, str]]:
    """File, line and row of each module of a lower row, or of the samples, that a text names.

    A row that is computed counts as a lower one. Docstrings name what they like.
    """
    layer = layer_of(file)
    if layer == "":
        return
    for line, text in texts_in(ast.parse(source), ".".join(dotted_module(file))):
        for row in re.findall(r"\bworkbench(?:\.| import )(\w+|\?)", text):
            if row == COMPUTED or RANK.get(row, -1) > RANK[layer]:
                yield file, line, row
        if re.search(rf"\b{SAMPLES}\b", text) and not LAYERS[layer].samples:
            yield file, line, SAMPLES


@cache
def named_below() -> tuple[tuple[Path, int, str], ...]:
    return tuple(
        found
        for file in files()
        for found in named_below_in(file, file.read_text(encoding="utf-8"))
    )


def test_a_text_names_no_module_of_a_lower_layer() -> None:
    """A child process or a registry is another way to import."""
    offenders = [
        f"{file.relative_to(ROOT)}:{line} names a module of {row}"
        for file, line, row in named_below()
        if row not in LAYERS[layer_of(file)].names
    ]
    broken("a layer names modules below it:", offenders)


def test_names_of_modules_are_seen() -> None:
    source = '"""`workbench.cli`"""\nargs = ("-m", "workbench.worker")\nx = "workbench.files.a:B"\n'
    source += 'y = "from workbench import cli"\nz = f"workbench.{name}"\n'
    source += 'a = "workbench." + name\nb = "workbench.cli." + name\nc = f"{__package__}.kernels"\n'
    source += 'd = "workbench." "worker"\ne = "sample_models.digits"\nf = "workbench.%s" % name'
    found = [*named_below_in(PACKAGE / "extensions" / "native_extension.py", source)]
    assert sorted((line, row) for _, line, row in found) == [
        *((2, "worker"), (4, "cli"), (5, COMPUTED), (6, COMPUTED), (7, "cli")),
        *((9, "worker"), (10, SAMPLES)),
    ]


def test_pickle_is_only_read_where_the_caller_just_wrote_it() -> None:
    """Models and losses are pickled; `user_code` alone unpickles, and finds code by its name."""
    offenders = []
    for found in imports():
        unsafe = any(map(found.is_of, PICKLES))
        if unsafe and not LAYERS[found.layer].pickles:
            offenders.append(found.where)
    for file in files():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            keywords = {word.arg: ast.unparse(word.value) for word in node.keywords}
            name = ast.unparse(node.func)
            where = f"{file.relative_to(ROOT)}:{node.lineno} calls {name}"
            if keywords.get("allow_pickle", "False") != "False":
                offenders.append(f"{where} with allow_pickle")
            if name.rpartition(".")[2] == "loads" and "pickle" in name and "user_code" not in where:
                offenders.append(where)
            if name in {"eval", "exec", "compile", "__import__"} or name.startswith("runpy."):
                offenders.append(where)
            if name == "torch.load" and keywords.get("weights_only") != "True":
                offenders.append(f"{where} without weights_only=True")
    broken("pickle is never read from a place that the user did not just write:", offenders)


def test_only_flower_imports_flower() -> None:
    offenders = [
        found.where for found in imports() if found.is_of("flwr") and found.layer != "flower"
    ]
    broken("the server of federated training is in `flower` alone:", offenders)


def test_import_module_has_its_own_name() -> None:
    """Under another, the parser above would not see what it imports."""
    offenders = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in files()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "importlib"
        for alias in node.names
        if alias.name == "import_module" and alias.asname not in {None, alias.name}
    ]
    broken("import_module is imported under another name:", offenders)


def test_no_subpackage_hides_a_name_of_its_package() -> None:
    """Importing `workbench.runs.resume`, if it were a module, would replace the function."""
    offenders = []
    for file in PACKAGE.rglob("__init__.py"):
        nodes = ast.parse(file.read_text(encoding="utf-8")).body
        # A module that is loaded here already replaces nothing later.
        loaded = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        package = ".".join(dotted_module(file))
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                names = [each.asname or each.name for each in node.names]
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            else:
                continue
            offenders += [
                f"{file.relative_to(ROOT)}:{node.lineno} {name}"
                for name in names
                if is_module(f"{package}.{name}") and f"{package}.{name}" not in loaded
            ]
    broken("a name and a module of one package are the same:", offenders)


def test_files_are_named_for_what_they_hold() -> None:
    forbidden = {"utils", "util", "common", "helpers", "helper", "misc", "manager"}
    names = [
        path for folder in ("workbench", "sample_models") for path in (ROOT / folder).rglob("*.py")
    ]
    offenders = [str(path.relative_to(ROOT)) for path in names if path.stem.strip("_") in forbidden]
    broken("a name says what the file holds:", offenders)


def test_files_stay_short() -> None:
    offenders = [
        f"{file.relative_to(ROOT)}: {count} lines"
        for file in files()
        if (count := len(file.read_text(encoding="utf-8").splitlines())) > 300
    ]
    broken("one noun a file, under 300 lines:", offenders)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch", ("torch", True)),
        ("def f():\n import torch.nn", ("torch.nn", False)),
        ("if TYPE_CHECKING:\n import torch", ("torch", False)),
        ("class A:\n import torch", ("torch", True)),
        ("from ..worker import loop", ("workbench.worker.loop", True)),
        ("from ..worker import nothing", ("workbench.worker", True)),
        ("from workbench import runs", ("workbench.runs", True)),
        ("import_module('torch')", ("torch", True)),
        ("x = lambda: __import__('torch')", ("torch", False)),
        ("import_module('..worker', __package__)", ("workbench.worker", True)),
        ("def f(x=import_module('torch')): ...", ("torch", True)),
        ("@import_module('torch').no_grad()\ndef f(): ...", ("torch", True)),
    ],
)
def test_the_parser_sees(source: str, expected: tuple[str, bool]) -> None:
    found = [(one.target, one.at_load) for one in imports_of(PACKAGE / "runs" / "run.py", source)]
    assert expected in found
