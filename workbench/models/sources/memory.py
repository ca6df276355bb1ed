"""A model that is an `nn.Module` in the caller's memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from workbench.errors import ModelError
from workbench.files.input_file import check_file
from workbench.models.sources.module import ModuleSource
from workbench.modules.dynamic_axes import DynamicAxes
from workbench.modules.example_inputs import Examples, read_arrays, write_arrays
from workbench.modules.specs import ModuleSpecs
from workbench.specs import TensorSpec
from workbench.user_code.module_pickle import dump_module
from workbench.user_code.search_path import search_entry
from workbench.user_code.user_code import UserCode, may_run, unpickle

if TYPE_CHECKING:
    import torch

PICKLE_FILE = "module.pkl"


class MemorySource(ModuleSource):
    """A snapshot of a module; it crosses to a worker by cloudpickle.

    Unpickling runs code, so only a worker that the writer of the pickle starts reads it.
    """

    kind: ClassVar[str] = "module"

    def __init__(
        self,
        specs: ModuleSpecs,
        examples: tuple[np.ndarray, ...],
        *,
        snapshot: torch.nn.Module | None = None,
        pickle_path: Path | None = None,
    ) -> None:
        self._specs = specs
        self._examples = examples
        self._snapshot = snapshot
        self._pickle_path = pickle_path

    @classmethod
    def of(
        cls, module: torch.nn.Module, examples: Examples, dynamic_axes: DynamicAxes | None = None
    ) -> MemorySource:
        """A source that keeps a copy of `module` as it is now, on the CPU."""
        try:
            snapshot = copy.deepcopy(module, _computed_tensors(module)).cpu()
        except Exception as error:
            raise ModelError(
                f"{type(module).__name__} cannot be copied: {error}. Give a factory instead, as "
                '"package.module:factory".'
            ) from error
        specs = ModuleSpecs.of(snapshot, examples, dynamic_axes)
        return cls(specs, examples.arrays, snapshot=snapshot)

    @property
    @override
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._specs.inputs

    @property
    @override
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._specs.outputs

    @property
    @override
    def keywords(self) -> tuple[str, ...]:
        return self._specs.keywords

    @property
    @override
    def notices(self) -> tuple[str, ...]:
        return self._specs.notices

    @override
    def build(self, *, shared: bool) -> torch.nn.Module:
        if self._snapshot is None:
            return self._unpickle()
        if not shared:
            return copy.deepcopy(self._snapshot)
        import torch

        # What is in half precision will be widened, so that is copied.
        parameters = self._snapshot.parameters()
        lent = {id(each): each for each in parameters if each.dtype == torch.float32}
        return copy.deepcopy(self._snapshot, lent)

    @override
    def example_inputs(self) -> tuple[np.ndarray, ...]:
        return tuple(array.copy() for array in self._examples)

    @override
    def write(self, folder: Path) -> dict[str, Any]:
        module = self._unpickle() if self._snapshot is None else self._snapshot
        path = folder / PICKLE_FILE
        try:
            with path.open("wb") as file:
                sha256 = dump_module(module, file)
        except Exception as error:
            raise ModelError(
                f"{type(module).__name__} cannot cross to a worker process: {error}. Give a "
                'factory instead, as "package.module:factory".'
            ) from error
        write_arrays(folder, self._examples)
        # Classes of an importable file are pickled by name, so a worker must find that file too.
        names = {type(child).__module__ for child in module.modules()}
        entries = {search_entry(name) for name in names}
        self.code = UserCode((sha256,), tuple(sorted(entry for entry in entries if entry)))
        return {"specs": self._specs.to_json()}

    @classmethod
    @override
    def read(cls, folder: Path, record: Mapping[str, Any]) -> MemorySource:
        specs = ModuleSpecs.from_json(record["specs"])
        examples = read_arrays(folder, len(specs.inputs))
        return cls(specs, examples, pickle_path=folder / PICKLE_FILE)

    @property
    @override
    def buildable(self) -> bool:
        return self._pickle_path is None or may_run(_content(self._pickle_path))

    def _unpickle(self) -> torch.nn.Module:
        path = self._pickle_path
        assert path is not None
        try:
            module: torch.nn.Module = unpickle(_content(path))
        except PermissionError:
            raise ModelError(
                f"{path} is a pickle, which may run any code: it is read only by the worker that "
                "its writer starts. Load the module itself again, with load_model(module, "
                "example_inputs=...), and give that."
            ) from None
        return module


def _content(path: Path) -> bytes:
    return check_file(path, ModelError).read_bytes()


def _computed_tensors(module: torch.nn.Module) -> dict[int, Any]:
    """Copies of the tensors that layers have computed and kept, by the `id` of each.

    Such are the weights of `torch.nn.utils.weight_norm`, computed anew before each forward pass.
    torch refuses to copy them.
    """
    import torch

    return {
        id(value): value.detach().clone()
        for layer in module.modules()
        for value in vars(layer).values()
        if isinstance(value, torch.Tensor) and not value.is_leaf
    }
