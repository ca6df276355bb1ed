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
from workbench.models.sources.module import ModuleSource
from workbench.modules.dynamic_axes import DynamicAxes
from workbench.modules.example_inputs import as_examples, read_arrays, write_arrays
from workbench.modules.seeding import seeded
from workbench.modules.specs import ModuleSpecs
from workbench.specs import TensorSpec
from workbench.user_code.search_path import search_entry
from workbench.user_code.user_code import (
    UserCode,
    add_to_search_path,
    may_run,
    sha256_of,
    use_search_path,
)

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
        *,
        given: bool,
    ) -> None:
        """A source.

        Args:
            given: whether the caller named the factory, and not a record.
        """
        self._factory = factory
        self._seed = seed
        self._specs = specs
        self._examples = examples
        self._given = given

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
        add_to_search_path(str(Path.cwd()))
        module, own_examples = _call(factory, seed)
        examples = as_examples(own_examples if example_inputs is None else example_inputs)
        specs = ModuleSpecs.of(module, examples, dynamic_axes)
        return cls(factory, seed, specs, examples.arrays, given=True)

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
        if not self.buildable:
            raise ModelError(
                f"This model is built by the factory {self._factory!r}, which a record names. A "
                "record's code is run only by the worker that its writer starts. Give the model: "
                f"load_model({self._factory!r})."
            )
        if not self._given:
            use_search_path()
        module, _ = _call(self._factory, self._seed)
        return module.cpu()

    @property
    @override
    def buildable(self) -> bool:
        return self._given or may_run(self._factory.encode())

    @override
    def example_inputs(self) -> tuple[np.ndarray, ...]:
        return tuple(array.copy() for array in self._examples)

    @override
    def write(self, folder: Path) -> dict[str, Any]:
        write_arrays(folder, self._examples)
        entry = search_entry(self._factory.partition(":")[0])
        self.code = UserCode((sha256_of(self._factory.encode()),), (entry,) if entry else ())
        return {
            "factory": self._factory,
            "seed": self._seed,
            "specs": self._specs.to_json(),
        }

    @classmethod
    @override
    def read(cls, folder: Path, record: Mapping[str, Any]) -> FactorySource:
        specs = ModuleSpecs.from_json(record["specs"])
        examples = read_arrays(folder, len(specs.inputs))
        factory = record["factory"]
        if not isinstance(factory, str):
            raise TypeError(f"factory={factory!r}")
        return cls(factory, record["seed"], specs, examples, given=False)


def _call(factory: str, seed: int) -> tuple[torch.nn.Module, Any]:
    """The module that `factory` builds, and its example inputs or None."""
    import torch

    function = _find(factory)
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


def _find(factory: str) -> Any:
    module_name, _, function_name = factory.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        raise ModelError(
            f"Cannot import {module_name!r} for {factory!r}: {type(error).__name__}: {error}. It "
            "is looked for in the working directory and where Python finds packages."
        ) from error
    for part in function_name.split("."):
        if not hasattr(found, part):
            public = [name for name in vars(found) if not name.startswith("_")]
            raise ModelError(f"{module_name!r} has no {function_name!r}. {nearest(part, public)}")
        found = getattr(found, part)
    if not callable(found):
        raise ModelError(f"{factory} is {type(found).__name__}, not a function that builds.")
    return found
