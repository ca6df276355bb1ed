"""Results that training does not read are computed only when they are used, and never wrong."""

from __future__ import annotations

import copy
import dataclasses
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

from workbench import ORTModule
from workbench.errors import EngineError, UntrainableError


class Tagger(nn.Module):
    """Returns its loss beside the logits that it was computed from."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(20, 8), nn.Linear(8, 50)
        self.drop = nn.Dropout(0.0)

    def forward(self, words: Tensor, labels: Tensor, *, named: bool = True) -> Any:
        logits = self.head(self.drop(self.words(words).tanh()))
        loss = cross_entropy(logits.flatten(0, 1), labels.flatten())
        return {"loss": loss, "logits": logits, "kind": "tags"} if named else (loss, logits)


@dataclasses.dataclass(frozen=True)
class Tags:
    loss: Tensor
    logits: Tensor


class NamedTags(dict[str, Tensor]):
    """A subclass of dict."""


class Square(torch.autograd.Function):
    """The mean square, with a backward of its own."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.save_for_backward(values * 2 / values.numel())
        return values.square().mean()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * ctx.saved_tensors[0]


mean_square: Callable[[Any], Any] = Square.apply


def both() -> tuple[nn.Module, ORTModule]:
    """The plain module, and an equal one in an ORTModule that computes its loss alone."""
    torch.manual_seed(0)
    plain = Tagger()
    return plain, ORTModule(copy.deepcopy(plain), training_outputs=("loss",))


def assert_same_gradients(plain: nn.Module, wrapped: ORTModule) -> None:
    for expected, found in zip(plain.parameters(), wrapped.parameters(), strict=True):
        torch.testing.assert_close(found.grad, expected.grad, rtol=1e-5, atol=1e-7)


def saved_and_loaded(logits: Tensor) -> Any:
    file = io.BytesIO()
    torch.save(logits, file)
    file.seek(0)
    return torch.load(file)


def changed_in_place(logits: Tensor) -> Tensor:
    with torch.no_grad():
        logits[0] = 0
        logits += 1
    return logits


def step(module: nn.Module) -> None:
    for parameter in module.parameters():
        parameter.grad = torch.ones_like(parameter)
    torch.optim.AdamW(module.parameters(), fused=True).step()


@pytest.fixture(scope="module")
def batch() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    labels = torch.randint(0, 50, (4, 6))
    return torch.randint(0, 20, (4, 6)), labels.masked_fill(torch.rand(4, 6) > 0.3, -100)


@pytest.fixture(scope="module")
def trained(batch: tuple[Tensor, Tensor]) -> tuple[nn.Module, ORTModule, dict[str, Any]]:
    """The plain module and the ORTModule after one backward pass, and the result of the latter."""
    plain, wrapped = both()
    plain(*batch)["loss"].backward()
    result = wrapped(*batch)
    result["loss"].backward()
    return plain, wrapped, result


def test_the_loss_and_its_gradients_are_those_of_the_plain_module(
    trained: tuple[nn.Module, ORTModule, dict[str, Any]],
) -> None:
    plain, wrapped, result = trained
    assert_same_gradients(plain, wrapped)
    assert result["kind"] == "tags"
    states = {report.option: report for report in wrapped.options_report}
    assert states["training_outputs"][1:] == ("on", "loss")
    # Without the logits among the results, only labels that count are computed.
    assert states["label_sparsity"][1:] == ("on", "in 1 loss of the graph")


@pytest.mark.filterwarnings("ignore:PyTorch runs Tagger")
def test_a_result_that_was_left_out_is_computed_when_it_is_used(
    batch: tuple[Tensor, Tensor],
) -> None:
    plain, wrapped = both()
    expected, found = plain(*batch), wrapped(*batch)
    logits = found["logits"]
    assert repr(logits) == "<'logits', computed when it is used>"
    assert wrapped.pytorch_calls.total() == 0
    for use in (
        lambda logits: logits + 1,
        lambda logits: 1 - logits,
        lambda logits: logits.argmax(-1),
        lambda logits: torch.softmax(logits, -1),
        lambda logits: logits[0],
        lambda logits: torch.stack(list(logits)),
        lambda logits: torch.stack([logits]),
        lambda logits: expected["logits"] * logits,
        lambda logits: torch.tensor(logits.detach().numpy()),
        lambda logits: pickle.loads(pickle.dumps(logits.detach())),
        saved_and_loaded,
        lambda logits: 5 % logits.abs() + 7 // logits.abs(),
        lambda logits: torch.tensor(float(f"{logits[0, 0, 0]:.3f}")),
        changed_in_place,
    ):
        torch.testing.assert_close(use(logits), use(expected["logits"]))
    # What changed it has changed the result itself.
    torch.testing.assert_close(found["logits"] + 0, expected["logits"])
    # Its gradient is added to that of the loss, by whatever computes each.
    for result in (expected, found):
        (result["loss"] + result["logits"].square().mean()).backward()
    assert_same_gradients(plain, wrapped)


