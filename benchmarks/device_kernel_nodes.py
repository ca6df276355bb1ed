"""Times our own kernels: `python -m benchmarks.device_kernel_nodes ROUNDS`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from onnx import helper, numpy_helper

from benchmarks.aten_kernel_nodes import (
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
from workbench.extensions.build_extensions import build_extensions
from workbench.extensions.native_extension import DEVICE_KERNELS
from workbench.ort.graph.device_kernels import write_device_kernels
from workbench.ort.graph.standard_gradients import write_standard_gradients
from workbench.settings.config import default_threads

AXES = numpy_helper.from_array(np.array([0, 1]), "axes")


def biased() -> Iterator[Case]:
    """Sums over rows, and what follows and precedes the bias of a layer with GELU."""
    for shape in ((16, 128, 512), (16, 128, 128)):
        detail, features = "x".join(map(str, shape)), shape[-1:]
        sums = helper.make_node("ReduceSum", ["x", "axes"], ["db"], "node", keepdims=0)
        feeds = {"x": draw(*shape)}
        yield Case("ReduceSum", detail, [sums], feeds, {"db": features}, {}, (AXES,))
        nodes = [
            helper.make_node("Add", ["x", "b"], ["s"], "sum"),
            helper.make_node("Gelu", ["s"], ["y"], "node", domain=MICROSOFT),
            helper.make_node("GeluGrad", ["dy", "s"], ["dx"], "back", domain=MICROSOFT),
            helper.make_node("ReduceSum", ["dx", "axes"], ["db"], "bias", keepdims=0),
        ]
        given = {"x": draw(*shape), "b": draw(*features), "dy": draw(*shape)}
        results = {"y": shape, "dx": shape, "db": features}
        yield Case("Bias and Gelu, both ways", detail, nodes, given, results, {}, (AXES,))


def copying(size: int, threads: int) -> float:
    """Seconds to copy half as many bytes as that, which moves as many, in so many threads."""
    parts = np.array_split(np.ones(size // 8, np.float32), threads)
    copies = [np.empty_like(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:

        def copy() -> list[None]:
            return list(pool.map(np.copyto, copies, parts))

        return min(seconds(copy, 20) for _ in range(5))


def main() -> None:
    rounds, threads = int(sys.argv[1]), default_threads()
    library = build_extensions(DEVICE_KERNELS).extension.library
    measured = []
    for case in (*elementwise(), *rows(), *biased()):
        without, ours = model_of(case), model_of(case)
        write_standard_gradients(without)
        if not write_device_kernels(ours):
            continue
        runs = {
            "native": runner(without, case, threads),
            "ours": runner(ours, case, threads, library),
        }
        found = in_rounds(runs, rounds)
        moved = sum(each.nbytes for each in case.feeds.values()) + sum(
            4 * int(np.prod(shape)) for shape in case.results.values()
        )
        took = float(np.median(found["ours"]))
        share = copying(moved, threads) / took
        bound = f"; ours {moved / took / 1e9:.0f} GB/s, {share:.0%} of a copy of as many bytes"
        measured.append([case.operator, case.detail, found, bound])
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
