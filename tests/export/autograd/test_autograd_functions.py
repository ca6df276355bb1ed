"""Custom autograd functions in exported graphs: one node, or marked where no gradient passes."""

from __future__ import annotations

import threading
from typing import Any

import onnx
import pytest
import torch
from torch import Tensor, nn
from torch.autograd import Function

from tests.functions.programs import NOT_MATERIALIZED
from tests.functions.programs import Model as FunctionModel
from workbench.errors import ModelError, UntrainableError
from workbench.export.autograd.autograd_functions import DOMAIN, AutogradFunctions
from workbench.export.export import export_onnx
from workbench.onnx_io.graph_metadata import FUNCTION
from workbench.trainable import find, leading_to_outputs, make_trainable
from workbench.trainable.function_gradient import NOTE


class Rounded(Function):
    """The identity backward, although its forward is a step."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, steps: int = 4) -> Tensor:
        return torch.round(x * steps) / steps

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


class Outside(Rounded):
    """Its backward leaves PyTorch, so that no graph can hold it."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return torch.from_numpy(gradient.numpy() * 2), None


class PastTheTrace(Rounded):
    """Its backward writes to a tensor by way of `data`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, _: int) -> Tensor:
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        x.data.sign_()
        return gradient * x, None


class Places(Function):
    """Whole numbers, and floats that have no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        found = x.argmax(-1), x.sign()
        ctx.mark_non_differentiable(*found)
        return found

    @staticmethod
    def backward(ctx: Any, *_: Any) -> None:
        return None


