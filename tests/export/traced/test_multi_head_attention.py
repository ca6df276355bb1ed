"""Multi-head attention as it is traced for export, against PyTorch's own."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from workbench.export.export import export_onnx
from workbench.export.traced.traced_functions import TracedFunctions
from workbench.onnx_io.nodes import attribute

BATCH, QUERIES, KEYS, WIDTH, HEADS = 5, 7, 9, 12, 3

KINDS: dict[str, dict[str, Any]] = {
    "itself": {},
    "others": {},
    "three": {},
    "other widths": {"kdim": 8, "vdim": 6},
    "no bias": {"bias": False},
    "a key added": {"add_bias_kv": True},
    "a key of zeros": {"add_zero_attn": True},
}


def both(
    layer: nn.MultiheadAttention, given: tuple[Tensor, ...], **settings: Any
) -> list[list[Tensor]]:
    """Results and gradients of the layer, without and with what replaces its function."""
    found = []
    inputs = list({id(each): each for each in given}.values())
    for traced in (False, True):
        if traced:
            with TracedFunctions():
                result, weights = layer(*given, **settings)
        else:
            result, weights = layer(*given, **settings)
        gradients = torch.autograd.grad(result.square().sum(), [*layer.parameters(), *inputs])
        found.append([result, *([] if weights is None else [weights]), *gradients])
    return found


def masks(keys: int) -> list[dict[str, Any]]:
    random = torch.Generator().manual_seed(1)
    hidden = torch.rand(QUERIES, keys, generator=random) > 0.7
    hidden[:, 0] = False
    padding = torch.rand(BATCH, keys, generator=random) > 0.8
    padding[:, 0] = False
    of_heads = torch.randn(BATCH * HEADS, QUERIES, keys, generator=random, dtype=torch.float64)
    causal = torch.ones(QUERIES, keys, dtype=torch.bool).triu(1)
    made: list[dict[str, Any]] = [
        {},
        {"attn_mask": hidden},
        {"attn_mask": of_heads[0]},
        {"attn_mask": of_heads},
        {"key_padding_mask": padding},
        {"attn_mask": hidden, "key_padding_mask": padding},
        {"attn_mask": of_heads, "key_padding_mask": padding.double() * -3},
        {"attn_mask": causal, "is_causal": True},
        {"attn_mask": causal, "is_causal": True, "key_padding_mask": padding},
    ]
    return made


@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_results_and_gradients_are_pytorchs(kind: str, batch_first: bool) -> None:
    torch.manual_seed(0)
    options = KINDS[kind]
    layer = nn.MultiheadAttention(
        WIDTH, HEADS, batch_first=batch_first, dtype=torch.float64, **options
    )

    def rows(length: int, width: int = WIDTH) -> Tensor:
        first = (BATCH, length) if batch_first else (length, BATCH)
        return torch.randn(*first, width, dtype=torch.float64, requires_grad=True)

    query = rows(QUERIES)
    key = rows(KEYS, options.get("kdim", WIDTH))
    given = {"itself": (query,) * 3, "others": (query, key, key)}.get(
        kind, (query, key, rows(KEYS, options.get("vdim", WIDTH)))
    )
    weighing: list[dict[str, Any]] = [
        {"need_weights": False},
        {"need_weights": True},
        {"need_weights": True, "average_attn_weights": False},
    ]
    for mask, weights in itertools.product(
        masks(given[1].shape[1 if batch_first else 0]), weighing
    ):
        expected, made = both(layer, given, **mask, **weights)
        torch.testing.assert_close(made, expected, rtol=1e-12, atol=1e-12)


def test_rows_without_a_batch_are_left_to_pytorch() -> None:
    layer = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    rows = torch.randn(QUERIES, WIDTH, requires_grad=True)
    expected, made = both(layer, (rows, rows, rows))
    torch.testing.assert_close(made, expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    "mask",
    [
        {"attn_mask": torch.zeros(1, QUERIES)},
        {"attn_mask": torch.zeros(BATCH, QUERIES, QUERIES)},
        {"key_padding_mask": torch.zeros(1, QUERIES)},
        {"attn_mask": torch.zeros(QUERIES, QUERIES, dtype=torch.int64)},
        {"is_causal": True},
    ],
)
def test_masks_that_do_not_fit_are_pytorchs_error(mask: dict[str, Any]) -> None:
    """Some would be broadcast if nobody looked."""
    layer = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).train()
    rows = torch.randn(BATCH, QUERIES, WIDTH)
    with pytest.raises((RuntimeError, AssertionError)) as expected:
        layer(rows, rows, rows, need_weights=False, **mask)
    with pytest.raises(expected.type) as found, TracedFunctions():
        layer(rows, rows, rows, need_weights=False, **mask)
    assert str(found.value) == str(expected.value)


class Encoder(nn.Module):
    """Layers of PyTorch's own, as people write them."""

    def __init__(self, batch_first: bool) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 24, dropout=0.0, batch_first=batch_first)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layers(x)
        return result


@pytest.mark.parametrize("batch_first", [True, False])
def test_only_heads_change_their_place_in_the_graph(batch_first: bool) -> None:
    """Attention's kernels read and write heads where they are; everything else is by row."""
    x = np.zeros((3, 4, 16), np.float32)
    made = export_onnx(
        Encoder(batch_first), (x,), input_names=["x"], output_names=["y"], training=True
    )
    turns = [
        tuple(attribute(node, "perm", []))
        for node in made.graph.node
        if node.op_type == "Transpose"
    ]
    heads, back = ((0, 2, 1, 3), (0, 2, 1, 3)) if batch_first else ((1, 2, 0, 3), (2, 0, 1, 3))
    of_scores = (0, 1, 3, 2)
    allowed = {heads, back, of_scores, (1, 0), tuple(heads[axis] for axis in of_scores)}
    assert set(turns) <= allowed


class MaskedByHead(nn.Module):
    """A mask for each head of each row, traced as an export does."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        with TracedFunctions():
            mask = x.new_zeros(2 * x.shape[0], x.shape[1], x.shape[1])
            result: Tensor = self.layer(x, x, x, attn_mask=mask, need_weights=False)[0]
            return result


def test_a_mask_of_heads_leaves_the_batch_free() -> None:
    """Of a batch of 3, the mask has as many matrices as there are positions."""
    batch = {0: torch.export.Dim("batch")}
    module = MaskedByHead()
    exported = torch.export.export(module, (torch.randn(5, 6, 4),), dynamic_shapes=(batch,))
    rows = torch.randn(3, 6, 4)
    torch.testing.assert_close(exported.module()(rows), module.layer(rows, rows, rows)[0])
