"""The graphs of an ORTModule as files, for whoever wants to look into them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import EngineError
from workbench.ortmodule_options import OptionReport, ORTModuleOptions

if TYPE_CHECKING:
    import onnx


class SavedGraphs:
    """The files of one graph: 1-forward.onnx, 1-gradient.onnx, 1-optimized.onnx, and so on.

    Every graph takes the next number that is free in the folder. Without a folder, nothing is
    written.
    """

    def __init__(self, options: ORTModuleOptions) -> None:
        """Make the folder of `options` and take a number in it.

        Raises:
            EngineError: the folder cannot be made.
        """
        self._folder = None if options.saved_graphs is None else Path(options.saved_graphs)
        self._number = 0
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            taken = [path.name.partition("-")[0] for path in self._folder.glob("*-*.onnx")]
        except OSError as error:
            raise self._unwritable(error) from error
        self._number = 1 + max((int(name) for name in taken if name.isdecimal()), default=0)

    @property
    def report(self) -> OptionReport:
        """What came of the option `saved_graphs`."""
        if self._folder is None:
            return OptionReport("saved_graphs", "off")
        return OptionReport("saved_graphs", "on", f"{self._folder / str(self._number)}-*.onnx")

    def save(self, part: str, model: onnx.ModelProto | bytes) -> None:
        """Write one of the graphs.

        Args:
            part: forward, gradient or optimized.
            model: it, serialized or not.

        Raises:
            EngineError: it cannot be written.
        """
        if self._folder is None:
            return
        content = model if isinstance(model, bytes) else model.SerializeToString()
        try:
            (self._folder / f"{self._number}-{part}.onnx").write_bytes(content)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> EngineError:
        return EngineError(
            f"saved_graphs={str(self._folder)!r}: {error.strerror or error}. "
            "Name a folder that can be written."
        )
