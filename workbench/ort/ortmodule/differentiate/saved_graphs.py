"""The graphs of an ORTModule as files, for inspection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import EngineError
from workbench.settings.option_report import OptionReport
from workbench.settings.ortmodule_options import ORTModuleOptions

if TYPE_CHECKING:
    import onnx


_PACKAGE_NAMES = {
    "forward": "torch_exported",
    "trainable": "optimized_pre_grad",
    "gradient": "optimized",
    "optimized": "execution_model",
}
"""Name of each part in the files of onnxruntime-training."""


class SavedGraphs:
    """The files of one graph: 1-forward.onnx, 1-gradient.onnx, 1-optimized.onnx, and so on.

    Every graph has the next free number in the folder. With a prefix the files have the names of
    onnxruntime-training. Without a folder, nothing is written.
    """

    def __init__(self, options: ORTModuleOptions) -> None:
        """Create the folder of `options` and reserve a number in it.

        Raises:
            EngineError: the folder cannot be made.
        """
        self._folder = None if options.saved_graphs is None else Path(options.saved_graphs)
        self._prefix = options.saved_graphs_prefix
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
    def report(self) -> tuple[OptionReport, OptionReport]:
        """The effect of the options for folder and prefix."""
        named = "saved_graphs_prefix"
        if self._folder is None:
            reason = "there is no folder for graphs" if self._prefix else ""
            return OptionReport("saved_graphs", "off"), OptionReport(named, "off", reason)
        files = OptionReport("saved_graphs", "on", str(self._path("*")))
        return files, OptionReport(named, "on" if self._prefix else "off", self._prefix or "")

    def save(self, part: str, model: onnx.ModelProto | bytes) -> None:
        """Write one of the graphs.

        Args:
            part: forward; trainable, which is saved under a prefix alone; gradient or optimized.
            model: the graph, serialized or not.

        Raises:
            EngineError: it cannot be written.
        """
        if self._folder is None or (part == "trainable" and not self._prefix):
            return
        content = model if isinstance(model, bytes) else model.SerializeToString()
        try:
            self._path(part).write_bytes(content)
        except OSError as error:
            raise self._unwritable(error) from error

    def _path(self, part: str) -> Path:
        assert self._folder is not None
        if self._prefix:
            return self._folder / f"{self._prefix}_{_PACKAGE_NAMES.get(part, part)}_training.onnx"
        return self._folder / f"{self._number}-{part}.onnx"

    def _unwritable(self, error: OSError) -> EngineError:
        return EngineError(
            f"saved_graphs={str(self._folder)!r}: {error.strerror or error}. "
            "Name a folder that can be written."
        )
