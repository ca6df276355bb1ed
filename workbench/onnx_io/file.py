"""Reads and validates an untrusted ONNX file, and converts it for training.

No model is executed, and nothing outside the file's folder is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import ModelError
from workbench.files.input_file import check_file, read_file
from workbench.onnx_io.constants import lift_constants
from workbench.onnx_io.external_data import LARGE_BYTES, every_tensor, read_external_data
from workbench.onnx_io.graph import graph_inputs
from workbench.onnx_io.half_precision import REWRITE, make_float32
from workbench.onnx_io.large_file import MAX_BYTES, without_initializers
from workbench.onnx_io.nodes import check_operators, every_node, sort_nodes
from workbench.onnx_io.opset import converted, opset_of, refuse_unknown_opset
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.onnx_io.tensor_data import is_outside, tensor_bytes

if TYPE_CHECKING:
    import onnx

MAX_IR_VERSION = 10
"""The newest IR version that onnxruntime-training 1.19.2 supports."""

MIN_IR_VERSION = 8
"""Older IR versions lack features that the target opsets may use."""

EXPORT_ONE = "choose a file that `torch.onnx.export`, or another exporter of ONNX, has written"

OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive, such as PyTorch's .pt",
    b"\x80": "a Python pickle",
    b"\x89HDF": "HDF5, such as Keras's .h5",
    b"version https://git-lfs": "a Git LFS pointer; fetch the file itself with `git lfs pull`",
    b"<": "a web page or other markup; the download may have failed",
    b"{": "JSON",
}
"""Magic numbers of other file formats."""


class OnnxFile(NamedTuple):
    """An ONNX model, validated and converted for training."""

    model: onnx.ModelProto
    """In a supported opset and IR version, without functions, with weights as initializers. Large
    ones may be external data with an absolute path."""
    notices: tuple[str, ...]
    """Messages about changes of the model."""


def read_onnx(path: Path) -> OnnxFile:
    """Read the model in `path`, validated and with inferred shapes.

    Raises:
        ModelError: the file is missing, not ONNX, truncated, too old or too new, invalid, or
            refers to external data that is missing or outside its folder.
    """
    model = parse_onnx(path)
    name = str(path)
    refuse_unknown_opset(model, name)
    read_external_data(model, path)
    _check_sizes(path, model)
    check_operators(model, opset_of(model), name)
    model = _plain(model)
    notices, outputs = make_float32(model)
    sort_nodes(model.graph, name)
    model = _checked(model, path)
    if notices:
        check_rewrite(model, REWRITE, outputs)
    lift_constants(model)
    model, ordered = _in_order(model)
    return OnnxFile(model, (*notices, *ordered))


def _plain(model: onnx.ModelProto) -> onnx.ModelProto:
    """Inline functions, remove initializers from the inputs, and set a supported IR version.

    Before IR version 4 initializers are inputs as well. IR versions above 10 add only device
    annotations to graphs of these opsets, which are dropped.
    """
    import onnx_ir.passes.common as passes
    from onnx_ir import serde

    if model.functions:
        inlined = serde.deserialize_model(model)
        passes.InlinePass()(inlined)
        model = serde.serialize_model(inlined)
    fed = graph_inputs(model)
    if len(fed) < len(model.graph.input):
        copies = [type(value).FromString(value.SerializeToString()) for value in fed]
        del model.graph.input[:]
        model.graph.input.extend(copies)
    for named in (*model.opset_import, *model.graph.node):
        if named.domain == "ai.onnx":
            named.domain = ""
    model.ir_version = min(max(model.ir_version, MIN_IR_VERSION), MAX_IR_VERSION)
    return model


def _in_order(model: onnx.ModelProto) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    """Replace each ScatterND that may lose updates; returns the model and messages."""
    if not any(node.op_type == "ScatterND" for node in every_node(model.graph.node)):
        return model, ()
    from onnx_ir import serde

    from workbench.onnx_io.ordered_scatter import order_scatters

    graph = serde.deserialize_model(model)
    count = order_scatters(graph)
    if not count:
        return model, ()
    notice = (
        f"{count} ScatterND with a reduction replaced by ScatterElements: ONNX Runtime's ScatterND "
        "loses updates with several threads."
    )
    made = serde.serialize_model(graph)
    check_rewrite(made, "updates in order", output_specs(model))
    return made, (notice,)


def _checked(model: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    """Check and convert `model` and infer shapes, with its large weights removed temporarily.

    The checker and the converter copy their argument, and support at most 2 GB.
    """
    import onnx

    small = without_initializers(model)
    order = [tensor.name for tensor in model.graph.initializer]
    large = {}
    for tensor in model.graph.initializer:
        if tensor_bytes(tensor) < LARGE_BYTES:
            small.graph.initializer.append(tensor)
        else:
            large[tensor.name] = tensor
            small.graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    try:
        # Before the check, which requires the shapes of the graph outputs.
        inferred = onnx.shape_inference.infer_shapes(small)
        onnx.checker.check_model(inferred, full_check=True)
    except Exception as error:  # the checker's own classes, and RuntimeError from its C++ code
        raise ModelError(f"{path} is not a valid ONNX model: {_first_lines(error)}") from error
    made = converted(inferred, str(path))
    checked = without_initializers(made)
    held = {tensor.name: tensor for tensor in made.graph.initializer}
    added = [name for name in held if name not in order]
    for name in (*order, *added):
        if name in large or name in held:
            checked.graph.initializer.append(large.get(name) or held[name])
    fed = [value for value in checked.graph.input if value.name not in large]
    copies = [type(value).FromString(value.SerializeToString()) for value in fed]
    del checked.graph.input[:]
    checked.graph.input.extend(copies)
    return checked


def _check_sizes(path: Path, model: onnx.ModelProto) -> None:
    """Raise a ModelError if a tensor's data does not match its shape, which onnx does not check."""
    from onnx import numpy_helper

    for tensor in every_tensor(model):
        if is_outside(tensor):
            continue
        try:
            numpy_helper.to_array(tensor)
        except Exception as error:  # onnx and numpy raise many types
            raise ModelError(
                f"{path} is not a valid ONNX model: the data of tensor {tensor.name!r} does not "
                f"fit its shape {list(tensor.dims)}: {_first_lines(error)}"
            ) from error


