"""A model that a function of the caller's own builds."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from workbench.errors import ModelError, nearest
from workbench.models.dynamic_axes import DynamicAxes
from workbench.models.example_inputs import as_examples, read_arrays, write_arrays
from workbench.models.module_source import ModuleSource
from workbench.models.module_specs import ModuleSpecs
from workbench.models.search_path import add_to_search_path, search_entry
from workbench.models.seeding import seeded
from workbench.models.specs import TensorSpec

if TYPE_CHECKING:
    import torch

FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
"""package.module:factory"""


class FactorySource(ModuleSource):
    """A factory's module; it crosses to a worker as the factory's name and a seed."""

    kind: ClassVar[str] = "factory"

    def __init__(
        self,
        factory: str,
        seed: int,
        specs: ModuleSpecs,
        examples: tuple[np.ndarray, ...],
        search_path: str | None,
    ) -> None:
        self._factory = factory
        self._seed = seed
        self._specs = specs
        self._examples = examples
        self._search_path = search_path

    @classmethod
    def of(
        cls,
        factory: str,
        seed: int,
        example_inputs: Any,
        dynamic_axes: DynamicAxes | None = None,
    ) -> FactorySource:
        """A source that calls `factory`, as found from the working directory or `sys.path`.

        Args:
            factory: "package.module:factory"; returns a module, or (module, example inputs).
            seed: at which torch's CPU generator stands when it is called.
            example_inputs: in place of the factory's own.
            dynamic_axes: by the name of an input: names of axes of any size beside the batch.

        Raises:
            ModelError: it cannot be imported or called, or returns something else.
        """
        module, own_examples = _call(factory, seed, str(Path.cwd()))
        examples = as_examples(own_examples if example_inputs is None else example_inputs)
        entry = search_entry(factory.partition(":")[0])
        specs = ModuleSpecs.of(module, examples, dynamic_axes)
        return cls(factory, seed, specs, examples.arrays, entry)

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
        module, _ = _call(self._factory, self._seed, self._search_path)
        return module.cpu()

    @override
    def example_inputs(self) -> tuple[np.ndarray, ...]:
        return tuple(array.copy() for array in self._examples)

    @override
    def write(self, folder: Path) -> dict[str, Any]:
        write_arrays(folder, self._examples)
        return {
            "factory": self._factory,
            "seed": self._seed,
            "specs": self._specs.to_json(),
            "search_path": self._search_path,
        }

    @classmethod
    @override
    def read(cls, folder: Path, record: Mapping[str, Any]) -> FactorySource:
        specs = ModuleSpecs.from_json(record["specs"])
        examples = read_arrays(folder, len(specs.inputs))
        return cls(record["factory"], record["seed"], specs, examples, record["search_path"])


def _call(factory: str, seed: int, search_path: str | None) -> tuple[torch.nn.Module, Any]:
    """The module that `factory` builds, and its example inputs or None."""
    import torch

    function = _find(factory, search_path)
    try:
        with seeded(seed):
            result = function()
    except Exception as error:
        raise ModelError(f"{factory} raised {type(error).__name__}: {error}") from error
    module, examples = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
    if not isinstance(module, torch.nn.Module):
        raise ModelError(
            f"{factory} returned {type(result).__name__}; it must return an nn.Module, or a pair "
            "of an nn.Module and its example inputs."
        )
    return module, examples


def _find(factory: str, search_path: str | None) -> Any:
    module_name, _, function_name = factory.partition(":")
    if search_path is not None:
        add_to_search_path(search_path)
        importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        raise ModelError(
            f"Cannot import {module_name!r} for {factory!r}: {type(error).__name__}: {error}. It "
            f"is looked for in {search_path} and where Python finds packages."
        ) from error
    for part in function_name.split("."):
        if not hasattr(found, part):
            public = [name for name in vars(found) if not name.startswith("_")]
            raise ModelError(f"{module_name!r} has no {function_name!r}. {nearest(part, public)}")
        found = getattr(found, part)
    if not callable(found):
        raise ModelError(f"{factory} is {type(found).__name__}, not a function that builds.")
    return found
