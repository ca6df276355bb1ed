"""Attention and its gradient in float64, for the check of the kernels that were just built."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.ort.kernel_library.dropped_reference import dropped_factors

Array = np.ndarray[Any, np.dtype[Any]]

BATCH, HEADS, QUERIES, KEYS, CHANNELS, VALUES = 2, 3, 70, 41, 20, 9
"""More queries than are computed at once; no size is a multiple of the vector length."""

DROPOUT, STREAM, SEED = 0.3, 2, -(2**40) - 3

AXES = {"query_axes": "0213", "key_axes": "0231", "value_axes": "0123", "result_axes": "0213"}
"""Axes of batch, head, position and channel in each tensor."""


class AttentionCheck(NamedTuple):
    """Inputs and correct outputs of both passes, each tensor with its axes in the order of
    `AXES`."""

    attributes: dict[str, Any]
    inputs: list[Array]
    outputs: list[Array]
    """Result, largest score and inverse sum of powers of each query."""
    upstream: Array
    gradients: list[Array]


def attention_check(drawn: np.random.Generator) -> AttentionCheck:
    """With dropout, and a mask under which one query has no key."""
    scale = 0.3

    def normal(*shape: int) -> Array:
        return drawn.standard_normal((BATCH, HEADS, *shape)).astype(np.float32)

    q, k, v = normal(QUERIES, CHANNELS), normal(KEYS, CHANNELS), normal(KEYS, VALUES)
    upstream = normal(QUERIES, VALUES)
    kept = drawn.random((BATCH, 1, QUERIES, KEYS)) < 0.7
    kept[..., 0] = True
    kept[0, 0, 3] = False
    mask = np.where(kept, np.float32(0), np.float32(-np.inf))

    wide_q, wide_k, wide_v, dy = (each.astype(np.float64) for each in (q, k, v, upstream))
    scores = scale * wide_q @ wide_k.swapaxes(-1, -2) + mask
    empty = np.isinf(scores.max(-1))
    largest = np.where(empty, 0, scores.max(-1))
    powers = np.exp(scores - largest[..., None])
    inverse = np.divide(1, powers.sum(-1), where=~empty, out=np.zeros_like(largest))
    probabilities = powers * inverse[..., None]
    stays, factor = dropped_factors(DROPOUT, SEED, STREAM, (BATCH * HEADS, QUERIES, KEYS))
    dropped = np.where(stays, factor, 0.0).reshape(probabilities.shape)
    weights = probabilities * dropped
    slopes = dropped * (dy @ wide_v.swapaxes(-1, -2))
    slopes = probabilities * (slopes - (probabilities * slopes).sum(-1, keepdims=True))
    gradients = [
        *(scale * slopes @ wide_k, scale * slopes.swapaxes(-1, -2) @ wide_q),
        weights.swapaxes(-1, -2) @ dy,
    ]

    def stored(value: Array, tensor: str) -> Array:
        order = np.argsort([int(axis) for axis in AXES[f"{tensor}_axes"]])
        return value.astype(np.float32).transpose(order)

    names = ("query", "key", "value")
    return AttentionCheck(
        {**AXES, "scale": scale, "empty_rows": 1, "dropout": DROPOUT, "stream": STREAM},
        [*map(stored, (q, k, v), names), mask, np.array(SEED)],
        [
            stored(weights @ wide_v, "result"),
            *(largest.astype(np.float32), inverse.astype(np.float32)),
        ],
        stored(upstream, "result"),
        [*map(stored, gradients, names)],
    )
