"""Trains with the workbench's kernels and without; run as a process of its own.

    python -m tests.ort.kernel_library.kernels_probe WORK_FOLDER

WORK_FOLDER holds the artifacts of a small transformer in "artifacts", those of a network on
pictures in "pictures/artifacts", those of a gated one in "gated/artifacts" and those of one with
dropout in "dropping/artifacts"; answers go to answers.json.
What each kernel computes is compared with PyTorch at the end, as this loads torch.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.ort.kernel_library import attention_probe, cross_entropy_probe, window_probe
from tests.ort.kernel_library.dropping_probe import dropping
from workbench.data import Batch
from workbench.engines.base import EngineSetup
from workbench.engines.ondevice.engine import OnDeviceEngine
from workbench.ort.kernel_library.load import device_kernels
from workbench.ort.native import native
from workbench.settings.config import make_config

WORDS, ROWS, LENGTH = 11, 16, 5
STEPS = 20
SIZES = (1, 7, 64, 531)
"""Of rows: one element, less than a vector of the processor's, whole vectors, and a rest."""

Array = np.ndarray[Any, Any]


def engine(work: Path, **settings: Any) -> OnDeviceEngine:
    config = make_config({"batch_size": ROWS, "loss": "cross_entropy", **settings})
    return OnDeviceEngine(EngineSetup(work / "model", work / "artifacts", config, lambda _: None))


def trained(work: Path, **settings: Any) -> dict[str, Any]:
    """Losses of some steps, gradients of the first batch, and what the statistics say."""
    drawn = np.random.default_rng(0)
    if work.name == "pictures":
        drawings = drawn.standard_normal((STEPS, ROWS, 1, 9, 8)).astype(np.float32)
        labels = drawn.integers(0, WORDS, (STEPS, ROWS))
        batches = [Batch((x,), y) for x, y in zip(drawings, labels, strict=True)]
    else:
        tokens = drawn.integers(0, WORDS, (STEPS, ROWS, LENGTH))
        batches = [Batch((each,), np.roll(each, 1, 1)) for each in tokens]
    made = engine(work, **settings)
    gradients = made.gradients(batches[0]).gradients
    losses = [made.train_step(batch) for batch in batches]
    statistics = made.statistics()
    return {
        "gradients": {name: value.tolist() for name, value in gradients.items()},
        "losses": losses,
        "state": statistics.options[0].model_dump(),
        "kernels": statistics.graphs[0].kernels,
    }


def run(operator: str, fed: list[Array], outputs: int, threads: int, **attributes: Any) -> Any:
    """The results of one operator, or the message of its error."""
    from onnx import helper

    from workbench.ort.graph.kernels.device_kernels import DOMAIN

    names = [f"in{index}" for index in range(len(fed))]
    results = [f"out{index}" for index in range(outputs)]
    node = helper.make_node(operator, names, results, operator, domain=DOMAIN, **attributes)
    graph = helper.make_graph(
        [node],
        "kernel",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim
            )
            for name, value in zip(names, fed, strict=True)
        ],
        [helper.make_tensor_value_info(name, 1, None) for name in results],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    ort = native()
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.register_custom_ops_library(str(device_kernels().library))
    session = ort.InferenceSession(options, model.SerializeToString(), False, False)
    session.initialize_session([], [], set())
    try:
        return session.run(results, dict(zip(names, fed, strict=True)), None)
    except Exception as error:
        return str(error)