def parse_onnx(path: Path) -> onnx.ModelProto:
    """Parse the model in `path` and check nothing further; external data is not read.

    Raises:
        ModelError: the file is missing, not ONNX, or truncated.
    """
    import onnx

    check_file(path, ModelError)
    if path.stat().st_size > MAX_BYTES:
        raise ModelError(
            f"{path} is larger than 2 GB, the limit of ONNX files: save it with external data."
        )
    content = read_file(path, ModelError)
    for magic, what in OTHER_FORMATS.items():
        if content.startswith(magic):
            raise ModelError(f"{path} is not ONNX: it seems to be {what}.")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except Exception:  # protobuf's DecodeError, whose package carries no types
        # An ONNX file begins with field 1, the IR version.
        if content[:1] == b"\x08":
            raise ModelError(
                f"{path} is truncated or corrupt: it begins like ONNX but cannot be parsed "
                f"({len(content):,} bytes). Copy or export it again."
            ) from None
        raise ModelError(f"{path} is not an ONNX file: {EXPORT_ONE}.") from None
    for text in _texts(model):
        if isinstance(text, bytes):  # protobuf returns bytes if the text is not UTF-8
            raise ModelError(
                f"{path} is corrupt: the name {text[:40]!r} is not valid UTF-8. Copy or export it "
                "again."
            )
    if not model.HasField("graph") or not model.ir_version:
        raise ModelError(f"{path} is not an ONNX file, as it contains no graph: {EXPORT_ONE}.")
    return model


def _texts(message: Any) -> Iterator[str | bytes]:
    """All text fields of a message, nested messages included."""
    import onnx

    if isinstance(message, onnx.TensorProto):
        # Not all fields of a tensor, as accessing its data would copy it.
        yield from (message.name, message.doc_string)
        yield from (text for entry in message.external_data for text in (entry.key, entry.value))
        return
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            yield from [value] if isinstance(value, str | bytes) else value
        elif field.type == field.TYPE_MESSAGE:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from _texts(part)


def _first_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])
