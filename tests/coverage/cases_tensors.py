"""Operations that move, choose, join or multiply parts of tensors."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tests.coverage.case import Case, integers, normal, of, together

ANY = (normal((6,)), normal((3, 4, 6)))
DEEP = (normal((3, 4)), normal((3, 4, 5)))
MATRICES = (normal((3, 4), (4, 5)), normal((2, 3, 4), (2, 4, 5)))
SQUARE = (normal((4, 4)), normal((2, 5, 5)))
CHOICE = together(normal((5, 4)), integers(5, (3, 4)))
ROWS = torch.tensor([2, 0, 2, 1])


def einsum(equation: str, *shapes: tuple[int, ...]) -> Case:
    return of(f"einsum {equation}", lambda *x: torch.einsum(equation, *x), normal(*shapes))


def scattered(x: Tensor, places: Tensor, *, adding: bool) -> Tensor:
    source = x[:, :3] * 2.0
    if adding:
        return x.scatter_add(1, places, source)
    # Places that are written twice would leave open which of the two stays.
    places = places.argsort(1).argsort(1)
    return x.scatter(1, places, source)


def index_put(x: Tensor, *, accumulate: bool) -> Tensor:
    places = (torch.arange(3), torch.tensor([1, 0, 2]))
    return x.transpose(0, 1).transpose(1, 2).index_put(
        places, x[0, 0, :1] * torch.ones(3, 1), accumulate=accumulate
    ).permute(2, 0, 1)  # fmt: skip


def without_gradient(x: Tensor) -> Tensor:
    with torch.no_grad():
        scale = torch.sigmoid(x * 2.0)
    return x * scale


CASES: tuple[Case, ...] = (
    einsum("bij,bjk->bik", (3, 4), (4, 5)),
    einsum("bhqd,bhkd->bhqk", (2, 3, 4), (2, 5, 4)),
    einsum("bij,bij->b", (3, 4), (3, 4)),
    einsum("bi,bj->bij", (3,), (4,)),
    einsum("bij->bji", (3, 4)),
    einsum("bij->b", (3, 4)),
    einsum("bii->bi", (4, 4)),
    einsum("bii->b", (4, 4)),
    einsum("b...i,b...i->b...", (3, 4), (3, 4)),
    einsum("bi,bij,bj->b", (3,), (3, 4), (4,)),
    of("matmul", torch.matmul, *MATRICES),
    of("matmul by a vector", lambda x: x @ x[0, 0], *SQUARE[:1]),
    of("matmul of a vector", lambda x: x[:, 0, 0] @ x.flatten(1) * x.flatten(1), *SQUARE[:1]),
    of("matmul of broadcast batches", lambda x, y: torch.matmul(x, y.unsqueeze(1)),
       normal((2, 3, 4), (4, 5))),
    of("dot", lambda x: x * torch.dot(x[0], x[1]), normal((6,))),
    of("outer", lambda x: x.sum() * torch.outer(x[:, 0], x[0]), normal((6,))),
    of("bmm", torch.bmm, MATRICES[0]),
    of("baddbmm", lambda x, y, z: torch.baddbmm(z, x, y, beta=0.5, alpha=2.0),
       normal((3, 4), (4, 5), (3, 5))),
    of("addmm", lambda x, y: torch.addmm(y, x, x[:2].transpose(0, 1) @ y[:2], alpha=0.5),
       normal((4,), (4,))),
    of("cdist", torch.cdist, normal((4, 3), (5, 3))),
    of("cdist, p=1", lambda x, y: torch.cdist(x, y, p=1.0), normal((4, 3), (5, 3))),
    of("cdist, p=3", lambda x, y: torch.cdist(x, y, p=3.0), normal((4, 3), (5, 3))),
    of("cdist of many rows", torch.cdist, normal((30, 3), (27, 3))),
    of("hstack and vstack", lambda x: torch.vstack([x, torch.hstack([x[:, :2], x[:, 2:]])])[1:5],
       *ANY),
    of("fold", lambda x: functional.fold(x.flatten(2), (4, 5), 2, padding=1, stride=2),
       normal((8, 9))),
    of("cosine_similarity", lambda x, y: functional.cosine_similarity(x, y, dim=-1),
       normal((6,), (6,)), normal((3, 4), (3, 4))),
    of("pairwise_distance", functional.pairwise_distance, normal((6,), (6,))),
    of("cross", torch.linalg.cross, normal((4, 3), (4, 3))),
    of("kron", lambda x: torch.kron(x, torch.tensor([[1.0, 2.0]])), normal((4,))),
    of("cat", lambda x: torch.cat([x, x.sin(), x[..., :1]], dim=-1), *ANY),
    of("stack", lambda x: torch.stack([x, x * x], dim=1), *ANY),
    of("split", lambda x: torch.mul(*torch.split(x, 3, dim=-1)), *ANY),
    of("split, unused parts", lambda x: torch.split(x, 2, dim=-1)[1], *ANY),
    of("split, sizes", lambda x: torch.cat(torch.split(x, [1, 3, 2], dim=-1)[::2], -1), *ANY),
    of("split, uneven, unused", lambda x: torch.split(x, 4, dim=-1)[1], *ANY),
    of("chunk", lambda x: torch.mul(*torch.chunk(x, 2, dim=-1)), *ANY),
    of("chunk, unused parts", lambda x: torch.chunk(x, 3, dim=-1)[0], *ANY),
    of("unbind", lambda x: x.unbind(1)[0] * x.unbind(1)[2], *ANY),
    of("slice", lambda x: x[..., 1:4] * x[..., 2:5], *ANY),
    of("slice, steps", lambda x: x[..., ::2] * x[..., 1::2], *ANY),
    of("slice, from the end", lambda x: x[..., -3:] * x[..., :-3], *ANY),
    of("select", lambda x: x[:, 1] * x[:, -1], *ANY),
    of("narrow", lambda x: x.narrow(-1, 2, 3), *ANY),
    of("index by a list", lambda x: x[:, [2, 0, 2, 1]], *ANY),
    of("index by two lists", lambda x: x[:, [2, 0, 2], [1, 1, 3]], *DEEP),
    of("index_select", lambda x: torch.index_select(x, 1, ROWS), *ANY),
    of("gather", lambda x, places: torch.gather(x, 1, places), CHOICE),
    of("gather, last axis", lambda x: x.gather(-1, x.argsort(-1)[..., :2]), *ANY),
    of("take_along_dim", lambda x, places: torch.take_along_dim(x, places, dim=1), CHOICE),
    of("scatter", lambda x, places: scattered(x, places, adding=False), CHOICE),
    of("scatter_add", lambda x, places: scattered(x, places, adding=True), CHOICE),
    of("scatter a number", lambda x, places: x.scatter(1, places, 0.5), CHOICE),
    of("scatter_reduce, amax", lambda x, places: x.scatter_reduce(1, places, x[:, :3], "amax"),
       CHOICE),
    of("scatter_reduce, mean", lambda x, places: x.scatter_reduce(1, places, x[:, :3], "mean"),
       CHOICE),
    of("scatter_reduce, mean, without self",
       lambda x, places: x.scatter_reduce(1, places, x[:, :3], "mean", include_self=False), CHOICE),
    of("scatter_reduce, prod", lambda x, places: x.scatter_reduce(1, places, x[:, :3], "prod"),
       CHOICE),
    of("index_add", lambda x: x.index_add(1, ROWS[:3], x[:, :3] * 2.0), *DEEP),
    of("index_copy", lambda x: x.index_copy(1, torch.tensor([2, 0]), x[:, :2].sin()), *DEEP),
    of("index_fill", lambda x: x.index_fill(1, torch.tensor([2, 0]), 0.5), *DEEP),
    of("index_put", lambda x: index_put(x, accumulate=False), normal((3, 4))),
    of("index_put, accumulated", lambda x: index_put(x, accumulate=True), normal((3, 4))),
    of("masked_scatter, as where", lambda x: torch.where(x > 0, x.flip(-1), x), *ANY),
    of("slice assignment", lambda x: torch.slice_scatter(x, x[:, :2] * 2.0, 1, 1, 3), *DEEP),
    of("roll", lambda x: torch.roll(x, 2, dims=-1), *ANY),
    of("roll, two axes", lambda x: torch.roll(x, (1, -2), dims=(1, 2)), *DEEP),
    of("flip", lambda x: torch.flip(x, (-1,)), *ANY),
    of("flip, two axes", lambda x: torch.flip(x, (1, 2)), *DEEP),
    of("rot90", lambda x: torch.rot90(x, 1, (1, 2)), *DEEP),
    of("tril", torch.tril, *SQUARE),
    of("triu", lambda x: torch.triu(x, diagonal=1), *SQUARE),
    of("tril, diagonal -1", lambda x: torch.tril(x, diagonal=-1), *DEEP),
    of("diagonal", lambda x: torch.diagonal(x, dim1=-2, dim2=-1), *SQUARE),
    of("diag_embed", torch.diag_embed, *ANY),
    of("trace", lambda x: torch.einsum("bii->b", x) + x[:, 0, 0], *SQUARE[:1]),
    of("expand", lambda x: x.unsqueeze(1).expand(-1, 3, *x.shape[1:]) * x.unsqueeze(1), *ANY),
    of("expand_as", lambda x: x[:, :1].expand_as(x) * x, *ANY),
    of("broadcast_to", lambda x: torch.broadcast_to(x[:1], x.shape) * x, *ANY),
    of("repeat", lambda x: x.repeat(1, 3, *[1] * (x.dim() - 2)), *ANY),
    of("repeat_interleave", lambda x: x.repeat_interleave(2, dim=-1), *ANY),
    of("tile", lambda x: torch.tile(x, (1, 2)), normal((6,))),
    of("permute", lambda x: x.permute(0, 3, 1, 2), normal((3, 4, 5))),
    of("transpose", lambda x: x.transpose(1, 2).contiguous(), *DEEP),
    of("movedim", lambda x: torch.movedim(x, 1, -1), *DEEP),
    of("reshape", lambda x: x.reshape(x.shape[0], -1, 2), *ANY),
    of("view, batch inferred", lambda x: x.view(-1, 2, 3), normal((6,))),
    of("flatten and unflatten", lambda x: x.flatten(1).unflatten(1, (2, -1)), *DEEP),
    of("squeeze and unsqueeze", lambda x: x.unsqueeze(1).squeeze(1).unsqueeze(-1), *ANY),
    of("unfold", lambda x: x.unfold(-1, 3, 1), *ANY),
    of("unfold, steps", lambda x: x.unfold(1, 2, 2), *ANY),
    of("one_hot", lambda x, n: x @ functional.one_hot(n, 5).float(),
       together(normal((3, 4)), integers(5, (4,)))),
    of("meshgrid", lambda x: torch.meshgrid(x[:, 0], x[0], indexing="ij")[0] * x[0], normal((6,))),
    of("full_like, zeros_like", lambda x: x + torch.full_like(x, 0.5) * torch.ones_like(x), *ANY),
    of("detach", lambda x: x * x.detach(), *ANY),
    of("no_grad", without_gradient, *ANY),
    of("to float64 and back", lambda x: (x.double() * x.double()).float(), *ANY),
    of("integers and back", lambda x: x * x.long().float(), *ANY),
    of("batch of another order", lambda x: x[torch.arange(x.shape[0]).flip(0)] * x, *ANY),
)  # fmt: skip
