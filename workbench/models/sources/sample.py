"""A sample model."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from workbench.errors import ModelError, value_text
from workbench.files.input_file import is_file
from workbench.models.sources.factory import FactorySource
from workbench.modules.example_inputs import example_arrays
from workbench.modules.specs import ModuleSpecs
from workbench.user_code.named_object import find_object

PACKAGE = Path(__file__).parents[3] / "sample_models"
"""The samples, installed beside this package and with it."""

SAMPLE_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class SampleSource(FactorySource):
    """A sample: a factory that is installed with the workbench, with declared specs.

    It is saved as its name, a seed and the specs. No other code runs because a record names it, so
    the name must be that of a folder of the installed samples.
    """

    kind: ClassVar[str] = "sample"

    def __init__(self, name: str, seed: int, specs: ModuleSpecs) -> None:
        """A source.

        Args:
            name: of the sample.
            seed: of torch's CPU generator when its factory is called.
            specs: of the module that it builds.

        Raises:
            ModelError: this workbench has no sample of that name.
        """
        factory = f"{sample_module(name)}:build"
        super().__init__(factory, seed, specs, (), trusted=True)
        self._name = name

    @override
    def example_inputs(self) -> tuple[np.ndarray, ...]:
        return example_arrays(self.inputs)

    @override
    def write(self, folder: Path) -> dict[str, Any]:
        return {"sample": self._name, "seed": self._seed, "specs": self._specs.to_json()}

    @classmethod
    @override
    def read(cls, folder: Path, record: Mapping[str, Any]) -> SampleSource:
        name, specs = record["sample"], record.get("specs")
        if specs is not None:
            return cls(name, record["seed"], ModuleSpecs.from_json(specs))
        # Earlier records have no specs.
        declared = find_object(f"{sample_module(name)}:SAMPLE")
        return cls(name, record["seed"], ModuleSpecs(declared.inputs, declared.outputs))


def sample_module(name: Any) -> str:
    """The module of the sample of that name: "sample_models.digits_mlp" for "digits-mlp".

    Nothing is imported for that.

    Raises:
        ModelError: there is none in the package that was installed with this one. Other packages
            of that name are ignored.
    """
    named = isinstance(name, str) and SAMPLE_NAME.fullmatch(name)
    folder = name.replace("-", "_") if named else ""
    if not named or not is_file(PACKAGE / folder / "__init__.py") or not _finds_package():
        raise ModelError(
            f"This workbench has no sample {value_text(name)}. Upgrade it, or load the model that "
            "is meant with load_model."
        )
    return f"{PACKAGE.name}.{folder}"


def _finds_package() -> bool:
    """Whether Python finds the samples in `PACKAGE`, and not in another folder of that name."""
    found = importlib.util.find_spec(PACKAGE.name)
    places = found.submodule_search_locations if found is not None else None
    return [Path(place).resolve() for place in places or ()] == [PACKAGE.resolve()]