def against_pytorch(rows: int, size: int) -> dict[str, float]:
    """Largest difference of each kernel from PyTorch in float64, over the largest magnitude."""
    import torch
    from torch.nn import functional

    drawn = torch.Generator().manual_seed(size)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=drawn, dtype=torch.float64).float().double()

    x, dy = normal(rows, size) * 2 + 1, normal(rows, size)
    scale, bias = normal(size), normal(size)
    table = normal(5, size)
    indices = torch.randint(-5, 5, (rows,), generator=drawn)
    averages = x.mean(1, keepdim=True)
    inverse = 1 / (x.var(1, keepdim=True, correction=0) + 0.01).sqrt()
    softmax = x.softmax(1)

    def gradients(compute: Callable[..., torch.Tensor], *given: torch.Tensor) -> list[torch.Tensor]:
        leaves = [each.clone().requires_grad_() for each in given]
        return list(torch.autograd.grad(compute(*leaves), leaves, dy))

    def normalize(x: torch.Tensor, scale: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, (size,), scale, bias, 0.01)

    def normalize_rms(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, (size,), scale, 0.01)

    def biased_silu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return functional.silu(x + bias)

    def tanh_gelu(x: torch.Tensor) -> torch.Tensor:
        return functional.gelu(x, approximate="tanh")

    def gated(gate: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return functional.silu(gate) * x

    inverse_rms, other = 1 / (x.square().mean(1, keepdim=True) + 0.01).sqrt(), normal(rows, size)
    # As far as e^x is 0 or infinite in float32.
    far = x * 40
    shape = torch.tensor(table.shape)
    looked_up = gradients(lambda table: table[indices], table)
    cases: list[tuple[str, dict[str, Any], list[torch.Tensor], list[torch.Tensor]]] = [
        ("Gelu", {}, [x], [functional.gelu(x)]),
        ("GeluGradient", {}, [dy, x], gradients(functional.gelu, x)),
        ("BiasGelu", {}, [x, bias], [functional.gelu(x + bias)]),
        (
            *("BiasGeluGradient", {}, [dy, x, bias]),
            gradients(lambda x, bias: functional.gelu(x + bias), x, bias),
        ),
        ("TanhGelu", {}, [far], [tanh_gelu(far)]),
        ("TanhGeluGradient", {}, [dy, far], gradients(tanh_gelu, far)),
        ("BiasTanhGelu", {}, [x, bias], [tanh_gelu(x + bias)]),
        (
            *("BiasTanhGeluGradient", {}, [dy, x, bias]),
            gradients(lambda x, bias: tanh_gelu(x + bias), x, bias),
        ),
        ("Silu", {}, [far], [functional.silu(far)]),
        ("SiluGradient", {}, [dy, far], gradients(functional.silu, far)),
        ("BiasSilu", {}, [x, bias], [biased_silu(x, bias)]),
        ("BiasSiluGradient", {}, [dy, x, bias], gradients(biased_silu, x, bias)),
        ("GatedSilu", {}, [x, other], [gated(x, other)]),
        ("GatedSiluGradient", {}, [dy, x, other], gradients(gated, x, other)),
        (
            *("RMSNormalization", {"axis": -1, "epsilon": 0.01}, [x, scale]),
            [normalize_rms(x, scale), inverse_rms],
        ),
        (
            *("RMSNormalizationGradient", {"axis": 1}, [dy, x, scale, inverse_rms]),
            gradients(normalize_rms, x, scale),
        ),
        (
            *("LayerNormalization", {"axis": -1, "epsilon": 0.01}, [x, scale, bias]),
            [normalize(x, scale, bias), averages, inverse],
        ),
        (
            *("LayerNormalizationGradient", {"axis": 1}, [dy, x, scale, averages, inverse]),
            gradients(normalize, x, scale, bias),
        ),
        ("SoftmaxGradient", {}, [dy, softmax], gradients(lambda x: x.softmax(1), x)),
        (
            *("LogSoftmaxGradient", {}, [dy, x.log_softmax(1)]),
            gradients(lambda x: x.log_softmax(1), x),
        ),
        ("ColumnSum", {"axes": 1}, [dy], gradients(lambda bias: x + bias, bias)),
        ("EmbeddingGradient", {}, [shape, indices, dy], looked_up),
        ("ReluGradient", {}, [dy, x], gradients(torch.relu, x)),
    ]
    worst = {}
    for operator, attributes, given, expected in cases:
        fed = [(each.float() if each.is_floating_point() else each).numpy() for each in given]
        one, two = (run(operator, fed, len(expected), count, **attributes) for count in (1, 2))
        assert all(np.array_equal(*both) for both in zip(one, two, strict=True)), (
            f"{operator} depends on the number of threads"
        )
        worst[operator] = max(
            float(np.abs(got - right.numpy()).max() / max(float(right.abs().max()), 1.0))
            for got, right in zip(one, expected, strict=True)
        )
    return worst


def long_rows() -> dict[str, float]:
    """Largest difference from NumPy in float64 of norms over a million numbers far from 0."""
    drawn = np.random.default_rng(0)
    x = (drawn.standard_normal((2, 1_000_001)) + 1e4).astype(np.float32)
    ones, wide = np.ones_like(x[0]), x.astype(np.float64)
    apart = wide - wide.mean(1, keepdims=True)
    deviation = np.sqrt(np.square(apart).mean(1, keepdims=True) + 1e-5)
    layer = run("LayerNormalization", [x, ones, np.zeros_like(ones)], 3, 2)[0]
    rms = run("RMSNormalization", [x, ones], 2, 2)[0]
    of_rms = wide / np.sqrt(np.square(wide).mean(1, keepdims=True) + 1e-5)
    return {
        "layer": float(np.abs(layer - apart / deviation).max()),
        "RMS": float(np.abs(rms - of_rms).max()),
    }


def main() -> None:
    work = Path(sys.argv[1])
    answers: dict[str, Any] = {
        "on": trained(work, threads=2),
        "off": trained(work, threads=2, device_kernels=False),
        "pictures on": trained(work / "pictures", threads=2),
        "pictures again": trained(work / "pictures", threads=2),
        "pictures off": trained(work / "pictures", threads=2, device_kernels=False),
        "gated on": trained(work / "gated", threads=2, label_sparsity=False),
        "gated off": trained(work / "gated", threads=2, label_sparsity=False, device_kernels=False),
        "dropping": dropping(work / "dropping"),
        "loaded": sorted({"torch", "onnx"} & set(sys.modules)),
    }
    special = np.array([[np.nan, np.inf, -1e4, 1e4, 0.0]], np.float32)
    ones = np.ones((4, 3), np.float32)
    integers = np.array([4, 3])
    answers["special"] = [bool(np.isnan(value)) for value in run("Gelu", [special], 1, 1)[0][0]]
    extremes = np.array([-3e38, 3e38, np.nan, 0], np.float32)
    answers["special tanh GELU"] = [
        each.tolist()
        for each in (
            run("TanhGelu", [extremes], 1, 1)[0],
            run("TanhGeluGradient", [np.ones_like(extremes), extremes], 1, 1)[0],
        )
    ]
    answers["special SiLU"] = run("Silu", [np.array([-3e38, 3e38, np.nan, 0], np.float32)], 1, 1)[
        0
    ].tolist()
    answers["special GELU gradient"] = run(
        "GeluGradient", [np.ones_like(extremes), extremes], 1, 1
    )[0].tolist()
    answers["long rows"] = long_rows()
    answers["empty"] = [
        list(each.shape) for each in run("BiasGeluGradient", [ones[:0], ones[:0], ones[0]], 2, 2)
    ]
    answers["refused"] = [
        run("GeluGradient", [ones, ones[:2]], 1, 1),
        run("LayerNormalization", [ones, ones[0, :2], ones[0]], 3, 1),
        run("EmbeddingGradient", [integers, np.array([0, 1, 2, 4]), ones], 1, 1),
        run("GatedSilu", [ones, ones[:2]], 1, 1),
        run("RMSNormalization", [ones, ones[0, :2]], 2, 1),
    ]
    answers["parity"] = {str(size): against_pytorch(70, size) for size in SIZES}
    answers["attention"] = {
        name: attention_probe.against_pytorch(run, case)
        for name, case in attention_probe.CASES.items()
    }
    answers["cross entropy"] = {
        name: cross_entropy_probe.against_pytorch(run, case)
        for name, case in cross_entropy_probe.CASES.items()
    }
    answers["convolution"] = {
        name: window_probe.convolution_against_pytorch(run, case)
        for name, case in window_probe.CONVOLUTIONS.items()
    }
    answers["pooling"] = {
        f"{name}, {'with' if relu else 'without'} ReLU": window_probe.pooling_against_pytorch(
            run, case, relu
        )
        for name, case in window_probe.POOLINGS.items()
        for relu in (False, True)
    }
    infinite = np.full(4, np.inf, np.float32)
    results = np.array([1, 0, -1, np.nan], np.float32)
    answers["special ReLU"] = run("ReluGradient", [infinite, results], 1, 1)[0].tolist()
    pictures, filters = np.ones((2, 3, 5, 5), np.float32), np.ones((8, 3, 3, 3), np.float32)
    slopes, window = np.ones((2, 8, 5, 5), np.float32), {"height": 3, "width": 3}
    answers["refused window"] = [
        run("Convolution", [pictures, filters[:, :2], filters[0, 0, 0]], 1, 1, **window),
        run("ConvolutionGradient", [slopes, pictures, filters], 3, 1, **window),
        run("MaxPool", [pictures[:, :, :2]], 1, 1, **window),
        run("MaxPoolGradient", [pictures, pictures], 1, 1, **window),
        # Of two values, of which one is before the picture and one after it.
        run("MaxPool", [pictures], 1, 1, width=2, left=1, right=1, column_dilation=6),
    ]
    answers["no picture"] = [
        list(each.shape) if each.size else "empty"
        for each in run(
            *("ConvolutionGradient", [slopes[:0, :, :3, :3], pictures[:0], filters]), 3, 2, **window
        )
    ]
    scores, weight = np.ones((3, 4), np.float32), np.ones((), np.float32)
    ignored, other = np.full(3, cross_entropy_probe.IGNORED), np.array([0, 4, 1])
    rows = [np.zeros(3, np.float32)] * 2
    answers["all ignored"] = [
        each.tolist()
        for each in (
            run("CrossEntropy", [scores, ignored, weight], 3, 1, ignore_index=-100)[0],
            run("CrossEntropyGradient", [weight, scores, ignored, weight, *rows], 1, 1,
                ignore_index=-100)[0],
        )
    ]  # fmt: skip
    answers["refused label"] = run("CrossEntropy", [scores, other, weight], 3, 1)
    q = np.ones((2, 3, 4), np.float32)
    plain = dict.fromkeys(("query_axes", "key_axes", "value_axes", "result_axes"), "012")
    answers["refused attention"] = [
        run("Attention", [q, q[:1], q, q[0, 0, :1], np.array(0)], 3, 1, **plain),
        run("Attention", [q, q, q, np.ones((3, 2), np.float32), np.array(0)], 3, 1, **plain),
    ]
    (work / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
