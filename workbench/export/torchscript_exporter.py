"""Export by tracing to TorchScript: supports code that `torch.export` does not, but may freeze
sizes.

Tracing records the operations of one run. A size used in Python computations silently becomes
a constant of the graph, so the graph is run on inputs of other sizes and
compared with the module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import ModelError
from workbench.export.exported_module import Signature
from workbench.files.temporary_folder import temporary_folder
from workbench.onnx_io.graph_metadata import SCOPES, refuse_padding

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir
    import torch

NAME = "TorchScript"

TOLERANCE = 1e-3
"""Largest difference of an output, relative to its largest number, that rounding may explain."""

MORE_ROWS = (8, 32, 128)
"""Rows that the checks add to a batch: a branch on `len(x)` is not seen by tracing."""

MOST_ELEMENTS = 2**18
"""Elements of inputs up to which these batches are tried."""


def export_by_tracing(module: torch.nn.Module, signature: Signature, opset: int) -> ir.Model:
    """Trace `module`; names of parameters are kept and nothing is folded.

    Raises:
        Exception: any error of torch when it cannot export the module.
        ModelError: the graph differs from the module on inputs of other sizes.
    """
    import onnx
    import torch
    from onnx_ir import serde

    from workbench.export.traced.safe_attention import SafeAttention

    refuse_padding(module)
    with temporary_folder() as folder:
        path = folder / "traced.onnx"
        with _buffers_unwritten(module), _nothing_printed(), SafeAttention():
            torch.onnx.export(
                module,
                signature.inputs,
                path,
                dynamo=False,
                opset_version=opset,
                do_constant_folding=False,
                training=torch.onnx.TrainingMode.PRESERVE,
                input_names=list(signature.input_names),
                output_names=list(signature.output_names),
                dynamic_axes=dict(zip(signature.input_names, signature.axes, strict=True)),
            )
        proto = onnx.load(path)
    _restore_inputs(proto, signature)
    _name_nodes(proto, {name for name, _ in module.named_modules()})
    _check(proto, module, signature)
    return serde.deserialize_model(proto)


@contextmanager
def _nothing_printed() -> Iterator[None]:
    """Suppress output of native code: torch prints the whole graph when it fails."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def _buffers_unwritten(module: torch.nn.Module) -> Iterator[None]:
    """Restore the buffers, and raise a ModelError if any was written."""
    buffers = [(name, buffer, buffer.clone()) for name, buffer in module.named_buffers()]
    written = []
    try:
        yield
    finally:
        for name, now, was in buffers:
            if not now.equal(was):
                written.append(name)
                now.copy_(was)
    if written:
        names = ", ".join(map(repr, written))
        raise ModelError(f"tracing forgets what the module writes into its buffers {names}.")


def _restore_inputs(proto: onnx.ModelProto, signature: Signature) -> None:
    """Declare the inputs that the module does not read, which tracing leaves out of the graph."""
    from onnx import helper

    declared = {value.name: value for value in proto.graph.input}
    inputs = []
    for name, tensor, axes in zip(
        signature.input_names, signature.inputs, signature.axes, strict=True
    ):
        shape = [axes.get(axis, size) for axis, size in enumerate(tensor.shape)]
        kind = helper.np_dtype_to_tensor_dtype(tensor.detach().numpy().dtype)
        unread = helper.make_tensor_value_info(name, kind, shape)
        inputs.append(declared.pop(name, unread))
    inputs += declared.values()
    del proto.graph.input[:]
    proto.graph.input.extend(inputs)


def _name_nodes(proto: onnx.ModelProto, modules: Set[str]) -> None:
    """Record the modules around each node, in the format of torch.export.

    A node's name contains them, each as its path from the one before: /model/layers.0/norm/Add, but
    /model/model.0/Add in a Sequential called model.
    """
    for node in proto.graph.node:
        paths: list[str] = []
        for scope in node.name.split("/")[1:-1]:
            around = paths[-1] if paths else ""
            candidates = (f"{around}.{scope}", f"{around.rpartition('.')[0]}.{scope}", scope)
            known = [path for path in (c.strip(".") for c in candidates) if path in modules]
            paths += known[:1]
        if paths:
            entry = node.metadata_props.add()
            entry.key, entry.value = SCOPES, repr(["", *paths, node.op_type])


