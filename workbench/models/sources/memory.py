"""A model that is an `nn.Module` of the caller."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from workbench.errors import FROM_USER_CODE, ModelError, exception_text
from workbench.files.input_file import check_file
from workbench.models.sources.module import ModuleSource
from workbench.modules.dynamic_axes import DynamicAxes
from workbench.modules.example_inputs import ExampleInputs, read_arrays, write_arrays
from workbench.modules.specs import ModuleSpecs
from workbench.user_code.module_pickle import dump_module
from workbench.user_code.search_path import search_entry
from workbench.user_code.user_code import UserCode, may_run, unpickle

if TYPE_CHECKING:
    import torch

PICKLE_FILE = "module.pkl"


class MemorySource(ModuleSource):
    """A copy of a module; saved by cloudpickle.

    Unpickling executes code, so only the worker of its own run reads the pickle.
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
        super().__init__(specs, examples)
        self._snapshot = snapshot
        self._pickle_path = pickle_path

    @classmethod
    def of(
        cls,
        module: torch.nn.Module,
        examples: ExampleInputs,
        dynamic_axes: DynamicAxes | None = None,
    ) -> MemorySource:
        """A source with a copy of `module`, on the CPU."""
        try:
            snapshot = copy.deepcopy(module, _computed_tensors(module)).cpu()
        except FROM_USER_CODE as error:
            raise ModelError(
                f"{type(module).__name__} cannot be copied: {exception_text(error)}. "
                'Use a factory instead, as "package.module:factory".'
            ) from error
        specs = ModuleSpecs.of(snapshot, examples, dynamic_axes)
        return cls(specs, examples.arrays, snapshot=snapshot)

    @override
    def build(self, *, shared: bool) -> torch.nn.Module:
        if self._snapshot is None:
            return self._unpickle()
        if not shared:
            return copy.deepcopy(self._snapshot)
        import torch

        # Half-precision parameters are copied, as they will be converted to float32.
        parameters = self._snapshot.parameters()
        lent = {id(each): each for each in parameters if each.dtype == torch.float32}
        return copy.deepcopy(self._snapshot, lent)

    @override
    def write(self, folder: Path) -> dict[str, Any]:
        module = self._unpickle() if self._snapshot is None else self._snapshot
        path = folder / PICKLE_FILE
        try:
            with path.open("wb") as file:
                sha256 = dump_module(module, file)
        except FROM_USER_CODE as error:
            raise ModelError(
                f"{type(module).__name__} cannot be pickled for the worker process: {error}. "
                'Use a factory instead, as "package.module:factory".'
            ) from error
        write_arrays(folder, self._examples)
        # Classes of importable modules are pickled by name, so a worker must find the module.
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
                f"{path} is a pickle, which can execute arbitrary code. Only the worker of its own "
                "run reads it. Load the module again, with load_model(module, "
                "example_inputs=...)."
            ) from None
        return module


def _content(path: Path) -> bytes:
    return check_file(path, ModelError).read_bytes()


def _computed_tensors(module: torch.nn.Module) -> dict[int, Any]:
    """Copies of the non-leaf tensors that are attributes of layers, by `id`.

    For example, the weights of `torch.nn.utils.weight_norm`, computed before each forward pass.
    `copy.deepcopy` does not support them.
    """
    import torch

    return {
        id(value): value.detach().clone()
        for layer in module.modules()
        for value in vars(layer).values()
        if isinstance(value, torch.Tensor) and not value.is_leaf
    }
