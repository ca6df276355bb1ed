"""`onnxruntime.training` for scripts that were written for its own front end.

    import workbench.ort
    workbench.ort.install()

    from onnxruntime.training.ortmodule import ORTModule    # as ever, from here on

The package's front end cannot be imported with current torch. `install` puts modules of the same
names in its place with the workbench's ORTModule, its options under the package's names, and the
package's optimizers. `onnxruntime.training.api`, `.artifacts` and the rest are the package's own.
`torch_ort`, from which ONNX Runtime's documentation imports ORTModule, is a further name for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench.ort.native import native

TRAINING = "onnxruntime.training"
ORTMODULE = f"{TRAINING}.ortmodule"
OPTIM = f"{TRAINING}.optim"
DATA = f"{TRAINING}.utils.data"
TORCH_ORT = "torch_ort"

_OF_ORTMODULE = "workbench.ort.drop_in.package_signature"
_OF_OPTIM = "workbench.ort.drop_in.optim"
_NAMES_OF_OPTIM = {
    "config": ("AdamConfig", "LambConfig", "SGDConfig"),
    "lr_scheduler": (
        *("ConstantWarmupLRScheduler", "CosineWarmupLRScheduler", "LinearWarmupLRScheduler"),
        "PolyWarmupLRScheduler",
    ),
}
"""Modules of the package's `optim` that work as they are, and what it exports of them."""


class _LazyPackage(ModuleType):
    """A package whose names are loaded at their first use."""

    def __init__(self, name: str, modules: Mapping[str, str], others: Callable[[str], Any]) -> None:
        """Create the package.

        Args:
            name: dotted name; other submodules are the package's own.
            modules: the module that defines each of its names.
            others: finds any other name, or raises an AttributeError.
        """
        super().__init__(name, f"{name}, as the workbench provides it.")
        root = Path(str(native().__file__)).parents[2]
        self.__path__ = [str(root.joinpath(*name.split(".")))]
        self._modules = dict(modules)
        self._others = others

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        module = self._modules.get(name)
        value = self._others(name) if module is None else getattr(import_module(module), name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._modules})


def install() -> None:
    """Make `onnxruntime.training` provide the workbench's ORTModule in this process.

    To be called before the script imports ORTModule; `onnxruntime` itself may have been imported
    before. Calling it again has no effect. torch is not changed: if `onnxruntime` was imported
    before, whose front end has replaced `torch.utils.checkpoint.checkpoint`, that is restored.

    Raises:
        EngineError: no training build of onnxruntime is installed.
    """
    c = native()
    _restore_torch_checkpoint()
    training = sys.modules.get(TRAINING)
    if training is None:
        natives = dict.fromkeys(
            ("PropagateCastOpsStrategy", "TrainingParameters", "is_ortmodule_available"), c.__name__
        )
        training = _LazyPackage(
            TRAINING, {"ORTModule": _OF_ORTMODULE, **natives}, _submodule(TRAINING)
        )
        _place(training)
    else:
        # Existing references to the package see the same contents.
        training.ORTModule = import_module(_OF_ORTMODULE).ORTModule  # type: ignore[attr-defined]
    ortmodule = dict.fromkeys(("ORTModule", "DebugOptions", "LogLevel"), _OF_ORTMODULE)
    optim = dict.fromkeys(("FusedAdam", "FP16_Optimizer", "AdamWMode"), _OF_OPTIM)
    for module, names in _NAMES_OF_OPTIM.items():
        optim |= dict.fromkeys(names, f"{OPTIM}.{module}")
    # The modules of the package that define the names: their classes would not fit the others.
    for name in (ORTMODULE, f"{ORTMODULE}.ortmodule", f"{ORTMODULE}.options"):
        _place(_LazyPackage(name, ortmodule, _refuse))
    _place(_LazyPackage(OPTIM, optim, _submodule(OPTIM)))
    if TORCH_ORT not in sys.modules and find_spec(TORCH_ORT) is None:
        _place_torch_ort(ortmodule, optim)


def _place_torch_ort(ortmodule: Mapping[str, str], optim: Mapping[str, str]) -> None:
    """Register the package torch-ort, which is not installed, by the modules of its names."""
    samplers = ("LoadBalancingDistributedSampler", "LoadBalancingDistributedBatchSampler")
    data = dict.fromkeys(samplers, DATA)
    for name, modules in (
        ("", {**ortmodule, "set_seed": _OF_ORTMODULE}),
        (".optim", optim),
        (".utils", data),
        (".utils.data", data),
    ):
        _place(_LazyPackage(TORCH_ORT + name, modules, _submodule(TORCH_ORT + name)))


def _place(package: ModuleType) -> None:
    """Register `package` for `import`, and in its parent."""
    name = package.__name__
    if isinstance(sys.modules.get(name), _LazyPackage):
        return
    sys.modules[name] = package
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, package)


def _submodule(package: str) -> Callable[[str], Any]:
    """Finds submodules that the package's own `__init__` would have imported."""

    def find(name: str) -> Any:
        try:
            return import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return find


def _refuse(name: str) -> Any:
    raise AttributeError(
        f"{ORTMODULE}.{name} is not part of the workbench's ORTModule, which has ORTModule, "
        "DebugOptions and LogLevel. Options of ORTModule are in workbench.ORTModuleOptions."
    )


def _restore_torch_checkpoint() -> None:
    """Undo what onnxruntime's front end does to torch before it fails."""
    module = sys.modules.get("torch.utils.checkpoint")
    replaced = getattr(module, "checkpoint", None)
    if module is None or not str(getattr(replaced, "__module__", "")).startswith(TRAINING):
        return
    code, cells = replaced.__code__, replaced.__closure__  # type: ignore[union-attr]
    held = dict(zip(code.co_freevars, cells or (), strict=True))
    if "original_checkpoint" in held:
        module.checkpoint = held["original_checkpoint"].cell_contents  # type: ignore[attr-defined]