def _check(proto: onnx.ModelProto, module: torch.nn.Module, signature: Signature) -> None:
    """Compare the graph with the module on inputs of other sizes; names the outputs' axes."""
    modes = [(layer, layer.training) for layer in module.modules()]
    module.eval()
    try:
        small = _results(module, signature.inputs)
        inputs = _lengthened(signature)
        expected = _compare_on(inputs, proto, module, signature)
        for rows in MORE_ROWS:
            more = _with_more_rows(inputs, rows, signature)
            if sum(value.numel() for value in more) <= MOST_ELEMENTS:
                _compare_on(more, proto, module, signature)
    finally:
        for layer, mode in modes:
            layer.training = mode
    for value, wanted, other in zip(proto.graph.output, expected, small, strict=True):
        _name_axes(value, wanted.shape, other.shape)


def _results(module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> list[np.ndarray]:
    import torch

    with torch.no_grad():
        return [value.numpy() for value in module(*inputs)]


def _compare_on(
    inputs: Sequence[torch.Tensor],
    proto: onnx.ModelProto,
    module: torch.nn.Module,
    signature: Signature,
) -> list[np.ndarray]:
    """The module's results, which the graph has too."""
    from onnx.reference import ReferenceEvaluator

    feed = {n: v.numpy() for n, v in zip(signature.input_names, inputs, strict=True)}
    what = "the module"
    try:
        expected = _results(module, inputs)
        what = "the traced graph"
        outputs = ReferenceEvaluator(_without_dropout(proto)).run(None, feed)
    except Exception as error:
        shapes = ", ".join(str(tuple(value.shape)) for value in inputs)
        raise ModelError(f"{what} fails on inputs of shape {shapes}: {error}.") from error
    for value, got, wanted in zip(proto.graph.output, outputs, expected, strict=True):
        _compare(value.name, np.asarray(got), wanted)
    return expected


def _lengthened(signature: Signature) -> list[torch.Tensor]:
    """The examples with every dynamic axis longer by one: the first element is repeated."""
    import torch

    inputs = []
    for value, axes in zip(signature.inputs, signature.axes, strict=True):
        longer = value
        for axis in axes:
            longer = torch.cat([longer, longer.narrow(axis, 0, 1)], axis)
        inputs.append(longer)
    return inputs


def _with_more_rows(
    inputs: Sequence[torch.Tensor], rows: int, signature: Signature
) -> list[torch.Tensor]:
    """The inputs with their first row `rows` times more where the first axis is dynamic."""
    import torch

    return [
        torch.cat([value, value[:1].expand(rows, *value.shape[1:])]) if 0 in axes else value
        for value, axes in zip(inputs, signature.axes, strict=True)
    ]


def _without_dropout(proto: onnx.ModelProto) -> onnx.ModelProto:
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for node in copy.graph.node:
        if node.op_type == "Dropout":
            del node.input[1:]
            del node.output[1:]
    return copy


def _compare(name: str, got: np.ndarray, wanted: np.ndarray) -> None:
    if got.shape != wanted.shape:
        raise ModelError(
            f"tracing froze a size: output {name!r} has shape {list(got.shape)} where the module "
            f"gives {list(wanted.shape)}."
        )
    if wanted.size == 0:
        return
    difference = np.abs(got.astype(np.float64) - wanted).max()
    if not difference <= TOLERANCE * max(1.0, float(np.abs(wanted).max())):
        raise ModelError(
            f"tracing changed the module: output {name!r} differs from the module's by "
            f"{difference:.2g} on inputs of another size."
        )


def _name_axes(value: Any, shape: Sequence[int], smaller: Sequence[int]) -> None:
    """Write the shape of an output, "batch" where its first axis follows the inputs."""
    from workbench.modules.dynamic_axes import BATCH

    dims = value.type.tensor_type.shape
    del dims.dim[:]
    for axis, (size, other) in enumerate(zip(shape, smaller, strict=True)):
        dim = dims.dim.add()
        if size == other:
            dim.dim_value = size
        else:
            dim.dim_param = BATCH if axis == 0 else f"{value.name}_{axis}"
