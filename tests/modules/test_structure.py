"""Modules of the same name that are told apart."""

from __future__ import annotations

import pytest
from torch import nn
from torch.nn import functional

from workbench.modules.structure import structure_of


def net(dropout: float = 0.1, width: int = 5) -> nn.Module:
    return nn.Sequential(nn.Linear(3, width), nn.Dropout(dropout), nn.Linear(width, 2))


def own(forward: str = "relu") -> nn.Module:
    """A module whose class is defined anew at each call, as by a cell that is executed again."""
    code = f"""
class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return functional.{forward}(self.layer(x))
"""
    names = {"nn": nn, "functional": functional, "__name__": "__main__"}
    exec(code, names)
    module: nn.Module = names["Own"]()  # type: ignore[operator]
    return module


def test_weights_and_where_the_code_stands_do_not_count() -> None:
    assert structure_of(net()) == structure_of(net())
    assert structure_of(own()) == structure_of(own())
    assert structure_of(net()).startswith("Linear, Dropout, Linear; 32 parameters (")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (net(), net(width=6)),
        (net(), net(dropout=0.2)),
        (nn.Sequential(nn.ReLU()), nn.Sequential(nn.Tanh())),
        (own(), own("tanh")),
    ],
    ids=["width", "option", "layer", "code"],
)
def test_what_they_compute_does(first: nn.Module, second: nn.Module) -> None:
    assert structure_of(first) != structure_of(second)


def test_of_many_layers_the_first_are_named() -> None:
    many = nn.Sequential(*[nn.ReLU() for _ in range(9)])
    assert structure_of(many).startswith("ReLU, ReLU, ReLU, ReLU, ReLU, ReLU, …; 0 parameters (")


def test_a_layer_without_what_its_repr_reads_has_a_structure_too() -> None:
    layer = nn.Linear(3, 2)
    del layer.in_features
    assert structure_of(layer).startswith("Linear; 8 parameters (")
