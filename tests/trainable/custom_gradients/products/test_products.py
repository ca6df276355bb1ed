"""Products whose gradient is our own: equations as they are written out, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tests.trainable.custom_gradients.graphs import graph_of
from workbench.errors import UntrainableError
from workbench.onnx_io.einsum import written_out
from workbench.trainable import make_trainable


@pytest.mark.parametrize(
    ("equation", "inputs", "output"),
    [
        ("ij, jk -> ik", ["ij", "jk"], "ik"),
        ("bj,ja", ["bj", "ja"], "ab"),
        ("...j,jk->...k", ["abj", "jk"], "abk"),
        ("...j,jk", ["abj", "jk"], "abk"),
    ],
)
def test_an_equation_is_written_out(equation: str, inputs: list[str], output: str) -> None:
    ranks = (3 if "..." in equation else 2, 2)
    terms = written_out(equation, ranks)
    taken = {letter for term in terms.inputs for letter in term}
    assert [len(term) for term in terms.inputs] == list(ranks)
    assert set(terms.output) <= taken
    if "..." not in equation:
        assert (terms.inputs, terms.output) == (inputs, output)
    else:
        assert terms.inputs[0][-1] == "j"
        assert terms.output == terms.inputs[0][:2] + "k"


def test_a_product_with_a_vector_of_unknown_rank_is_refused() -> None:
    model = graph_of(
        helper.make_node("Reshape", ["w", "size"], ["h"]),
        helper.make_node("MatMul", ["h", "v"], ["y"]),
        w=np.ones(4, np.float32),
        v=np.ones(4, np.float32),
    )
    with pytest.raises(UntrainableError, match="product with a vector"):
        make_trainable(model, ["w"])
