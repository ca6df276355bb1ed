"""Compares our kernels of cross entropy with PyTorch in float64, in the process of the probe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[..., Any]

IGNORED = -100
CASES: dict[str, dict[str, Any]] = {
    "one class": {"sizes": (1, 1)},
    "odd sizes": {"sizes": (7, 5), "weighted": True},
    "some ignored": {"sizes": (70, 97), "ignored": 3},
    "large rows": {"sizes": (9, 30522), "ignored": 2, "weighted": True, "factor": 40.0},
    "a sum": {"sizes": (70, 33), "ignored": 5, "weighted": True, "reduction": "sum"},
    "classes masked by -infinity": {"sizes": (20, 40), "masked": True},
    "no row": {"sizes": (0, 5), "reduction": "sum"},
}
"""Rows and classes; every how many rows one is ignored."""


def against_pytorch(run: Run, case: dict[str, Any]) -> float:
    """The largest difference, over the largest magnitude of each result, at least 1."""
    import torch

    rows, classes = case["sizes"]
    drawn = np.random.default_rng(0)
    scores = case.get("factor", 1.0) * drawn.standard_normal((rows, classes)).astype(np.float32)
    scores = scores.astype(np.float32)
    labels = drawn.integers(0, classes, rows)
    if case.get("masked"):
        scores[:, 7:9] = -np.inf
        labels[(labels == 7) | (labels == 8)] = 0
    if "ignored" in case:
        labels[:: case["ignored"]] = IGNORED
    weights = drawn.random(classes).astype(np.float32) if case.get("weighted") else None
    reduction = case.get("reduction", "mean")

    leaf = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(
        leaf,
        torch.tensor(labels),
        None if weights is None else torch.tensor(weights).double(),
        ignore_index=IGNORED,
        reduction=reduction,
    )
    (gradient,) = torch.autograd.grad(3 * loss, leaf)

    attributes = {"ignore_index": IGNORED, "mean": int(reduction == "mean")}
    given = [scores, labels, np.ones((), np.float32) if weights is None else weights]
    both = []
    for threads in (1, 2):
        made, *row_values = run("CrossEntropy", given, 3, threads, **attributes)
        upstream = np.array(3, np.float32)
        fed = [upstream, *given, *row_values]
        both.append([made, *run("CrossEntropyGradient", fed, 1, threads, **attributes)])
    one, two = both
    assert all(np.array_equal(*pair) for pair in zip(one, two, strict=True)), (
        "cross entropy depends on the number of threads"
    )
    results = [*zip(one, (loss, gradient), strict=True)]
    if weights is None and rows:
        results += _log_probabilities(run, scores, labels)
    worst = 0.0
    for got, expected in results:
        wanted = expected.detach().numpy()
        assert got.shape == wanted.shape
        if wanted.size:
            largest = max(float(np.abs(wanted).max()), 1.0)
            worst = max(worst, float(np.abs(got - wanted).max()) / largest)
    return worst


def _log_probabilities(run: Run, scores: Any, labels: Any) -> list[tuple[Any, Any]]:
    """Logarithms at the labels and their gradients, of our kernels and PyTorch's. Every other label
    counts from the last class."""
    import torch

    rows, classes = scores.shape
    taken = np.where(labels == IGNORED, 0, labels)[:, None] - classes * (
        np.arange(rows)[:, None] % 2
    )
    upstream = np.random.default_rng(1).standard_normal((rows, 1)).astype(np.float32)
    both = []
    for threads in (1, 2):
        made, *row_values = run("LogProbability", [scores, taken], 3, threads)
        fed = [upstream, scores, taken, *row_values]
        both.append([made, *run("LogProbabilityGradient", fed, 1, threads)])
    one, two = both
    assert all(np.array_equal(*pair) for pair in zip(one, two, strict=True)), (
        "log probabilities depend on the number of threads"
    )
    leaf = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    expected = leaf.log_softmax(-1).gather(-1, torch.tensor(taken % classes))
    (gradient,) = torch.autograd.grad(expected, leaf, torch.tensor(upstream).double())
    return [*zip(one, (expected, gradient), strict=True)]
