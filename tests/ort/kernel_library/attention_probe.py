"""Compares our kernels of attention with PyTorch in float64; runs in the process of the probe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.ort.kernel_library.dropped_reference import dropped_factors

Array = np.ndarray[Any, Any]
Run = Callable[..., Any]

LOWEST = float(np.finfo(np.float32).min)
CASES: dict[str, dict[str, Any]] = {
    "one of each": {"sizes": (1, 1, 1, 1, 1)},
    "odd sizes": {"sizes": (2, 7, 5, 3, 2)},
    "several blocks": {"sizes": (6, 130, 67, 36, 17), "scale": 0.2},
    "large rows": {"sizes": (2, 3, 2000, 8, 8), "factor": 30.0},
    "causal": {"sizes": (4, 66, 66, 8, 16), "mask": "causal"},
    "keys masked by a finite number": {"sizes": (4, 9, 33, 8, 8), "mask": "finite"},
    "no key at all, zeros": {"sizes": (4, 9, 33, 8, 8), "mask": "infinite", "empty_rows": 1},
    "no key at all, NaN": {"sizes": (4, 9, 33, 8, 8), "mask": "infinite"},
    "zeros in rows that the mask leaves no key, but NaN in others": {
        **{"sizes": (4, 9, 33, 8, 8), "mask": "infinite", "empty_rows": 1, "nan": True},
    },
    "keys whose scores are as low as a mask": {
        **{"sizes": (4, 40, 2, 8, 8), "mask": "infinite", "empty_rows": 1, "factor": 1e31},
    },
    "dropout": {"sizes": (6, 70, 67, 36, 17), "dropout": 0.3},
    "nearly all dropped, causal": {"sizes": (4, 66, 66, 8, 16), "dropout": 0.9, "mask": "causal"},
    "dropout, no key at all, zeros": {
        **{"sizes": (4, 9, 33, 8, 8), "mask": "infinite", "empty_rows": 1, "dropout": 0.1},
    },
    "dropout of many keys": {"sizes": (2, 3, 2000, 8, 8), "dropout": 0.5},
    "no query": {"sizes": (2, 0, 3, 4, 4)},
    "no key": {"sizes": (2, 3, 0, 4, 4)},
    "no head": {"sizes": (0, 3, 4, 4, 4)},
}
"""Heads, queries, keys, channels, and values."""


def mask_of(kind: str, heads: int, queries: int, keys: int) -> Array:
    """As it is added to scores; the second query of the first head has no key."""
    if kind == "none":
        return np.zeros((), np.float32)
    if kind == "causal":
        return np.triu(np.full((queries, keys), -np.inf, np.float32), 1)
    drawn = np.random.default_rng(1)
    kept = drawn.random((heads, queries, keys)) < 0.5
    kept[..., 0] = True
    kept[0, 1] = False
    return np.where(kept, np.float32(0), np.float32(LOWEST if kind == "finite" else -np.inf))


def against_pytorch(run: Run, case: dict[str, Any]) -> float:
    """The largest difference, over the largest magnitude of each result, at least 1."""
    import torch

    heads, queries, keys, channels, values = case["sizes"]
    drawn = np.random.default_rng(0)

    def normal(*shape: int) -> Array:
        return drawn.standard_normal(shape).astype(np.float32)

    q, k = case.get("factor", 1.0) * normal(heads, queries, channels), normal(heads, keys, channels)
    v, upstream = normal(heads, keys, values), normal(heads, queries, values)
    q = q.astype(np.float32)
    if case.get("nan"):
        q[0, 0] = np.nan
    mask = mask_of(case.get("mask", "none"), heads, queries, keys)
    scale = case.get("scale", 0.5)
    zeros = case.get("empty_rows", 0)

    leaves = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (q, k, v)]
    scores = scale * leaves[0] @ leaves[1].mT + torch.tensor(mask).double()
    low = torch.tensor(mask) <= LOWEST
    if zeros:
        # Not NaN, which would spread through the gradient of softmax.
        scores = torch.where(low.all(-1, keepdim=True), 0.0, scores)
    chances = scores.softmax(-1)
    chances = torch.where(low, 0.0, chances) if zeros else chances
    share, seed, stream = case.get("dropout", 0.0), 2**40 + heads, 3
    stays, factor = dropped_factors(share, seed, stream, (heads, queries, keys))
    right = torch.where(torch.tensor(stays), factor * chances, 0.0) @ leaves[2]
    gradients = torch.autograd.grad(right, leaves, torch.tensor(upstream, dtype=torch.float64))

    # Queries and keys with their axes in another order than the rest.
    attributes = {
        **{"query_axes": "102", "key_axes": "120", "value_axes": "012", "result_axes": "021"},
        **{"scale": scale, "empty_rows": zeros, "dropout": share, "stream": stream},
    }
    stored_q, stored_k = q.transpose(1, 0, 2), k.transpose(2, 0, 1)
    fed = [np.asarray(each, order="C") for each in (stored_q, stored_k, v, mask, np.array(seed))]
    dy = np.ascontiguousarray(upstream.transpose(0, 2, 1))
    both = []
    for threads in (1, 2):
        made, *rows = run("Attention", fed, 3, threads, **attributes)
        back = run("AttentionGradient", [dy, *fed, *rows], 3, threads, **attributes)
        turned = [
            (made, (0, 2, 1)),
            (back[0], (1, 0, 2)),
            (back[1], (1, 2, 0)),
            (back[2], (0, 1, 2)),
        ]
        both.append([each.transpose(order) for each, order in turned])
    one, two = both
    assert all(np.array_equal(*pair, equal_nan=True) for pair in zip(one, two, strict=True)), (
        "attention depends on the number of threads"
    )
    worst = 0.0
    # The gradients of NaN are NaN for all keys of a row, also for masked ones.
    compared = 1 if case.get("nan") else len(one)
    for got, expected in list(zip(one, (right, *gradients), strict=True))[:compared]:
        wanted = expected.detach().numpy()
        assert got.shape == wanted.shape
        assert np.array_equal(np.isnan(got), np.isnan(wanted)), "NaN in other places"
        known = ~np.isnan(wanted)
        if known.any():
            largest = max(float(np.abs(wanted[known]).max()), 1.0)
            worst = max(worst, float(np.abs(got - wanted)[known].max()) / largest)
    return worst
