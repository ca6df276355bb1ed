"""Times the workbench's kernels: `python -m benchmarks.kernels.device_kernel_nodes ROUNDS`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.kernels.aten_kernel_nodes import (
    MICROSOFT,
    Case,
    draw,
    elementwise,
    in_rounds,
    model_of,
    rows,
    runner,
    seconds,
)
from benchmarks.kernels.device_kernel_gates import gates, rms_normalizations, unbiased
from workbench.extension_build.build_extensions import build_extensions
from workbench.extensions.native_extension import DEVICE_KERNELS
from workbench.machine.threads import default_threads
from workbench.ort.graph.kernels.device_kernels import write_device_kernels
from workbench.ort.graph.rewrites.standard_gradients import write_standard_gradients

ATTENTION = "Attention, both ways"
CONVOLUTION = "Convolution, both ways"
AXES = numpy_helper.from_array(np.array([0, 1]), "axes")


def biased() -> Iterator[Case]:
    """Sums over rows, and what follows and precedes the bias of a layer with GELU."""
    for shape in ((16, 128, 512), (16, 128, 128)):
        detail, features = "x".join(map(str, shape)), shape[-1:]
        sums = helper.make_node("ReduceSum", ["x", "axes"], ["db"], "node", keepdims=0)
        feeds = {"x": draw(*shape)}
        yield Case("ReduceSum", detail, [sums], feeds, {"db": features}, {}, (AXES,))
        for form in ("Gelu", "FastGelu"):
            nodes = [
                helper.make_node("Add", ["x", "b"], ["s"], "sum"),
                helper.make_node(form, ["s"], ["y"], "node", domain=MICROSOFT),
                helper.make_node(f"{form}Grad", ["dy", "s"], ["dx"], "back", domain=MICROSOFT),
                helper.make_node("ReduceSum", ["dx", "axes"], ["db"], "bias", keepdims=0),
            ]
            given = {"x": draw(*shape), "b": draw(*features), "dy": draw(*shape)}
            results = {"y": shape, "dx": shape, "db": features}
            name = f"Bias and {form}, both ways"
            yield Case(name, detail, nodes, given, results, {}, (AXES,))


def attentions() -> Iterator[Case]:
    """Both passes, with the transposes of heads, of which the first has no mask."""
    turned = {"perm": [0, 2, 1, 3]}
    for batch, heads, places, channels, share in (
        (16, 4, 128, 32, 0.0),
        (8, 4, 64, 36, 0.0),
        (2, 12, 512, 64, 0.0),
        (16, 4, 128, 32, 0.1),
        (2, 12, 512, 64, 0.1),
    ):
        shape = (batch, places, heads, channels)
        causal = np.triu(np.full((places, places), -np.inf, np.float32), 1)
        mask = np.zeros_like(causal) if batch == 16 else causal
        drops, used, given = [], "p", ["share", "true"]
        if share:
            used = "left"
            drops = [
                helper.make_node("Dropout", ["p", *given], ["left", "stays"], "drop"),
                helper.make_node(
                    *("DropoutGrad", ["dleft", "stays", *given], ["dp"], "undrop"), domain=MICROSOFT
                ),
            ]
        nodes = [
            helper.make_node("Transpose", ["q_in"], ["q"], "q", **turned),
            helper.make_node("Transpose", ["k_in"], ["k"], "k", perm=[0, 2, 3, 1]),
            helper.make_node("Transpose", ["v_in"], ["v"], "v", **turned),
            helper.make_node("MatMul", ["q", "k"], ["products"], "products"),
            helper.make_node("Mul", ["products", "scale"], ["scaled"], "scaled"),
            helper.make_node("Add", ["scaled", "mask"], ["scores"], "scores"),
            helper.make_node("Softmax", ["scores"], ["p"], "p", axis=-1),
            *drops[:1],
            helper.make_node("MatMul", [used, "v"], ["mixed"], "mixed"),
            helper.make_node("Transpose", ["mixed"], ["y"], "y", **turned),
            helper.make_node("Transpose", ["dy"], ["dmixed"], "dmixed", **turned),
            _product([used, "dmixed"], "dv_turned", transA=1),
            helper.make_node("Transpose", ["dv_turned"], ["dv"], "dv", **turned),
            _product(["dmixed", "v"], f"d{used}", transB=1),
            *drops[1:],
            helper.make_node("SoftmaxGrad_13", ["dp", "p"], ["ds"], "ds", domain=MICROSOFT),
            helper.make_node("Mul", ["ds", "scale"], ["dproducts"], "dproducts"),
            _product(["q", "dproducts"], "dk_turned", transA=1),
            helper.make_node("Transpose", ["dk_turned"], ["dk"], "dk", perm=[0, 3, 1, 2]),
            _product(["dproducts", "k"], "dq_turned", transB=1),
            helper.make_node("Transpose", ["dq_turned"], ["dq"], "dq", **turned),
        ]
        scale = numpy_helper.from_array(np.array(channels**-0.5, np.float32), "scale")
        constants = (
            *(scale, numpy_helper.from_array(mask, "mask")),
            *(numpy_helper.from_array(np.array(share, np.float32), "share"),) * bool(share),
            *(numpy_helper.from_array(np.array(True), "true"),) * bool(share),
        )
        feeds = {name: draw(*shape) for name in ("q_in", "k_in", "v_in", "dy")}
        results = dict.fromkeys(("y", "dq", "dk", "dv"), shape)
        detail = f"{batch} x {heads} heads, {places} places, {channels} channels"
        detail += f", dropout {share}" * bool(share)
        yield Case(ATTENTION, detail, nodes, feeds, results, {}, constants)


def _product(given: list[str], made: str, **attributes: int) -> onnx.NodeProto:
    return helper.make_node("FusedMatMul", given, [made], made, domain=MICROSOFT, **attributes)


def losses() -> Iterator[Case]:
    """Cross entropy and its gradient, small and with BERT's vocabulary, and as Llama has it."""
    for batch, classes in ((2048, 97), (1024, 30522)):
        nodes = [
            helper.make_node("SoftmaxCrossEntropyLoss", ["x", "i"], ["loss", "logs"], "loss"),
            helper.make_node(
                *("SoftmaxCrossEntropyLossGrad", ["dloss", "logs", "i"], ["dx"], "node"),
                domain=MICROSOFT,
            ),
        ]
        labels = np.random.default_rng(0).integers(0, classes, batch)
        feeds = {"x": draw(batch, classes), "i": labels, "dloss": np.ones(1, np.float32)}
        detail = f"{batch} rows of {classes} classes"
        yield Case("Cross entropy, both ways", detail, nodes, feeds, {"dx": (batch, classes)})
    back = {"domain": MICROSOFT, "axis": 1}
    nodes = [
        helper.make_node("LogSoftmax", ["x"], ["logs"], "softmax", axis=1),
        helper.make_node("Shape", ["logs"], ["shape"], "shape"),
        helper.make_node("GatherElements", ["logs", "i"], ["value"], "gather", axis=1),
        helper.make_node("GatherElementsGrad", ["dvalue", "shape", "i"], ["dlogs"], **back),
        helper.make_node("LogSoftmaxGrad_13", ["dlogs", "logs"], ["dx"], "node", **back),
    ]
    feeds = {"x": draw(batch, classes), "i": labels[:, None], "dvalue": draw(batch, 1)}
    yield Case("Log probability, both ways", detail, nodes, feeds, {"dx": (batch, classes)})
    shape = (512, 32000)
    node = helper.make_node(
        "LogSoftmaxGrad_13", ["dy", "y"], ["dx"], "node", domain=MICROSOFT, axis=-1
    )
    scores = draw(*shape)
    logarithms = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    feeds = {"dy": draw(*shape), "y": logarithms}
    yield Case("LogSoftmaxGrad_13", "x".join(map(str, shape)), [node], feeds, {"dx": shape})


