"""Exports decompose graphs with less work, to the same graphs, and torch keeps its functions."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._export import utils
from torch._ops import OperatorBase
from torch.export import Dim, export

from workbench.export import quick_decomposition as quick
from workbench.export.quick_decomposition import quick_decomposition

# Torch's own, where it copies a graph.
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


class Composite(nn.Module):
    """Operators that torch composes of others, by kernels of C++ and of Python."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 6), nn.SiLU(), nn.LayerNorm(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layers(x)
        x = nn.functional.scaled_dot_product_attention(x, x, x)
        return nn.functional.cross_entropy(x.flatten(0, 1), x.flatten(0, 1).argmax(-1))


def decomposed() -> str:
    """The graph of `Composite` in the operators that no other is composed of."""
    shapes = ({0: Dim("batch")},)
    program = export(Composite(), (torch.ones(2, 5, 6),), dynamic_shapes=shapes)
    return str(program.run_decompositions().graph)


def test_graphs_are_those_of_torch() -> None:
    expected = decomposed()
    with quick_decomposition():
        assert decomposed() == expected
    assert decomposed() == expected


@pytest.mark.sweep
def test_operators_are_looked_up_once_in_each_block(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[None] = []
    own = utils._materialize_cpp_cia_ops
    monkeypatch.setattr(
        utils, "_materialize_cpp_cia_ops", lambda: (looked_up.append(None), own())[1]
    )
    decomposed()
    assert len(looked_up) > 10, "torch no longer repeats it"
    for expected in (1, 2):
        looked_up[expected - 1 :] = []
        with quick_decomposition():
            decomposed()
            decomposed()
        assert len(looked_up) == expected


def test_a_kernel_that_is_there_is_refused_as_by_torch() -> None:
    operator = OperatorBase.__new__(OperatorBase)
    OperatorBase.__init__(operator)
    operator.name = lambda: "tests::operator"  # type: ignore[attr-defined]
    key = torch._C.DispatchKey.CPU
    with quick_decomposition():
        operator.py_impl(key)(abs)
        assert operator.py_kernels == {key: abs}
        with pytest.raises(RuntimeError, match="override a python impl for "):
            operator.py_impl(key)(abs)
        with pytest.raises(AssertionError, match="register a mode"):
            operator.py_impl(torch._C.DispatchKey.Python)(abs)


def functions_of_torch() -> tuple[object, ...]:
    return utils._materialize_cpp_cia_ops, OperatorBase.py_impl


def test_torch_has_its_own_functions_back_even_after_an_error() -> None:
    before = functions_of_torch()

    def fail() -> None:
        with quick_decomposition():
            assert set(functions_of_torch()).isdisjoint(before)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert functions_of_torch() == before


def test_another_version_of_torch_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "KNOWN_VERSION", "1.0.")
    before = functions_of_torch()
    with quick_decomposition():
        assert functions_of_torch() == before


def test_exports_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.export import torch_exporter
    from workbench.export.export import export_onnx

    blocks: list[None] = []

    def counted():  # type: ignore[no-untyped-def]
        blocks.append(None)
        return quick_decomposition()

    monkeypatch.setattr(torch_exporter, "quick_decomposition", counted)
    export_onnx(
        nn.Linear(3, 2),
        [torch.ones(2, 3)],
        input_names=["x"],
        output_names=["y"],
        training=False,
    )
    assert len(blocks) == 1
