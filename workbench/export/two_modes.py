"""Exports a module in training and in evaluation mode, where that is proven by one export.

torch.export captures the module in both modes. If the two programs are the same, except that
dropout is active in training, the graph for training without its Dropouts is the graph for
evaluation, and the rest of the second export, most of its time, is left out. The programs
differ where a module computes something else in evaluation mode or draws in another way; then it
is exported in both modes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from workbench.export import torch_exporter
from workbench.export.captured_program import NoDescriptionError, program_digest
from workbench.export.export import ONE_AT_A_TIME
from workbench.export.exported_graph import EXPORTER
from workbench.export.inactive_dropout import without_dropout
from workbench.export.translation_table import KNOWN_VERSION

if TYPE_CHECKING:
    import onnx
    import torch

    Program = torch.export.ExportedProgram
    Export = Callable[[], onnx.ModelProto]


T = TypeVar("T")


class TrainingExport(NamedTuple):
    """A graph in training mode."""

    graph: onnx.ModelProto
    program: str | None
    """Digest of its one captured program; None: it is not known."""


class _SameProgram(BaseException):
    """Ends an export whose program is that of another; exporters handle every Exception."""


def export_for_training(export: Export) -> TrainingExport:
    """Call `export`, which exports a module in training mode, and note its program."""
    return TrainingExport(*with_program(export, lambda graph: graph))


def with_program(
    export: Callable[[], T], graph_of: Callable[[T], onnx.ModelProto]
) -> tuple[T, str | None]:
    """The result of `export`, which exports a module in training mode, and its program's digest.

    Args:
        export: exports the module.
        graph_of: the graph in its result.
    """
    found: list[str | None] = []

    def note(program: Program) -> None:
        try:
            found.append(program_digest(program, dropout=True))
        except NoDescriptionError:
            found.append(None)

    with _captures_noted(note):
        made = export()
    exporter = [each.value for each in graph_of(made).metadata_props if each.key == EXPORTER]
    # A module that writes buffers, or calls functions of its own, is captured more than once.
    known = exporter == [torch_exporter.NAME] and len(found) == 1
    return made, found[0] if known else None


def export_for_inference(
    training: TrainingExport, export: Export, exporting: Callable[[], None]
) -> onnx.ModelProto:
    """The graph of the same module in evaluation mode.

    Args:
        training: the module in training mode; not changed.
        export: exports it in evaluation mode.
        exporting: called if it is exported indeed.

    Returns:
        A graph that shares nothing with that of `training`.
    """
    made = None if training.program is None else without_dropout(training.graph)
    if made is None:
        exporting()
        return export()

    def compare(program: Program) -> None:
        try:
            same = program_digest(program, dropout=False) == training.program
        except NoDescriptionError:
            same = False
        if same:
            raise _SameProgram
        exporting()

    try:
        with _captures_noted(compare):
            return export()
    except _SameProgram:
        return made


@contextmanager
def _captures_noted(note: Callable[[Program], None]) -> Iterator[None]:
    """Within the block, call `note` with each program that the exporter of torch 2.13 captures."""
    import torch

    if not torch.__version__.startswith(KNOWN_VERSION):
        yield
        return
    from torch.onnx._internal.exporter._capture_strategies import TorchExportNonStrictStrategy

    def noted(self: Any, model: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Program:
        program: Program = capture(self, model, args, kwargs, dynamic_shapes)
        note(program)
        return program

    with ONE_AT_A_TIME:  # before reading what is replaced: another thread may have replaced it
        capture = TorchExportNonStrictStrategy._capture
        TorchExportNonStrictStrategy._capture = noted  # type: ignore[method-assign]
        try:
            yield
        finally:
            TorchExportNonStrictStrategy._capture = capture  # type: ignore[method-assign]