@pytest.mark.filterwarnings("ignore:PyTorch runs Tagger")
@pytest.mark.parametrize(
    "change",
    [
        step,
        lambda module: module.words.weight.detach().mul_(2),
        lambda module: module.eval(),
        lambda module: setattr(module.drop, "p", 0.5),
    ],
)
def test_a_result_that_would_be_another_is_refused(
    change: Callable[[Any], object], batch: tuple[Tensor, Tensor]
) -> None:
    _, wrapped = both()
    logits = wrapped(*batch)["logits"]
    change(wrapped)
    said = "'logits' was not computed.*has changed since the call.*training_outputs"
    with pytest.raises(EngineError, match=said):
        logits.sum()


@pytest.mark.filterwarnings("ignore:PyTorch runs Tagger")
def test_a_result_that_is_drawn_is_refused(batch: tuple[Tensor, Tensor]) -> None:
    _, wrapped = both()
    wrapped.drop.p = 0.5
    logits = wrapped(*batch)["logits"]
    with pytest.raises(EngineError, match="draws random numbers"):
        logits.sum()


def test_what_a_caller_reads_is_computed_where_the_result_has_it(
    batch: tuple[Tensor, Tensor],
) -> None:
    wrapped = ORTModule(Tagger())
    with wrapped.reading("loss", "0"):
        named, placed = wrapped(*batch), wrapped(*batch, named=False)
    assert [repr(named["logits"]), repr(placed[1])] == [
        f"<{name!r}, computed when it is used>" for name in ("logits", "1")
    ]
    with wrapped.reading("losss"):
        assert wrapped(*batch)["logits"].shape == (4, 6, 50)
    assert wrapped(*batch)["logits"].shape == (4, 6, 50)
    assert not wrapped.pytorch_calls


def test_evaluation_computes_all_results(
    trained: tuple[nn.Module, ORTModule, dict[str, Any]], batch: tuple[Tensor, Tensor]
) -> None:
    wrapped = trained[1].eval()
    assert wrapped(*batch)["logits"].shape == (4, 6, 50)
    wrapped.train()


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


@pytest.mark.filterwarnings("ignore:PyTorch runs")
@pytest.mark.parametrize("kind", [Tags, NamedTags])
def test_results_of_other_classes_are_left_out_too(
    kind: Callable[..., Any], batch: tuple[Tensor, Tensor]
) -> None:
    class Classed(Tagger):
        def forward(self, words: Tensor, labels: Tensor, *, named: bool = False) -> Any:
            loss, logits = super().forward(words, labels, named=named)
            return kind(loss=loss, logits=logits)

    torch.manual_seed(0)
    plain = Classed()
    wrapped = ORTModule(copy.deepcopy(plain), {"training_outputs": ("loss",)})
    expected, found = (
        vars(each) if kind is Tags else each for each in (plain(*batch), wrapped(*batch))
    )
    assert repr(found["logits"]) == "<'logits', computed when it is used>"
    torch.testing.assert_close(found["logits"] + 0, expected["logits"])
    for result in (expected, found):
        result["loss"].backward()
    assert_same_gradients(plain, wrapped)


@pytest.mark.filterwarnings("ignore:PyTorch runs Tagger")
def test_a_use_in_inference_mode_leaves_later_ones_their_gradients(
    batch: tuple[Tensor, Tensor],
) -> None:
    plain, wrapped = both()
    for module in (plain, wrapped):
        result = module(*batch)
        with torch.inference_mode():
            assert result["logits"].argmax(-1).shape == (4, 6)
        (result["loss"] + result["logits"].square().mean()).backward()
    assert_same_gradients(plain, wrapped)


@pytest.mark.filterwarnings("ignore:PyTorch runs Tagger", "ignore:None of the inputs")
def test_functions_that_would_give_it_no_gradient_are_refused(
    batch: tuple[Tensor, Tensor],
) -> None:
    def penalty(logits: Tensor) -> Any:
        return checkpoint(torch.var, logits, use_reentrant=True) + mean_square(logits)

    plain, wrapped = both()
    expected, found = plain(*batch), wrapped(*batch)
    for function in (mean_square, penalty):
        with pytest.raises(EngineError, match=r"no gradient. Pass logits.clone\(\)"):
            function(found["logits"])
    (expected["loss"] + penalty(expected["logits"])).backward()
    (found["loss"] + penalty(found["logits"].clone())).backward()
    assert_same_gradients(plain, wrapped)
