"""Compares our kernels of convolution and pooling with PyTorch, in the process of the probe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[..., Any]

CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "one value": {"x": (1, 1, 1, 1), "w": (8, 1, 1, 1)},
    "a first layer": {"x": (3, 1, 28, 28), "w": (16, 1, 3, 3), "pads": (1, 1)},
    "odd sizes": {"x": (2, 5, 7, 9), "w": (33, 5, 3, 3), "pads": (1, 1)},
    "more filters than a register has": {"x": (2, 3, 5, 6), "w": (49, 3, 3, 3)},
    "strides": {"x": (2, 4, 9, 10), "w": (8, 4, 3, 3), "pads": (1, 1), "strides": (2, 3)},
    "strides that skip": {"x": (2, 4, 9, 10), "w": (8, 4, 2, 1), "strides": (3, 2)},
    "dilations": {"x": (2, 4, 9, 10), "w": (8, 4, 3, 2), "pads": (2, 0), "dilations": (2, 3)},
    "strides and dilations": {
        **{"x": (2, 4, 13, 11), "w": (9, 4, 3, 3), "pads": (2, 3)},
        **{"strides": (2, 2), "dilations": (3, 2)},
    },
    "groups": {"x": (2, 6, 8, 8), "w": (24, 2, 3, 3), "pads": (1, 1), "groups": 3},
    "one axis": {"x": (3, 4, 50), "w": (16, 4, 5), "pads": (2,), "strides": (2,)},
    "one large picture": {"x": (1, 16, 65, 64), "w": (32, 16, 3, 3), "pads": (1, 1)},
    "many small pictures": {"x": (130, 2, 4, 4), "w": (8, 2, 3, 3), "pads": (1, 1)},
    "wide borders": {"x": (2, 3, 4, 4), "w": (8, 3, 2, 2), "pads": (3, 4)},
}
POOLINGS: dict[str, dict[str, Any]] = {
    "pairs": {"x": (2, 3, 28, 28), "size": (2, 2), "strides": (2, 2)},
    "pairs with a rest": {"x": (2, 3, 7, 9), "size": (2, 2), "strides": (2, 2)},
    "overlapping": {"x": (2, 3, 15, 16), "size": (3, 3), "strides": (1, 1), "pads": (1, 1)},
    "halved": {"x": (2, 3, 15, 16), "size": (3, 3), "strides": (2, 2), "pads": (1, 1)},
    "gaps": {"x": (2, 3, 17, 19), "size": (2, 2), "strides": (3, 4)},
    "dilated": {"x": (2, 3, 17, 19), "size": (3, 2), "strides": (2, 1), "dilations": (2, 3)},
    "one axis": {"x": (2, 3, 33), "size": (4,), "strides": (4,)},
    "many planes": {"x": (40, 64, 6, 6), "size": (2, 2), "strides": (2, 2)},
    "equal values": {"x": (2, 3, 8, 8), "size": (2, 2), "strides": (2, 2), "equal": True},
    "NaN": {"x": (2, 3, 8, 8), "size": (2, 2), "strides": (2, 2), "special": np.nan},
    "NaN where windows overlap": {
        **{"x": (2, 3, 9, 9), "size": (3, 3), "strides": (2, 2), "pads": (1, 1)},
        "special": np.nan,
    },
    "infinity": {"x": (2, 3, 8, 8), "size": (2, 2), "strides": (2, 2), "special": -np.inf},
}


def convolution_against_pytorch(run: Run, case: dict[str, Any]) -> float:
    """The largest difference, over the largest magnitude of each result, at least 1."""
    import torch

    drawn = np.random.default_rng(0)
    axes = len(case["x"]) - 2
    groups = case.get("groups", 1)
    x, weights = _normal(drawn, *case["x"]), _normal(drawn, *case["w"])
    bias = _normal(drawn, case["w"][0])
    strides, dilations = (case.get(name, (1,) * axes) for name in ("strides", "dilations"))
    pads = case.get("pads", (0,) * axes)
    compute = torch.nn.functional.conv1d if axes == 1 else torch.nn.functional.conv2d
    leaves = [torch.tensor(each).double().requires_grad_() for each in (x, weights, bias)]
    y = compute(*leaves, strides, pads, dilations, groups)
    dy = _normal(drawn, *y.shape)
    gradients = torch.autograd.grad(y, leaves, torch.tensor(dy).double())
    attributes = {**_window(case["w"][2:], strides, pads, dilations), "groups": groups}

    both = []
    for threads in (1, 2):
        forward = run("Convolution", [x, weights, bias], 1, threads, **attributes)
        backward = run("ConvolutionGradient", [dy, x, weights], 3, threads, **attributes)
        alone = run("ConvolutionWeightGradient", [dy, x, weights], 2, threads, **attributes)
        assert all(np.array_equal(*pair) for pair in zip(backward[1:], alone, strict=True))
        both.append([*forward, *backward])
    return _worst(both, [y, *gradients])


def pooling_against_pytorch(run: Run, case: dict[str, Any], relu: bool) -> float:
    """As `convolution_against_pytorch`; with a ReLU before the pooling or without."""
    import torch

    drawn = np.random.default_rng(0)
    axes = len(case["x"]) - 2
    x = _normal(drawn, *case["x"])
    if case.get("equal"):
        x = np.round(x)
    if "special" in case:
        x.ravel()[::7] = case["special"]
    pads, dilations = case.get("pads", (0,) * axes), case.get("dilations", (1,) * axes)
    compute = torch.nn.functional.max_pool1d if axes == 1 else torch.nn.functional.max_pool2d
    leaf = torch.tensor(x, requires_grad=True)
    y = compute(leaf.relu() if relu else leaf, case["size"], case["strides"], pads, dilations)
    dy = _normal(drawn, *y.shape)
    (gradient,) = torch.autograd.grad(y, leaf, torch.tensor(dy))
    attributes = {**_window(case["size"], case["strides"], pads, dilations), "relu": int(relu)}
    both = [
        [
            *run("MaxPool", [x], 1, threads, **attributes),
            *run("MaxPoolGradient", [dy, x], 1, threads, **attributes),
        ]
        for threads in (1, 2)
    ]
    return _worst(both, [y, gradient])


def _worst(both: list[list[Any]], expected: list[Any]) -> float:
    one, two = both
    for pair in zip(one, two, strict=True):
        assert np.array_equal(*pair, equal_nan=True), "a result depends on the number of threads"
    worst = 0.0
    for got, tensor in zip(one, expected, strict=True):
        wanted = tensor.detach().numpy()
        assert got.shape == wanted.shape
        finite = np.isfinite(wanted)
        assert np.array_equal(got[~finite], wanted[~finite], equal_nan=True)
        assert np.isfinite(got[finite]).all()
        largest = max(float(np.abs(wanted[finite]).max(initial=1.0)), 1.0)
        difference = float(np.abs(got[finite] - wanted[finite]).max(initial=0.0))
        worst = max(worst, difference / largest)
    return worst


def _normal(drawn: np.random.Generator, *shape: int) -> Any:
    return drawn.standard_normal(shape).astype(np.float32)


def _window(size: Any, strides: Any, pads: Any, dilations: Any) -> dict[str, int]:
    (height, width), (row_stride, column_stride) = (1, *size)[-2:], (1, *strides)[-2:]
    (top, left), (row_dilation, column_dilation) = (0, *pads)[-2:], (1, *dilations)[-2:]
    return {
        **{"height": height, "width": width, "row_stride": row_stride, "top": top, "bottom": top},
        **{"column_stride": column_stride, "left": left, "right": left},
        **{"row_dilation": row_dilation, "column_dilation": column_dilation},
    }
