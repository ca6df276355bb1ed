"""Times single nodes by the kernels of either.

Run as `python -m benchmarks.kernels.aten_kernel_nodes ROUNDS`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from workbench.machine.threads import default_threads
from workbench.ort.native import native
from workbench.ort.ortmodule.aten import Libraries, fuse_layers, use_pytorch_kernels
from workbench.ort.ortmodule.session.session_options import native_options
from workbench.settings.ortmodule_options import DEFAULTS, ORTModuleOptions

BURST_S = 0.05
MICROSOFT = "com.microsoft"
BATCH = "batch"
_TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
_random = np.random.default_rng(0)

Feeds = dict[str, Any]
Shape = tuple[int, ...]


class Case(NamedTuple):
    """Nodes that PyTorch's kernels can run, with what goes in."""

    operator: str
    detail: str
    nodes: list[onnx.NodeProto]
    feeds: Feeds
    results: dict[str, Shape]
    values: dict[str, Shape] = {}  # noqa: RUF012
    """Those between the nodes."""
    constants: tuple[onnx.TensorProto, ...] = ()


def draw(*shape: int) -> Any:
    return _random.standard_normal(shape, np.float32)


def convolutions() -> Iterator[Case]:
    for batch, channels, filters, size, kernel, stride, groups, first in (
        (32, 3, 32, 32, 3, 1, 1, True),
        (32, 32, 64, 16, 3, 1, 1, False),
        (32, 64, 128, 16, 3, 2, 1, False),
        (32, 128, 128, 8, 3, 1, 1, False),
        (16, 64, 64, 56, 3, 1, 1, False),
        (16, 64, 64, 32, 3, 1, 64, False),
        (32, 16, 32, 8, 3, 1, 1, False),
        (8, 3, 192, 224, 16, 16, 1, True),
    ):
        pad = 0 if kernel == stride else kernel // 2
        out = (size + 2 * pad - kernel) // stride + 1
        x, w = draw(batch, channels, size, size), draw(filters, channels // groups, kernel, kernel)
        dy, bias = draw(batch, filters, out, out), draw(filters)
        given = {
            "kernel_shape": [kernel] * 2,
            "strides": [stride] * 2,
            "pads": [pad] * 4,
            "group": groups,
        }
        what = f"{channels} to {filters} channels, {size} x {size}, {kernel} x {kernel}"
        what += f", stride {stride}" * (stride > 1) + f", {groups} groups" * (groups > 1)
        detail = f"{what}, batch {batch}"
        node = helper.make_node("Conv", ["x", "w", "b"], ["y"], "node", **given)
        yield Case("Conv", detail, [node], {"x": x, "w": w, "b": bias}, {"y": dy.shape})
        names = ["" if first else "dx", "dw", "db"]
        inputs = ["dy", "x", "w"]
        node = helper.make_node("ConvGrad", inputs, names, "node", domain=MICROSOFT, **given)
        results = {"dx": x.shape, "dw": w.shape, "db": bias.shape}
        wanted = {name: shape for name, shape in results.items() if name in names}
        detail += ", first layer" * first
        yield Case("ConvGrad", detail, [node], {"dy": dy, "x": x, "w": w}, wanted)


def poolings() -> Iterator[Case]:
    for shape, kernel in (((32, 32, 32, 32), 2), ((32, 64, 16, 16), 2), ((16, 64, 56, 56), 3)):
        pad = kernel // 2 if kernel == 3 else 0
        out = (shape[2] + 2 * pad - kernel) // 2 + 1
        pooled = (*shape[:2], out, out)
        given = {"kernel_shape": [kernel] * 2, "strides": [2, 2], "pads": [pad] * 4}
        nodes = [
            helper.make_node("MaxPool", ["x"], ["y", "i"], "pool", **given),
            helper.make_node("MaxPoolGrad", ["dy", "i"], ["dx"], "node", **given),
        ]
        feeds = {"x": draw(*shape), "dy": draw(*pooled)}
        detail = f"with its MaxPool, {'x'.join(map(str, shape))}, windows {kernel} x {kernel}"
        yield Case("MaxPoolGrad", detail, nodes, feeds, {"y": pooled, "dx": shape})


def elementwise() -> Iterator[Case]:
    for shape in ((8, 128, 1024), (4, 64, 256)):
        x, dy = draw(*shape), draw(*shape)
        detail = "x".join(map(str, shape))
        for operator, feeds in (
            ("ReluGrad", {"dy": dy, "y": np.maximum(x, 0)}),
            ("GeluGrad", {"dy": dy, "x": x}),
            ("FastGeluGrad", {"dy": dy, "x": x}),
            ("Gelu", {"x": x}),
            ("Add", {"x": x, "y": dy}),
            ("Sum", {"x": x, "y": dy}),
        ):
            domain = "" if operator in ("Add", "Sum") else MICROSOFT
            node = helper.make_node(operator, list(feeds), ["out"], "node", domain=domain)
            yield Case(operator, detail, [node], feeds, {"out": shape})


def rows() -> Iterator[Case]:
    for shape in ((8, 4, 128, 128), (8, 128, 2000)):
        y = np.exp(draw(*shape))
        y /= y.sum(-1, keepdims=True)
        node = helper.make_node(
            "SoftmaxGrad_13", ["dy", "y"], ["dx"], "node", domain=MICROSOFT, axis=-1
        )
        feeds = {"dy": draw(*shape), "y": y}
        yield Case("SoftmaxGrad_13", "x".join(map(str, shape)), [node], feeds, {"dx": shape})
    for shape in ((2048, 97), (512, 32000)):
        x = draw(*shape)
        y = x - np.log(np.exp(x).sum(-1, keepdims=True))
        operator = "LogSoftmaxGrad_13"
        node = helper.make_node(operator, ["dy", "y"], ["dx"], "node", domain=MICROSOFT, axis=-1)
        feeds = {"dy": draw(*shape), "y": y}
        yield Case(operator, "x".join(map(str, shape)), [node], feeds, {"dx": shape})
    for shape in ((8, 128, 256), (8, 128, 768)):
        x, features = draw(*shape), shape[-1:]
        mean = x.mean(-1, keepdims=True)
        given = {"x": x, "w": draw(*features), "b": draw(*features)}
        outputs = ["y", "m", "v"]
        node = helper.make_node("LayerNormalization", list(given), outputs, "node", axis=-1)
        detail = "x".join(map(str, shape))
        yield Case("LayerNormalization", detail, [node], given, {"y": shape})
        deviation = (1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)).astype(np.float32)
        feeds = {"dy": draw(*shape), "x": x, "w": draw(*features), "m": mean, "v": deviation}
        names = ["dx", "dw", "db"]
        operator = "LayerNormalizationGrad"
        node = helper.make_node(operator, list(feeds), names, "node", domain=MICROSOFT, axis=-1)
        results = {"dx": shape, "dw": features, "db": features}
        yield Case(operator, "x".join(map(str, shape)), [node], feeds, results)
    for words, width, indices in (
        (2000, 256, (8, 128)),
        (30522, 256, (8, 128)),
        (65, 64, (16, 32)),
    ):
        feeds = {
            "s": np.array([words, width]),
            "i": _random.integers(0, words, indices),
            "dy": draw(*indices, width),
        }
        node = helper.make_node("GatherGrad", list(feeds), ["dw"], "node", domain=MICROSOFT, axis=0)
        detail = f"{words} rows of {width}, {'x'.join(map(str, indices))} indices"
        yield Case("GatherGrad", detail, [node], feeds, {"dw": (words, width)})


