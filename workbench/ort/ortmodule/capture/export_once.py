"""One export for several copies of a module, whose graphs differ only in build options."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from workbench.ort.ortmodule.capture.export import ForwardGraph

if TYPE_CHECKING:
    import onnx

_exports: ContextVar[dict[Hashable, ForwardGraph] | None] = ContextVar("exports", default=None)
"""Exports by key; None: every module is exported."""


@contextmanager
def shared_exports() -> Iterator[None]:
    """Context in which calls with the same kinds of arguments are exported once.

    All modules that are exported within it must be copies of one.
    """
    token = _exports.set({})
    try:
        yield
    finally:
        _exports.reset(token)


def exported_once(key: Hashable, export: Callable[[], ForwardGraph]) -> ForwardGraph:
    """Result of `export`, or an earlier result for this key within `shared_exports`.

    A graph that calls custom autograd functions holds those of its module, so it is not shared.
    """
    exports = _exports.get()
    if exports is None:
        return export()
    found = exports.get(key)
    if found is None:
        found = export()
        if found.calls:
            return found
        exports[key] = found
    return found._replace(model=_copy(found))


def _copy(graph: ForwardGraph) -> onnx.ModelProto:
    import onnx

    made = onnx.ModelProto()
    made.CopyFrom(graph.model)
    return made
