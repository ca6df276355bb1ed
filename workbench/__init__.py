"""A Jupyter-first workbench for training with ONNX Runtime.

    import workbench as wb

    model = wb.load_model("digits-cnn")
    data = wb.load_dataset("digits")
    cmp = wb.compare(model, data, engines=["pytorch", "ondevice", "ortmodule"], steps=200)
    cmp.wait()
    cmp.plot()

Every public name is loaded at its first use, so that `import workbench` is instant and loads
neither torch nor onnxruntime.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.artifacts import generate_artifacts
    from workbench.check import check
    from workbench.compare import Comparison, compare, compare_runs, load_comparison
    from workbench.data import Dataset
    from workbench.doctor import doctor
    from workbench.engines import engines
    from workbench.errors import WorkbenchError
    from workbench.federated import federate
    from workbench.load import load_dataset, load_model
    from workbench.losses.loss import Loss
    from workbench.models import Model
    from workbench.ort.ortmodule import ORTModule
    from workbench.personalisation import Examples, load_personalisation, personalise
    from workbench.profiling import profile
    from workbench.runs import Run, load_run, resume, runs, train, undelete
    from workbench.settings.config import TrainingConfig
    from workbench.settings.ortmodule_options import ORTModuleOptions
    from workbench.tune import Tuning, tune
    from workbench.verification import verify
    from workbench.widgets import (
        ArtifactBuilder,
        ComparisonView,
        GraphView,
        ModelView,
        RunBrowser,
        Trainer,
        Workbench,
    )
    from workbench.widgets.pads import SketchPad, SoundPad, TextPad

__all__ = [
    "ArtifactBuilder",
    "Comparison",
    "ComparisonView",
    "Dataset",
    "Examples",
    "GraphView",
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
]

_MODULES = {
    "ArtifactBuilder": "widgets",
    "Comparison": "compare",
    "ComparisonView": "widgets",
    "Dataset": "data",
    "Examples": "personalisation",
    "GraphView": "widgets",
    "Loss": "losses.loss",
    "Model": "models",
    "ModelView": "widgets",
    "ORTModule": "ort.ortmodule",
    "ORTModuleOptions": "settings.ortmodule_options",
    "Run": "runs",
    "RunBrowser": "widgets",
    "SketchPad": "widgets.pads",
    "SoundPad": "widgets.pads",
    "TextPad": "widgets.pads",
    "Trainer": "widgets",
    "TrainingConfig": "settings.config",
    "Tuning": "tune",
    "Workbench": "widgets",
    "WorkbenchError": "errors",
    "check": "check",
    "compare": "compare",
    "compare_runs": "compare",
    "doctor": "doctor",
    "engines": "engines",
    "federate": "federated",
    "generate_artifacts": "artifacts",
    "load_comparison": "compare",
    "load_dataset": "load",
    "load_model": "load",
    "load_run": "runs",
    "load_personalisation": "personalisation",
    "personalise": "personalisation",
    "profile": "profiling",
    "resume": "runs",
    "runs": "runs",
    "train": "runs",
    "tune": "tune",
    "undelete": "runs",
    "verify": "verification",
}
"""The module, under `workbench`, in which each public name lives."""


class _Package(ModuleType):
    """This package's own class: keeps `wb.runs` the function when `workbench.runs` is imported.

    Some public functions share their name with the module that they live in. The import system
    binds a submodule to its package's attribute as soon as anything imports it; here it does not
    for those names, so they mean the public function in any order of imports. Such a module
    is reached by `from workbench.runs import ...`.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name in _MODULES and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("onnxruntime-training-workbench")
    elif name in _MODULES:
        value = getattr(importlib.import_module(f"workbench.{_MODULES[name]}"), name)
    elif name in ("federated", "ort"):
        # So that workbench.ort.install() needs no import of its own.
        value = importlib.import_module(f"workbench.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
