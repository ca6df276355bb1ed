"""Sums, extremes, orders and products over axes."""

from __future__ import annotations

import torch

from tests.coverage.case import Case, exactly, normal, of, uniform, whole_numbers

ANY = (normal((6,)), normal((3, 4, 5)))
DEEP = (normal((3, 4)), normal((3, 4, 5)))
NOTHING = whole_numbers(0, 0, (2, 3))
POSITIVE = (uniform(0.3, 2.5, (4, 5)), uniform(0.3, 2.5, (3, 2, 5)))


TIES = (whole_numbers(-1, 1, (4, 6)), whole_numbers(0, 1, (3, 2, 4)))


CASES: tuple[Case, ...] = (
    of("sum", lambda x: x.square().sum(-1), *ANY),
    of("sum, several axes", lambda x: x.square().sum((1, 2)), *DEEP),
    of("sum, keepdim", lambda x: x - x.square().sum(1, keepdim=True), *ANY),
    of("sum of all", lambda x: x * x.sum(), *ANY),
    of("mean", lambda x: x.square().mean(-1), *ANY),
    of("mean, several axes", lambda x: x.square().mean((1, 2)), *DEEP),
    of("mean of all", lambda x: x * x.mean(), *ANY),
    of("mean over the batch", lambda x: x - x.square().mean(0), *ANY),
    of("var", lambda x: x.var(-1), *ANY),
    of("var, correction 0", lambda x: x.var(-1, correction=0), *ANY),
    of("var, several axes", lambda x: x.var((1, 2)), *DEEP),
    of("std", lambda x: x.std(-1), *ANY),
    of("std, correction 0, keepdim", lambda x: x / x.std(1, correction=0, keepdim=True), *ANY),
    of("var of all", lambda x: x * x.var(), *ANY),
    of("std of all", lambda x: x * x.std(), *ANY),
    of("std_mean", lambda x: sum(torch.std_mean(x, -1)), *ANY),  # type: ignore[arg-type]
    of("logsumexp", lambda x: torch.logsumexp(x, -1), *ANY),
    of("logsumexp, several axes", lambda x: torch.logsumexp(x, (1, 2)), *DEEP),
    of("logsumexp of large numbers", lambda x: torch.logsumexp(x * 100.0, -1), *ANY),
    of("norm", lambda x: torch.linalg.vector_norm(x, dim=-1), *ANY),
    of("norm, p=1", lambda x: torch.linalg.vector_norm(x, 1, dim=-1), *ANY),
    of("norm, p=3", lambda x: torch.linalg.vector_norm(x, 3, dim=-1), *ANY),
    of("norm, p=inf", lambda x: torch.linalg.vector_norm(x, float("inf"), dim=-1), *ANY),
    of("norm, Frobenius", torch.linalg.matrix_norm, *DEEP),
    of("norm of all", lambda x: x * x.norm(), *ANY),
    exactly("norm of zero", lambda x: torch.linalg.vector_norm(x, dim=-1), NOTHING),
    exactly("norm of zero, p=1", lambda x: torch.linalg.vector_norm(x, 1, dim=-1), NOTHING),
    of("max of all", lambda x: x * x.max(), *ANY),
    of("max, dim", lambda x: x.max(-1).values, *ANY),
    of("max, dim 1, keepdim", lambda x: x - x.max(1, keepdim=True).values, *ANY),
    of("min of all", lambda x: x * x.min(), *ANY),
    of("min, dim", lambda x: x.min(-1).values, *ANY),
    of("amax", lambda x: x.amax(-1), *ANY),
    of("amax, several axes, keepdim", lambda x: x - x.amax((1, 2), keepdim=True), *DEEP),
    of("amin", lambda x: x.amin(-1), *ANY),
    of("amin, several axes", lambda x: x.amin((1, 2)), *DEEP),
    of("aminmax", lambda x: torch.aminmax(x, dim=-1).max - torch.aminmax(x, dim=-1).min, *ANY),
    exactly("amax, ties share", lambda x: x.amax(-1), *TIES),
    exactly("amin, ties share", lambda x: x.amin((1, 2)), *TIES),
    exactly("max of all, ties share", lambda x: x * x.max(), *TIES),
    exactly("max, dim, of ties", lambda x: x.max(-1).values, *TIES),
    of("prod", lambda x: x.prod(-1), *POSITIVE, *ANY),
    of("prod of all", lambda x: x * (1.0 + 0.01 * x[:2].prod()), uniform(0.8, 1.2, (4,))),
    of("prod, keepdim", lambda x: x * x.prod(1, keepdim=True), *POSITIVE),
    exactly("prod with zeros", lambda x: x.prod(-1), *TIES),
    exactly("prod over two axes with zeros", lambda x: x.prod(1).prod(-1), *TIES),
    of("cumsum", lambda x: torch.cumsum(x, -1), *ANY),
    of("cumsum, dim 1", lambda x: torch.cumsum(x, 1), *ANY),
    of("cumsum over the batch", lambda x: torch.cumsum(x, 0), *ANY),
    of("cumprod", lambda x: torch.cumprod(x, -1), *POSITIVE),
    of("cummax", lambda x: torch.cummax(x, -1).values, *ANY),
    of("logcumsumexp", lambda x: torch.logcumsumexp(x, -1), *ANY),
    of("diff", torch.diff, *ANY),
    of("diff, twice, dim 1", lambda x: torch.diff(x, n=2, dim=1), *ANY),
    of("topk", lambda x: torch.topk(x, 3, dim=-1).values, *ANY),
    of("topk, smallest", lambda x: torch.topk(x, 2, dim=1, largest=False).values, *ANY),
    of("sort", lambda x: torch.sort(x, dim=-1).values, *ANY),
    of("sort, descending, dim 1", lambda x: torch.sort(x, dim=1, descending=True).values, *ANY),
    of("sort and its indices", lambda x: x.gather(-1, torch.argsort(x, -1)) * x, *ANY),
    of("kthvalue", lambda x: torch.kthvalue(x, 2, dim=-1).values, *ANY),
    of("cummin", lambda x: torch.cummin(x, 1).values, *ANY),
    exactly("median of all, ties share", lambda x: x * torch.median(x), *TIES),
    of("median", lambda x: torch.median(x, dim=-1).values, *ANY),
    of("argmax, beside", lambda x: x * torch.argmax(x, -1, keepdim=True), *ANY),
    of("softmax over two axes", lambda x: x.flatten(1).softmax(-1).view(x.shape), *DEEP),
    of("count_nonzero, beside", lambda x: x * (x > 0).sum(-1, keepdim=True), *ANY),
)
