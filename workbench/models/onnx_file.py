"""Reading an ONNX file that nobody vouches for: whole, valid, and of a version that can be trained.

Nothing here runs a model or reads outside the file's folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import ModelError
from workbench.models.external_data import every_tensor, read_external_data

if TYPE_CHECKING:
    import onnx

MAX_IR_VERSION = 10
MAX_OPSET = 21
"""The newest that onnxruntime-training 1.19.2 loads."""

MAX_BYTES = 2**31 - 1
"""Protocol buffers hold no more than this."""

OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive, such as PyTorch's .pt",
    b"\x80": "a Python pickle",
    b"\x89HDF": "HDF5, such as Keras's .h5",
    b"version https://git-lfs": "a Git LFS pointer; fetch the file itself with `git lfs pull`",
    b"<": "a web page or other markup; the download may have failed",
    b"{": "JSON",
}
"""What the first bytes of a file that is not ONNX tell."""


def read_onnx(path: Path) -> onnx.ModelProto:
    """The checked model in `path`, external data read into it, shapes inferred where they can be.

    Raises:
        ModelError: the file is missing, not ONNX, truncated, too new, invalid, too large, or
            refers to external data that is missing or lies outside its folder.
    """
    import onnx

    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise ModelError(f"{path} {what}; check the path, relative to {Path.cwd()}.")
    if path.stat().st_size > MAX_BYTES:
        raise ModelError(f"{path} is larger than 2 GB, which no ONNX file can be.")
    model = _parse(path)
    _refuse_newer(path, model)
    read_external_data(model, path)
    _check_sizes(path, model)
    try:
        # First, since the checker refuses a graph output whose shape is left to be inferred.
        inferred: onnx.ModelProto = onnx.shape_inference.infer_shapes(model)
        onnx.checker.check_model(inferred, full_check=True)
    except Exception as error:  # the checker's own classes, and RuntimeError from its C++ code
        raise ModelError(f"{path} is not a valid ONNX model: {_first_lines(error)}") from error
    return inferred


def _check_sizes(path: Path, model: onnx.ModelProto) -> None:
    """Refuse a tensor that holds more or less than its shape says: the checker lets it pass."""
    from onnx import numpy_helper

    for tensor in every_tensor(model):
        try:
            numpy_helper.to_array(tensor)
        except Exception as error:  # whatever damaged fields bring about
            raise ModelError(
                f"{path} is not a valid ONNX model: the data of tensor {tensor.name!r} does not "
                f"fit its shape {list(tensor.dims)}: {_first_lines(error)}"
            ) from error


def _parse(path: Path) -> onnx.ModelProto:
    import onnx

    content = path.read_bytes()
    for magic, what in OTHER_FORMATS.items():
        if content.startswith(magic):
            raise ModelError(f"{path} is not ONNX: it looks like {what}.")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except Exception:  # protobuf's DecodeError, whose package carries no types
        # An ONNX file begins with field 1, its IR version, so that much tells it from any other.
        if content[:1] == b"\x08":
            raise ModelError(
                f"{path} is truncated or damaged: it begins as ONNX but cannot be read to its "
                f"end ({len(content):,} bytes). Copy or export it again."
            ) from None
        raise ModelError(f"{path} is not an ONNX file.") from None
    if not model.HasField("graph") or not model.ir_version:
        raise ModelError(f"{path} is not an ONNX file: it holds no graph.")
    return model


def _refuse_newer(path: Path, model: onnx.ModelProto) -> None:
    way_out = (
        f"ONNX Runtime's training reads up to IR version {MAX_IR_VERSION} and opset {MAX_OPSET}: "
        f"export it again with opset_version={MAX_OPSET} or lower and onnx 1.17, or convert it "
        "with onnx.version_converter."
    )
    if model.ir_version > MAX_IR_VERSION:
        raise ModelError(f"{path} has IR version {model.ir_version}, which is too new. {way_out}")
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and opset.version > MAX_OPSET:
            raise ModelError(f"{path} has opset {opset.version}, which is too new. {way_out}")


def _first_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])
