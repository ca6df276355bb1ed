"""Chooses the library of a graph's matrix products: PyTorch or ONNX Runtime.

Which library is faster depends on the processor, so a linear layer is timed by both, once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from workbench.errors import EngineError
from workbench.extensions.native_extension import DEVICE_KERNELS, native_extension
from workbench.ort.graph.inference import InferenceSession
from workbench.ort.ortmodule.aten.executor import why_not_loaded
from workbench.ort.ortmodule.deterministic import is_deterministic
from workbench.settings.kernel_variants import LARGE_CONVOLUTION, suits_own_kernels
from workbench.settings.ortmodule_options import ORTModuleOptions, PyTorchKernels
from workbench.tuning_results.product_times import (
    ProductTimes,
    keep_product_times,
    kept_product_times,
    product_times_path,
)
from workbench.tuning_results.storage import this_environment

if TYPE_CHECKING:
    import onnx

ROWS, INPUTS, OUTPUTS = 512, 256, 1024
"""Sizes of the layer: those of a small transformer."""

ROUNDS = 15


_SPINNING = (
    "PyTorch's idle threads take the cores from them: set OMP_WAIT_POLICY=PASSIVE before torch is "
    "imported"
)


class ProductChoice(NamedTuple):
    """The choice of PyTorch's kernels for a graph."""

    kernels: PyTorchKernels
    """Not "auto"."""
    reason: str = ""
    """The measurement, where that decided."""


def chosen_kernels(options: ORTModuleOptions, graph: onnx.GraphProto) -> ProductChoice:
    """The choice of PyTorch's kernels for `graph`, a forward pass, by the option `pytorch_kernels`.

    With "auto", the first graph with a matrix product on this machine takes half a second for a
    measurement that is saved.
    """
    if options.pytorch_kernels != "auto":
        return ProductChoice(options.pytorch_kernels)
    products = any(node.op_type in ("MatMul", "Gemm") for node in graph.node)
    times = _measured() if products and not why_not_loaded() else None
    if times is None or is_deterministic(options):
        return ProductChoice("all")
    built = options.device_kernels and not native_extension(DEVICE_KERNELS).problem
    own = built and suits_own_kernels(_convolutions(graph))
    if not times.prefers_onnxruntime(own_kernels=own):
        return ProductChoice("all", str(times))
    if own:
        return ProductChoice("dropout", str(times) if _threads_sleep() else f"{times}; {_SPINNING}")
    if not _threads_sleep():
        return ProductChoice("all", f"{times}; {_SPINNING}")
    return ProductChoice("no_linear", str(times))


def _convolutions(graph: onnx.GraphProto) -> list[tuple[int, ...]]:
    """Shape of the weights of each convolution."""
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in graph.input:
        axes = value.type.tensor_type.shape.dim
        shapes[value.name] = tuple(axis.dim_value for axis in axes)
    # Weights that are computed, as by a parametrization, are those of a large one.
    unknown = (LARGE_CONVOLUTION,)
    return [shapes.get(node.input[1], unknown) for node in graph.node if node.op_type == "Conv"]


def _threads_sleep() -> bool:
    """Whether PyTorch's idle threads leave the cores to ONNX Runtime's."""
    return os.environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE"


def _measured() -> ProductTimes | None:
    """The saved times, or times measured now and saved.

    None where nothing can be saved: if each process measured again, runs could differ.
    """
    if product_times_path() is None:
        return None
    found = kept_product_times()
    if found is None:
        found = measure_product_times()
        try:
            keep_product_times(found)
        except EngineError:
            return None
    return found


def measure_product_times() -> ProductTimes:
    """Time the three products of a linear layer by both libraries in turn, on one thread."""
    generator = np.random.default_rng(0)

    def matrix(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape, np.float32)

    arrays = {"x": matrix(ROWS, INPUTS), "w": matrix(OUTPUTS, INPUTS), "dy": matrix(ROWS, OUTPUTS)}
    session = InferenceSession(_layer().SerializeToString(), 1)
    x, w, dy = (torch.from_numpy(arrays[name]) for name in ("x", "w", "dy"))

    def by_pytorch() -> None:
        with torch.no_grad():
            _ = x @ w.T, dy @ w, dy.T @ x

    def by_onnxruntime() -> None:
        session.run(arrays)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rounds = [(_seconds(by_pytorch), _seconds(by_onnxruntime)) for _ in range(1 + ROUNDS)][1:]
    finally:
        torch.set_num_threads(threads)
    of_pytorch, of_onnxruntime = zip(*rounds, strict=True)
    return ProductTimes(
        place=this_environment(),
        pytorch_ms=1e3 * min(of_pytorch),
        onnxruntime_ms=1e3 * min(of_onnxruntime),
        ratio=min(of_onnxruntime) / min(of_pytorch),
    )


def _layer() -> onnx.ModelProto:
    """y = x wᵀ, and the gradients of x and w for dy."""
    from onnx import TensorProto, helper

    shapes: Mapping[str, tuple[int, int]] = {
        "x": (ROWS, INPUTS),
        "w": (OUTPUTS, INPUTS),
        "dy": (ROWS, OUTPUTS),
        "y": (ROWS, OUTPUTS),
        "dx": (ROWS, INPUTS),
        "dw": (OUTPUTS, INPUTS),
    }
    values = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["y"], transB=1),
        helper.make_node("Gemm", ["dy", "w"], ["dx"]),
        helper.make_node("Gemm", ["dy", "x"], ["dw"], transA=1),
    ]
    inputs, outputs = ("x", "w", "dy"), ("y", "dx", "dw")
    graph = helper.make_graph(
        nodes, "layer", [values[name] for name in inputs], [values[name] for name in outputs]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _seconds(call: Callable[[], None]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started
