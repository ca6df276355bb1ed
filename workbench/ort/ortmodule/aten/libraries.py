"""Whose kernels run each family of operators, by the options of an ORTModule."""

from __future__ import annotations

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
        usual = usual_libraries("ortmodule", kernels, device_kernels=options.device_kernels)
        self._chosen = usual | given
        self._others = kernels != "off"
        self._own = {family for family, library in given.items() if library == WORKBENCH}
        if options.device_kernels:
            # What PyTorch has no kernel for, or none for these sizes, is left to ours.
            chosen = self._chosen.items()
            self._own |= {family for family, whose in chosen if whose in (PYTORCH, WORKBENCH)}

    def calls_kernel(self, family: str) -> bool:
        """Whether a kernel beside PyTorch's runs it; "" is what is of no family."""
        if not family:
            return self._others
        library = self._chosen[family]
        return library == PYTORCH or (
            library == WORKBENCH and family in IN_TORCH_INTEROP and self._others
        )

    @property
    def calls_any(self) -> bool:
        """Whether such a kernel runs anything."""
        return self._others or any(map(self.calls_kernel, self._chosen))

    @property
    def not_on_device(self) -> frozenset[str]:
        """The families, of those on device, that are left as they are by the device kernels."""
        return frozenset(FAMILIES["ondevice"]) - self._own

    @property
    def own_gradients(self) -> frozenset[str]:
        """The families whose gradients are ONNX Runtime's own operators, however slow."""
        return frozenset(
            family for family, library in self._chosen.items() if library == ONNX_RUNTIME
        )
