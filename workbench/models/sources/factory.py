"""A model built by a factory function."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from workbench.errors import FROM_USER_CODE, ModelError, exception_text
from workbench.models.sources.module import ModuleSource
from workbench.modules.dynamic_axes import DynamicAxes
from workbench.modules.example_inputs import as_examples, read_arrays, write_arrays
from workbench.modules.seeding import seeded
from workbench.modules.specs import ModuleSpecs
from workbench.user_code.named_object import find_object
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
    """A module built by a factory; saved as the factory's name and a seed."""

    kind: ClassVar[str] = "factory"

    def __init__(
        self,
        factory: str,
        seed: int,
        specs: ModuleSpecs,
        examples: tuple[np.ndarray, ...],
        *,
        trusted: bool,
    ) -> None:
        """Create a source.

        Args:
            factory: "package.module:factory".
            seed: of torch's CPU generator when the factory is called.
            specs: of the module that it builds.
            examples: inputs of that module, a batch of at least 2.
            trusted: whether this process may call it: a caller named it, or it is a sample's.
                Otherwise only if the parent process allowed it.
        """
        super().__init__(specs, examples)
        self._factory = factory
        self._seed = seed
        self._trusted = trusted

    @classmethod
    def of(
        cls,
        factory: str,
        seed: int,
        example_inputs: Any,
        dynamic_axes: DynamicAxes | None = None,
    ) -> FactorySource:
        """A source that calls `factory`, imported from the working directory or `sys.path`.

        Args:
            factory: "package.module:factory"; returns a module, or (module, example inputs).
            seed: seed of torch's CPU generator for the call.
            example_inputs: used instead of those that the factory returns.
            dynamic_axes: by input name: names of the dynamic axes other than the batch.

        Raises:
            ModelError: it cannot be imported or called, or returns something else.
        """
        add_to_search_path(str(Path.cwd()))
        module, own_examples = _call(factory, seed)
        examples = as_examples(own_examples if example_inputs is None else example_inputs)
        specs = ModuleSpecs.of(module, examples, dynamic_axes)
        return FactorySource(factory, seed, specs, examples.arrays, trusted=True)

    @override
    def build(self, *, shared: bool) -> torch.nn.Module:
        if not self.buildable:
            raise ModelError(
                f"This model is built by the factory {self._factory!r}. A saved model is "
                "untrusted, so its factory is only called by the worker of its own run. Load the "
                f"model yourself: load_model({self._factory!r})."
            )
        if not self._trusted:
            use_search_path()
        module, _ = _call(self._factory, self._seed)
        return module.cpu()

    @property
    @override
    def buildable(self) -> bool:
        return self._trusted or may_run(self._factory.encode())

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
        return cls(factory, record["seed"], specs, examples, trusted=False)


def _call(factory: str, seed: int) -> tuple[torch.nn.Module, Any]:
    """The module that `factory` builds, and its example inputs or None."""
    import torch

    function = find_object(factory)
    if not callable(function):
        raise ModelError(f"{factory} is {type(function).__name__}, not a function that builds.")
    try:
        with seeded(seed):
            result = function()
    except ModelError:
        raise
    except FROM_USER_CODE as error:
        text = exception_text(error)
        needs_arguments = isinstance(error, TypeError) and "required" in text and "argument" in text
        remedy = ". A factory is called without arguments." if needs_arguments else ""
        raise ModelError(f"{factory} raised {text}{remedy}") from error
    module, examples = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
    if not isinstance(module, torch.nn.Module):
        raise ModelError(
            f"{factory} returned {type(result).__name__}; it must return an nn.Module or "
            "(nn.Module, example inputs)."
        )
    return module, examples
