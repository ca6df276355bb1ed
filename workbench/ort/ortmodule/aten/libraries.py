"""The library of each family of operators, by the options of an ORTModule."""

from __future__ import annotations

from workbench.settings.operator_kernels import (
    FAMILIES,
    ONNX_RUNTIME,
    libraries_of,
    usual_libraries,
)
from workbench.settings.ortmodule_options import ORTModuleOptions


class Libraries:
    """Family -> library."""

    def __init__(self, options: ORTModuleOptions) -> None:
        """
        Args:
            options: with its `pytorch_kernels`, "auto" being "all", and its `operator_kernels`.
        """
        kernels = options.pytorch_kernels
        given = libraries_of(options.operator_kernels)
        self._chosen = usual_libraries("ortmodule", kernels) | given
        self._others = kernels != "off"

    def calls_kernel(self, family: str) -> bool:
        """Whether a kernel of the compiled library runs it; "" for operators without a family."""
        if not family:
            return self._others
        return self._chosen[family] == FAMILIES["ortmodule"][family][0]

    @property
    def calls_any(self) -> bool:
        """Whether such kernels are used."""
        return self._others or any(map(self.calls_kernel, self._chosen))

    @property
    def own_gradients(self) -> frozenset[str]:
        """The families whose gradients are ONNX Runtime's own operators, even if slow."""
        return frozenset(
            family for family, library in self._chosen.items() if library == ONNX_RUNTIME
        )