class Squared(Function):
    """A sine in its backward alone."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gradient * torch.sin(x)


class Model(nn.Module):
    def __init__(self, kind: str = "rounded") -> None:
        super().__init__()
        self.kind, self.first, self.last = kind, nn.Linear(4, 4), nn.Linear(4, 2)
        self.table = nn.Embedding(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        match self.kind:
            case "rounded":
                hidden = Rounded.apply(hidden, x.shape[0])
            case "squared":
                hidden = Squared.apply(hidden)
            case "outside":
                hidden = Outside.apply(hidden, x.shape[0])
            case "past the trace":
                hidden = PastTheTrace.apply(hidden, x.shape[0])
            case "detached":
                hidden = hidden + Rounded.apply(hidden).detach()
            case "no_grad":
                with torch.no_grad():
                    stopped = Rounded.apply(hidden)
                hidden = hidden + stopped
            case "places":
                places, sign = Places.apply(hidden)
                hidden = self.table(places) * sign
        y: Tensor = self.last(hidden)
        return y


def exported(
    kind: str = "rounded", *, training: bool = True, functions: AutogradFunctions | None = None
) -> onnx.ModelProto:
    return export_onnx(
        Model(kind),
        (torch.zeros(3, 4),),
        input_names=["x"],
        output_names=["y"],
        training=training,
        functions=functions,
    )


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_a_call_is_one_node_with_its_sizes_as_inputs() -> None:
    functions = AutogradFunctions(opaque=True)
    (node,) = [n for n in exported(functions=functions).graph.node if n.domain == DOMAIN]
    (number,) = [each.i for each in node.attribute if each.name == "number"]
    call = functions.calls[number]
    assert (call.function, call.tensor_count, len(node.input)) == (Rounded, 1, 2)
    x = torch.tensor([0.3], requires_grad=True)
    (result,) = call.run([x, torch.tensor(2)])
    result.sum().backward()
    assert result.item() == 0.5
    assert x.grad == 1


@pytest.mark.parametrize(("kind", "detached"), [("rounded", False), ("no_grad", True)])
def test_a_call_remembers_that_gradients_were_turned_off(kind: str, detached: bool) -> None:
    functions = AutogradFunctions(opaque=True)
    exported(kind, functions=functions)
    x = torch.ones(1, requires_grad=True)
    (result,) = functions.calls[-1].run([x, *[torch.tensor(2)] * (kind == "rounded")])
    assert result.requires_grad is not detached


@pytest.mark.fault
@pytest.mark.parametrize("trained", ["first.weight", "first.bias"])
def test_a_gradient_that_would_have_to_pass_it_is_refused_by_name(trained: str) -> None:
    with pytest.raises(UntrainableError, match=r"Outside is Python code(.|\n)*ortmodule.*freeze"):
        make_trainable(exported("outside"), [trained, "last.weight"])


@pytest.mark.fault
def test_a_tensor_that_tracing_does_not_see_is_refused_with_what_to_write() -> None:
    with pytest.raises(ModelError, match=r"x\.detach\(\) in place of x\.data"):
        exported("past the trace")


@pytest.mark.fault
def test_none_for_the_gradient_of_an_unused_result_is_refused_by_name() -> None:
    made = export_onnx(
        FunctionModel(NOT_MATERIALIZED),
        (torch.zeros(3, 6),),
        input_names=["x"],
        output_names=["y"],
        training=True,
    )
    with pytest.raises(UntrainableError, match=r"NoneForUnused.*set_materialize_grads.*ortmodule"):
        make_trainable(made, ["first.weight", "last.weight"])


@pytest.mark.parametrize("trained", ["first.weight", "first.bias"])
def test_a_backward_of_tensor_code_is_its_gradient(trained: str) -> None:
    made, report = make_trainable(exported(), [trained, "last.weight"])
    (gradient,) = [each for each in report.gradients if each.results]
    assert gradient.node in [node.name for node in made.graph.node]
    assert [each.note for each in report.rewritten if "Rounded" in each.op] == [NOTE]


def test_a_backward_is_no_part_of_what_is_listed() -> None:
    names = ["first.weight", "last.weight"]
    listed = [each.op for each in find(exported("squared"), names)]
    assert "Sin" not in listed, "only its backward has a sine"
    assert "Sin" in operators(exported("squared"))


def test_parameters_before_it_lead_to_the_outputs() -> None:
    names = ["first.weight", "last.weight"]
    assert leading_to_outputs(exported(), names) == names


def test_layers_after_the_function_train() -> None:
    made, report = make_trainable(exported(), ["last.weight", "last.bias"])
    assert "Round" in operators(made)
    assert not report.gradients
    assert leading_to_outputs(made, ["last.weight"]) == ["last.weight"]


def test_the_report_calls_it_by_its_name() -> None:
    given = find(exported("outside"), ["first.weight"])
    (found,) = [each for each in given if each.state == "cannot"]
    assert found.op.endswith("Outside")
    assert "ortmodule" in found.remedy


@pytest.mark.parametrize("kind", ["detached", "no_grad", "places"])
def test_results_without_a_gradient_do_not_disturb_the_others(kind: str) -> None:
    trained = ["first.weight", "table.weight", "last.weight"]
    assert not [each for each in find(exported(kind), trained) if each.state == "cannot"]


def test_a_graph_for_inference_computes_it() -> None:
    made = exported(training=False)
    assert "Round" in operators(made)
    assert "Function" not in operators(made)
    marks = {each.key for node in made.graph.node for each in node.metadata_props}
    assert FUNCTION not in marks


@pytest.mark.fault
def test_torch_export_alone_follows_it() -> None:
    with pytest.raises(ModelError, match=r"Rounded is followed by torch\.export"):
        export_onnx(
            Model(),
            (torch.rand(3, 4),),
            input_names=["x"],
            output_names=["y"],
            training=True,
            exporters=["TorchScript"],
        )


def test_another_threads_calls_are_its_own() -> None:
    """While a module is exported, training continues elsewhere."""
    found: list[Any] = []

    def train() -> None:
        x = torch.tensor([0.3], requires_grad=True)
        y = Rounded.apply(x, 2)
        y.sum().backward()
        found.extend((y.item(), x.grad))

    def export() -> None:
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()

    own = Rounded.__dict__["forward"]
    AutogradFunctions(opaque=True).exported(export)
    assert found == [0.5, torch.ones(1)]
    assert Rounded.__dict__["forward"] is own


def test_classes_are_given_back_after_a_failure() -> None:
    own = Rounded.__dict__["forward"]

    def fail() -> None:
        assert Rounded.__dict__["forward"] is not own
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        AutogradFunctions(opaque=False).exported(fail)
    assert Rounded.__dict__["forward"] is own
