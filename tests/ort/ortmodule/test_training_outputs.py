"""Results that training does not read are not computed, and never given back wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from workbench import ORTModule
from workbench.errors import EngineError, UntrainableError


class Tagger(nn.Module):
    """Returns its loss beside the logits that it was computed from."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(20, 8), nn.Linear(8, 50)

    def forward(self, words: Tensor, labels: Tensor, *, named: bool = True) -> Any:
        logits = self.head(self.words(words).tanh())
        loss = cross_entropy(logits.flatten(0, 1), labels.flatten())
        return {"loss": loss, "logits": logits, "kind": "tags"} if named else (loss, logits)


@pytest.fixture(scope="module")
def batch() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    labels = torch.randint(0, 50, (4, 6))
    return torch.randint(0, 20, (4, 6)), labels.masked_fill(torch.rand(4, 6) > 0.3, -100)


@pytest.fixture(scope="module")
def trained(batch: tuple[Tensor, Tensor]) -> tuple[nn.Module, ORTModule, dict[str, Any]]:
    """The plain module and the ORTModule after one backward pass, and the result of the latter."""
    torch.manual_seed(0)
    plain = Tagger()
    wrapped = ORTModule(copy.deepcopy(plain), {"training_outputs": ("loss",)})
    plain(*batch)["loss"].backward()
    result = wrapped(*batch)
    result["loss"].backward()
    return plain, wrapped, result


def test_the_loss_and_its_gradients_are_those_of_the_plain_module(
    trained: tuple[nn.Module, ORTModule, dict[str, Any]],
) -> None:
    plain, wrapped, result = trained
    for expected, found in zip(plain.parameters(), wrapped.parameters(), strict=True):
        torch.testing.assert_close(found.grad, expected.grad, rtol=1e-5, atol=1e-7)
    assert result["kind"] == "tags"
    states = {report.option: report for report in wrapped.options_report}
    assert states["training_outputs"][1:] == ("on", "loss")
    # Without the logits among the results, only labels that count are computed.
    assert states["label_sparsity"][1:] == ("on", "in 1 loss of the graph")


def test_use_of_a_result_that_was_left_out_is_an_error(
    trained: tuple[nn.Module, ORTModule, dict[str, Any]],
) -> None:
    logits = trained[2]["logits"]
    assert "was not computed" in repr(logits)
    for use in (
        lambda: logits + 1,
        lambda: logits.argmax(-1),
        lambda: torch.softmax(logits, -1),
        lambda: logits[0],
        lambda: list(logits),
        lambda: torch.stack([logits]),
    ):
        with pytest.raises(EngineError, match=r"'logits' was not computed.*training_outputs"):
            use()


def test_evaluation_computes_all_results(
    trained: tuple[nn.Module, ORTModule, dict[str, Any]], batch: tuple[Tensor, Tensor]
) -> None:
    wrapped = trained[1].eval()
    assert wrapped(*batch)["logits"].shape == (4, 6, 50)
    wrapped.train()


def test_places_name_what_a_tuple_holds(batch: tuple[Tensor, Tensor]) -> None:
    loss, logits = ORTModule(Tagger(), {"training_outputs": "0"})(*batch, named=False)
    loss.backward()
    with pytest.raises(EngineError, match="'1' was not computed"):
        logits.sum()


@pytest.mark.parametrize(
    ("module", "said"),
    [(Tagger(), "has no 'losss'; it has 'loss', 'logits', 'kind'"), (nn.Flatten(), "one tensor")],
)
@pytest.mark.fault
def test_a_name_that_is_no_result_is_refused(
    module: nn.Module, said: str, batch: tuple[Tensor, Tensor]
) -> None:
    wrapped = ORTModule(module, {"training_outputs": ("losss",)})
    arguments = batch if isinstance(module, Tagger) else (torch.rand(3, 4, requires_grad=True),)
    with pytest.raises(UntrainableError, match=said):
        wrapped(*arguments)
