"""Exports calls of custom autograd functions.

A class derived from `torch.autograd.Function` computes its gradient in Python. An exporter traces
the operations of its `forward` and ignores its `backward`, so that a straight-through estimator
would become a step whose gradient is zero. While a module is exported for training, the `forward`
of every such class is therefore replaced by one that writes into the graph either

- one node for the whole call, of `DOMAIN` and `OP`, whose attribute is the call's number; the
  runtime calls the function itself (ORTModule), or
- the operations of `forward`, with its arguments and results marked, and those of `backward` if it
  is plain tensor code, see `traced_backward`; elsewhere the call is refused where a gradient would
  have to pass it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor
from torch.autograd import Function
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

from workbench.errors import ModelError, UntrainableError
from workbench.export.autograd.computed_call import computed_call
from workbench.export.autograd.function_call import (
    FunctionCall,
    flatten,
    function_applied,
    function_name,
)
from workbench.export.autograd.function_context import ShapeContext
from workbench.export.autograd.traced_backward import FUNCTION_OP, ignore_unbacked_symbols
from workbench.onnx_io.graph_metadata import DETACHED, FUNCTION, FUNCTION_CALL

if TYPE_CHECKING:
    import onnx_ir as ir

DOMAIN = "workbench"
OP = "Function"
NUMBER = "number"
"""Attribute of a node `OP`: the place of the call in `AutogradFunctions.calls`."""

NAME = "function"
"""Attribute of a node `OP`: the name of the class."""

_OURS = frozenset({"functorch", "onnxruntime", "torch", "workbench"})
"""Packages whose functions belong to the runtime of the graphs, not to a model."""

T = TypeVar("T")


class AutogradFunctions:
    """The calls of custom autograd functions in the exports of a module.

    Args:
        opaque: let a call be one node; otherwise it is marked and computed in the graph.
    """

    def __init__(self, *, opaque: bool) -> None:
        self.opaque = opaque
        self.calls: list[FunctionCall] = []
        """By number. A module is traced several times, so not all are in the final graph."""
        self._failure: tuple[type[Function], Exception] | None = None
        self._within = False
        self._marked_calls = 0
        self._pending: list[tuple[int, list[Tensor]]] = []
        """Numbers of calls in the trace in progress that have arguments with a gradient, and their
        results, which have none where gradients are turned off around the call."""
        self._detached: set[str] = set()

    def exported(self, export: Callable[[], T]) -> T:
        """Result of `export`, run while the functions' forward passes are the traced ones.

        Raises:
            UntrainableError: a function cannot be traced; the message names it, with a remedy.
            Exception: any error of `export`.
        """
        made = self._exported(export)
        for number, results in self._pending:
            if not any(result.requires_grad for result in results):
                self._detached.add(str(number))
                if self.opaque:
                    self.calls[number] = self.calls[number]._replace(detached=True)
        self._pending.clear()
        return made

    def remove_detached_marks(self, model: ir.Model) -> None:
        """Remove the marks of calls that no gradient passes from `model`, as exported."""
        for node in model.graph:
            if node.metadata_props.get(FUNCTION_CALL) in self._detached:
                del node.metadata_props[FUNCTION_CALL]
                given = node.metadata_props.pop(FUNCTION, None) is not None
                if given or node.op_type == FUNCTION_OP:
                    node.metadata_props[DETACHED] = "1"

    def _exported(self, export: Callable[[], T]) -> T:
        known = _custom_functions()
        try:
            with self._replaced(known):
                made = export()
        except Exception as error:
            if self._failure is not None:
                function, cause = self._failure
                raise UntrainableError(_failed(function, cause)) from error
            if not _custom_functions() - known:
                raise
        else:
            if not _custom_functions() - known:
                return made
        # A forward pass may import a function.
        with self._replaced(_custom_functions()):
            return export()

    @contextmanager
    def _replaced(self, functions: Set[type[Function]]) -> Iterator[None]:
        thread = threading.get_ident()
        # One may inherit the forward of another, so all are looked up before any is replaced.
        originals = [(function, function.forward) for function in functions]
        own = [(function, function.__dict__.get("forward")) for function in functions]
        for function, original in originals:
            traced = self._traced(function, original, thread)
            function.forward = staticmethod(traced)  # type: ignore[method-assign]
        try:
            yield
        finally:
            for function, kept in own:
                if kept is None:
                    del function.forward
                else:
                    function.forward = kept  # type: ignore[method-assign]

    def _traced(
        self, found: type[Function], original: Callable[..., Any], thread: int
    ) -> Callable[..., Any]:
        # `apply` reads the signature for the defaults of the arguments.
        @functools.wraps(original)
        def forward(*args: Any) -> Any:
            if threading.get_ident() != thread or self._within:
                return original(*args)
            # A class that the forward pass defines may have inherited this.
            function = function_applied() or found
            if torch._C._get_tracing_state() is not None or torch.compiler.is_dynamo_compiling():
                raise ModelError(
                    f"the custom autograd function {function_name(function)} is followed by "
                    "torch.export's own tracing alone."
                )
            separate = function.setup_context is not Function.setup_context
            # The functions that this one calls are part of it.
            self._within = True
            try:
                with torch._C.DisableTorchFunction():
                    if self.opaque:
                        inputs = args if separate else args[1:]
                        return self._call(function, original, inputs, separate)
                    self._marked_calls += 1
                    results = computed_call(function, original, args, separate, self._marked_calls)
                    self._await(self._marked_calls, args, results)
                    return results
            except Exception as error:
                self._failure = self._failure or (function, error)
                raise
            finally:
                self._within = False

        return forward

    def _call(
        self,
        function: type[Function],
        original: Callable[..., Any],
        args: tuple[Any, ...],
        separate: bool,
    ) -> Any:
        """The results of a call as those of one node, of the shapes that `forward` returns."""
        tensors: list[Tensor] = []
        sizes: list[Any] = []
        arguments = flatten(args, tensors, sizes)
        with disable_proxy_modes_tracing(), ignore_unbacked_symbols(tensors):
            context = () if separate else (ShapeContext(args),)
            results = original(*context, *args)
        found: list[Tensor] = []
        outputs = flatten(results, found, [])
        if not found:
            raise UntrainableError("it returns no tensor.")
        number = len(self.calls)
        call = FunctionCall(function, arguments, len(tensors), outputs)
        self.calls.append(call)
        made = torch.onnx.ops.symbolic_multi_out(
            f"{DOMAIN}::{OP}",
            [*tensors, *(torch.full((), size, dtype=torch.int64) for size in sizes)],
            {NUMBER: number, NAME: function_name(function)},
            dtypes=[result.dtype for result in found],
            shapes=[result.shape for result in found],
            version=1,
        )
        self._await(number, args, made)
        return call.results_around(made)

    def _await(self, number: int, args: Any, results: Any) -> None:
        """Check later whether the results of a call have a gradient, which `apply` adds."""
        if any(isinstance(value, Tensor) and value.requires_grad for value in args):
            tensors: list[Tensor] = []
            flatten(results, tensors, [])
            self._pending.append((number, tensors))


def _custom_functions() -> set[type[Function]]:
    """Every autograd function that is neither torch's nor the workbench's."""
    found: set[type[Function]] = set()
    waiting = list(Function.__subclasses__())
    while waiting:
        function = waiting.pop()
        waiting += function.__subclasses__()
        if function.__module__.partition(".")[0] not in _OURS:
            found.add(function)
    return found


def _failed(function: type[Function], cause: Exception) -> str:
    said = next((line.strip() for line in str(cause).splitlines() if line.strip()), "")
    if isinstance(cause, UntrainableError):
        return f"The autograd function {function_name(function)} cannot be traced: {said}"
    return (
        f"The autograd function {function_name(function)} cannot be traced: its forward fails on "
        f"meta tensors, with which the shapes of its results are determined: "
        f"{type(cause).__name__}: {said} Its forward must neither branch on values of tensors "
        "nor leave PyTorch; otherwise train the plain module."
    )