def convolutions() -> Iterator[Case]:
    """Both passes, as in small pictures; the last has larger ones. The first has no dX."""
    for batch, channels, filters, size, kernel, stride, groups, first in (
        (32, 1, 16, (28, 28), 3, 1, 1, True),
        (32, 16, 32, (14, 14), 3, 1, 1, False),
        (32, 32, 32, (7, 7), 3, 1, 1, False),
        (32, 16, 32, (16, 32), 3, 1, 1, False),
        (32, 32, 64, (16, 16), 3, 2, 1, False),
        (32, 32, 32, (16, 16), 3, 1, 2, False),
        (16, 64, 64, (56, 56), 3, 1, 1, False),
    ):
        pad = kernel // 2
        rows, columns = ((each + 2 * pad - kernel) // stride + 1 for each in size)
        window = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
        names = ["" if first else "dx", "dw", "db"]
        nodes = [
            helper.make_node("Conv", ["x", "w", "b"], ["y"], "node", group=groups, **window),
            helper.make_node(
                *("ConvGrad", ["dy", "x", "w"], names, "back"),
                domain=MICROSOFT,
                group=groups,
                **window,
            ),
        ]
        shapes = {
            **{"x": (batch, channels, *size), "w": (filters, channels // groups, kernel, kernel)},
            **{"b": (filters,), "dy": (batch, filters, rows, columns)},
        }
        results = {"y": shapes["dy"], "dx": shapes["x"], "dw": shapes["w"], "db": shapes["b"]}
        results = {name: shape for name, shape in results.items() if name in ("y", *names)}
        feeds = {name: draw(*shape) for name, shape in shapes.items()}
        detail = f"{channels} to {filters} channels, {size[0]} x {size[1]}, {kernel} x {kernel}"
        detail += f", stride {stride}" * (stride > 1) + f", {groups} groups" * (groups > 1)
        detail += f", batch {batch}" + ", first layer" * first
        yield Case(CONVOLUTION, detail, nodes, feeds, results)


def pooled() -> Iterator[Case]:
    """Max pooling after ReLU, both ways."""
    for shape, kernel in (((32, 16, 28, 28), 2), ((32, 32, 14, 14), 2), ((16, 64, 56, 56), 3)):
        pad = kernel // 2 if kernel == 3 else 0
        rows, columns = ((each + 2 * pad - kernel) // 2 + 1 for each in shape[2:])
        small = (*shape[:2], rows, columns)
        window = {"kernel_shape": [kernel] * 2, "strides": [2, 2], "pads": [pad] * 4}
        nodes = [
            helper.make_node("Relu", ["x"], ["r"], "relu"),
            helper.make_node("MaxPool", ["r"], ["y", "i"], "pool", **window),
            helper.make_node("MaxPoolGrad", ["dy", "i"], ["dr"], "pool_back", **window),
            helper.make_node("ReluGrad", ["dr", "r"], ["dx"], "node", domain=MICROSOFT),
        ]
        feeds = {"x": draw(*shape), "dy": draw(*small)}
        detail = f"{'x'.join(map(str, shape))}, windows {kernel} x {kernel}"
        results = {"y": small, "dx": shape}
        values = {"dr": shape}
        yield Case("ReLU and MaxPool, both ways", detail, nodes, feeds, results, values)


def copying(size: int, threads: int) -> float:
    """Seconds to copy half as many bytes as that, which moves as many, in so many threads."""
    parts = np.array_split(np.ones(size // 8, np.float32), threads)
    copies = [np.empty_like(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:

        def copy() -> list[None]:
            return list(pool.map(np.copyto, copies, parts))

        return min(seconds(copy, 20) for _ in range(5))


def operations(case: Case) -> int | None:
    """Multiplications and additions in the products of both passes; None where they are no bound.

    Those of attention are six: scores, results, and the gradients of probabilities, queries, keys
    and values. What a kernel computes again is not counted.
    """
    if case.operator == ATTENTION:
        batch, places, heads, channels = case.feeds["q_in"].shape
        return int(6 * 2 * batch * heads * places**2 * channels)
    if case.operator == CONVOLUTION:
        taps = case.feeds["w"][0].size
        return int(2 * case.feeds["dy"].size * taps * (2 + ("dx" in case.results)))
    return None


def multiplying(count: int, threads: int) -> float:
    """Seconds for as many operations of a large matrix product, by NumPy or by ONNX Runtime.

    By the faster one: on one processor it takes half of the other's time, on the next it does not.
    """
    size = 1024
    feeds = {"x": draw(size, size), "w": draw(size, size)}
    node = helper.make_node("MatMul", list(feeds), ["y"], "node")
    case = Case("MatMul", "", [node], feeds, {"y": (size, size)})
    runs = (lambda: feeds["x"] @ feeds["w"], runner(model_of(case), case, threads))
    fastest = min(seconds(run, 1) for run in runs for _ in range(20))
    return fastest * count / (2 * size**3)


def share_of_limit(case: Case, took: float, threads: int) -> str:
    """What `case` reaches in so many seconds, and how much of the limit that is.

    The limit is the operations a second of a large product, or the bytes a second of a copy.
    """
    count = operations(case)
    if count is not None:
        share = multiplying(count, threads) / took
        return f"{count / took / 1e9:.0f} GFLOP/s, {share:.0%} of a large matrix product"
    moved = sum(each.nbytes for each in case.feeds.values()) + sum(
        4 * int(np.prod(shape)) for shape in case.results.values()
    )
    share = copying(moved, threads) / took
    return f"{moved / took / 1e9:.0f} GB/s, {share:.0%} of a copy of as many bytes"


def main() -> None:
    rounds, threads = int(sys.argv[1]), default_threads()
    library = build_extensions(DEVICE_KERNELS).extension.library
    measured = []
    for case in (
        *(*elementwise(), *unbiased(), *rows(), *biased(), *rms_normalizations(), *gates()),
        *(*attentions(), *losses()),
        *(*convolutions(), *pooled()),
    ):
        without, ours = model_of(case), onnx.shape_inference.infer_shapes(model_of(case))
        write_standard_gradients(without)
        if not write_device_kernels(ours):
            continue
        runs = {
            "native": runner(without, case, threads),
            "ours": runner(ours, case, threads, library),
        }
        found = in_rounds(runs, rounds)
        took = float(np.median(found["ours"]))
        if "dropout" in case.detail:
            found["difference"] = None
        bound = f"; ours {share_of_limit(case, took, threads)}"
        measured.append([case.operator, case.detail, found, bound])
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
