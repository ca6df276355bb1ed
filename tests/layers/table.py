"""The layers of the package: its subpackages in their order, and what each may load.

A module may import its own row and every row above it, never one below. This holds for imports
inside functions too. A row also says whether its package may import torch, onnxruntime or modules
by a computed name.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "workbench"


class Row(NamedTuple):
    """Permitted imports of a subpackage besides the rows above it."""

    native: bool = False
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
    "errors": Row(),
    "specs": Row(),
    "display": Row(),
    "files": Row(),
    "progress": Row(client=True, widgets=True),
    "user_code": Row(native=True, imports_by_name=("",), pickles=True),
    "losses": Row(native=True),
    "machine": Row(),
    "settings": Row(imports_by_name=("engines.py",), names=("engines",)),
    "run_folder": Row(),
    "child_process": Row(),
    "extensions": Row(),
    "export_cache": Row(names=(SAMPLES,)),  # reads the code, for its digest
    "modules": Row(native=True),
    "onnx_io": Row(native=True),
    "lora": Row(native=True),
    "export": Row(native=True, loads_torch=("traced", "autograd", "effects")),
    "models": Row(
        native=True, names=(SAMPLES,), pickles=True
    ),  # records name them, and `user_code` finds them
    "data": Row(native=True),
    "load": Row(native=True, samples=True),
    "tuning_results": Row(),
    "trainable": Row(),
    "ort": Row(
        native=True,
        loads_torch=("ortmodule", "drop_in"),
        loads_onnxruntime=True,
        imports_by_name=("drop_in",),
    ),
    "extension_build": Row(),
    "integrations": Row(native=True, loads_torch=("",)),
    "inference": Row(),
    "artifacts": Row(native=True),
    "check": Row(),
    "engines": Row(native=True, imports_by_name=("__init__.py",)),
    "verification": Row(),
    "worker": Row(),
    "ranks": Row(native=True),
    "flower": Row(),
    "quantization": Row(native=True),
    "chart_series": Row(client=True),
    "figures": Row(client=True),
    "runs": Row(client=True),
    "federated": Row(client=True),
    "profiling": Row(native=True),
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
