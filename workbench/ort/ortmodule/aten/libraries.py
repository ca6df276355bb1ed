"""The library of each family of operators, by the options of an ORTModule."""

from __future__ import annotations

from workbench.settings.engines import GraphKind
from workbench.settings.operator_kernels import (
    FAMILIES,
    IN_TORCH_INTEROP,
    ONNX_RUNTIME,
    PYTORCH,
    WORKBENCH,
    libraries_of,
    usual_libraries,
)
from workbench.settings.ortmodule_options import ORTModuleOptions


class Libraries:
    """Family -> library."""

    def __init__(self, options: ORTModuleOptions) -> None:
        """
        Args:
            options: with its `pytorch_kernels`, "auto" being "all", its `device_kernels` and its
                `operator_kernels`.
        """
        kernels = options.pytorch_kernels
        given = libraries_of(options.operator_kernels)
        usual = usual_libraries(GraphKind.ORTMODULE, kernels, device_kernels=options.device_kernels)
        self._chosen = usual | given
        self._dropout = kernels != "off"
        self._others = kernels not in ("dropout", "off")
        self._own_kernels = options.device_kernels

    def calls_kernel(self, family: str) -> bool:
        """Whether a kernel of the compiled library runs it; "" for Dropout, without a family."""
        if not family:
            return self._dropout
        library = self._chosen[family]
        return library == PYTORCH or (
            library == WORKBENCH and family in IN_TORCH_INTEROP and self._others
        )

    @property
    def calls_any(self) -> bool:
        """Whether such kernels are used."""
        return self.calls_families or self._dropout

    @property
    def calls_families(self) -> bool:
        """Whether such kernels run more than Dropout."""
        return any(map(self.calls_kernel, self._chosen))

    @property
    def own(self) -> frozenset[str]:
        """The families that the workbench's kernels for training on device run."""
        chosen = {family for family, library in self._chosen.items() if library == WORKBENCH}
        return frozenset(family for family in chosen if not self.calls_kernel(family))

    @property
    def left_to_own(self) -> frozenset[str]:
        """The families whose remaining nodes they run, which no kernel of that library supports."""
        called = filter(self.calls_kernel, self._chosen)
        families = FAMILIES[GraphKind.DEVICE] if self._own_kernels else {}
        return frozenset(called) & set(families)

    @property
    def own_gradients(self) -> frozenset[str]:
        """The families whose gradients are ONNX Runtime's own operators, even if slow."""
        return frozenset(
            family for family, library in self._chosen.items() if library == ONNX_RUNTIME
        )