def dropouts() -> Iterator[Case]:
    constants = (
        numpy_helper.from_array(np.array(0.1, np.float32), "p"),
        numpy_helper.from_array(np.array(True), "t"),
    )
    for shape in ((8, 128, 256), (8, 4, 128, 128)):
        nodes = [
            helper.make_node("Dropout", ["x", "p", "t"], ["y", "m"], "node"),
            helper.make_node(
                "DropoutGrad", ["dy", "m", "p", "t"], ["dx"], "back", domain=MICROSOFT
            ),
        ]
        feeds = {"x": draw(*shape), "dy": draw(*shape)}
        detail = f"with its DropoutGrad, {'x'.join(map(str, shape))}"
        yield Case("Dropout", detail, nodes, feeds, {"y": shape, "dx": shape}, {}, constants)


def layers() -> Iterator[Case]:
    for rows, width, out in (((8, 128), 256, 1024), ((8, 128), 1024, 256), ((32,), 512, 512)):
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["p"], "product"),
            helper.make_node("Add", ["p", "b"], ["y"], "node"),
        ]
        feeds = {"x": draw(*rows, width), "w": draw(width, out), "b": draw(out)}
        detail = f"{'x'.join(map(str, rows))} rows, {width} to {out}"
        shape = (*rows, out)
        yield Case("Linear", detail, nodes, feeds, {"y": shape}, {"p": shape})
    scale = numpy_helper.from_array(np.array(0.125, np.float32), "scale")
    for shape in ((8, 4, 128, 64), (2, 8, 512, 64)):
        nodes = [
            helper.make_node("Transpose", ["k"], ["t"], "turned", perm=[0, 1, 3, 2]),
            helper.make_node("MatMul", ["q", "t"], ["p"], "product"),
            helper.make_node("Mul", ["p", "scale"], ["s"], "scaled"),
            helper.make_node("Softmax", ["s"], ["a"], "weights", axis=-1),
            helper.make_node("MatMul", ["a", "v"], ["y"], "node"),
        ]
        feeds = {name: draw(*shape) for name in "qkv"}
        detail = "x".join(map(str, shape))
        yield Case("Attention", detail, nodes, feeds, {"y": shape}, {}, (scale,))


CASES: tuple[Callable[[], Iterator[Case]], ...] = (
    convolutions,
    poolings,
    elementwise,
    rows,
    dropouts,
    layers,
)


def model_of(case: Case) -> onnx.ModelProto:
    """The nodes of `case` alone; the batch, the first size, may change as in training."""

    def info(name: str, kind: int, shape: Shape) -> onnx.ValueInfoProto:
        fixed = name in ("w", "b", "dw", "db") or len(shape) == 1
        return helper.make_tensor_value_info(name, kind, shape if fixed else (BATCH, *shape[1:]))

    graph = helper.make_graph(
        case.nodes,
        case.operator,
        [info(name, _TYPES[str(v.dtype)], v.shape) for name, v in case.feeds.items()],
        [info(name, TensorProto.FLOAT, shape) for name, shape in case.results.items()],
        initializer=case.constants,
        value_info=[info(name, TensorProto.FLOAT, shape) for name, shape in case.values.items()],
    )
    domains = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=8)


def runner(
    model: onnx.ModelProto, case: Case, threads: int, library: Path | None = None
) -> Callable[[], list[Any]]:
    """Runs `model`, whose custom operators are in `library`."""
    c = native()
    options = native_options(DEFAULTS, threads)
    if library is not None:
        options.register_custom_ops_library(str(library))
    session = c.InferenceSession(options, model.SerializeToString(), False, False)
    session.initialize_session(["CPUExecutionProvider"], [{}], set())
    device = c.OrtDevice(c.OrtDevice.cpu(), c.OrtDevice.default_memory(), 0)
    values = {n: c.OrtValue.ortvalue_from_numpy(v, device) for n, v in case.feeds.items()}
    names = list(case.results)
    return lambda: [value.numpy() for value in session.run_with_ort_values(values, names, None)]


def in_turn(case: Case, rounds: int, threads: int) -> dict[str, Any]:
    """Seconds a run in each round, by whose kernel ran, and the largest relative difference."""
    ours = model_of(case)
    libraries = Libraries(ORTModuleOptions(pytorch_kernels="all"))
    fused = fuse_layers(ours, (), libraries)
    kernels = use_pytorch_kernels(ours, libraries).with_layers(fused.layers)
    if kernels.why_not:
        raise SystemExit(kernels.why_not)
    assert kernels.replaced, f"{case.operator} {case.detail} is not replaced"
    runs = {"native": runner(model_of(case), case, threads), "pytorch": runner(ours, case, threads)}
    measured = in_rounds(runs, rounds)
    return {**measured, "difference": None} if case.operator == "Dropout" else measured


def in_rounds(runs: Mapping[str, Callable[[], list[Any]]], rounds: int) -> dict[str, Any]:
    """Seconds a run of each of two in each round, and the largest relative difference."""
    first, second = runs.values()
    pairs = zip(first(), second(), strict=True)
    difference = max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)
    times = {name: max(1, round(BURST_S / seconds(run, 2))) for name, run in runs.items()}
    measured: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name in list(runs)[:: 1 if number % 2 else -1]:
            measured[name].append(seconds(runs[name], times[name]))
    return {**measured, "difference": difference}


def seconds(run: Callable[[], object], times: int) -> float:
    started = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - started) / times


def main() -> None:
    rounds, threads = int(sys.argv[1]), default_threads()
    torch.set_num_threads(threads)
    measured = [
        [case.operator, case.detail, in_turn(case, rounds, threads)]
        for cases in CASES
        for case in cases()
    ]
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
