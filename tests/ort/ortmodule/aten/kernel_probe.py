"""Gradients by PyTorch's kernels in ORTModule beside PyTorch's own; writes down what differs.

python -m tests.ort.ortmodule.aten.kernel_probe RESULT_JSON
"""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from tests.answers import write_answers
from tests.ort.ortmodule.aten.kernel_cases import CASES, GROUPS, WITHOUT_PRODUCTS, group_of
from tests.ort.ortmodule.aten.own_kernel_parts import OWN_PARTS
from tests.ort.ortmodule.noted_sessions import kernels, loaded, note_sessions
from workbench import ORTModule
from workbench.errors import WorkbenchError
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.kernel_call import kernel_call
from workbench.ort.ortmodule.capture.export_once import shared_exports

Answer = dict[str, Any]
BATCHES = (3, 5)


class Together(nn.Module):
    """Several modules, each with an input and a result of its own: one graph holds them all."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.parts = nn.ModuleList([CASES[name].build() for name in names])

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple([part(x) for part, x in zip(self.parts, inputs, strict=True)])


def gradients(module: nn.Module, names: list[str], batch: int) -> list[dict[str, Tensor]]:
    """For each case its result and the gradients of its input and its trained parameters."""
    module.zero_grad()
    inputs = [CASES[name].input(batch) for name in names]
    leaves = [
        x.requires_grad_() if x.is_floating_point() and "first layer" not in name else x
        for name, x in zip(names, inputs, strict=True)
    ]
    results = module(*leaves)
    losses = [
        (result * torch.linspace(0.5, 1.5, result.numel()).reshape(result.shape)).square().mean()
        for result in results
    ]
    torch.stack(losses).sum().backward()
    found = []
    for index, (leaf, result) in enumerate(zip(leaves, results, strict=True)):
        tensors = {"result": result.detach()}
        if leaf.grad is not None:
            tensors["input"] = leaf.grad
        for name, parameter in module.named_parameters():
            if name.startswith(f"parts.{index}.") and parameter.grad is not None:
                tensors[name] = parameter.grad.clone()
        found.append(tensors)
    return found


def largest(plain: dict[str, Tensor], ours: dict[str, Tensor]) -> float:
    """Relative to the largest number of each tensor, which counts as a tenth of all's at least."""
    assert plain.keys() == ours.keys(), (list(plain), list(ours))
    # The gradient of a factor before a normalization is zero but for rounding.
    floor = 0.1 * max(float(value.abs().max()) for value in plain.values())
    return max(
        float((plain[name] - ours[name]).abs().max()) / max(float(plain[name].abs().max()), floor)
        for name in plain
    )


SWITCHES: dict[str, dict[str, Any]] = {
    "all": {"pytorch_kernels": "all", "device_kernels": False},
    "families": {
        "pytorch_kernels": "no_products",
        "operator_kernels": (
            "linear=pytorch,gelu=onnxruntime,layer_norm=onnxruntime,embedding=standard"
        ),
    },
}
"""Options by family."""


@shared_exports()
def compare(names: list[str], switches: tuple[str, ...] = ("all", "off")) -> Answer:
    """The largest difference of each case, and whose kernels ran which operators, for each value of
    `pytorch_kernels`, or of `SWITCHES`."""
    torch.manual_seed(0)
    plain = Together(names)
    answer: Answer = {"differences": {}, "chosen": {}, "why_not": {}}
    for switch in switches:
        options = SWITCHES.get(switch, {"pytorch_kernels": switch})
        wrapped = ORTModule(copy.deepcopy(plain), options=options)
        worst = dict.fromkeys(names, 0.0)
        for batch in BATCHES:
            pairs = zip(
                names,
                gradients(plain, names, batch),
                gradients(wrapped, names, batch),
                strict=True,
            )
            for name, theirs, ours in pairs:
                worst[name] = max(worst[name], largest(theirs, ours))
        [report] = [each for each in wrapped.options_report if each.option == "pytorch_kernels"]
        answer["differences"][switch] = worst
        answer["chosen"][switch] = kernels().chosen
        answer["why_not"][switch] = kernels().why_not
        answer[switch] = report._asdict()
    return answer


def dropout() -> Answer:
    """Kept values are scaled; the gradient passes through them alone; the seed decides."""
    drawn = []
    answer: Answer = {}
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        wrapped = ORTModule(nn.Sequential(nn.Linear(4, 999), nn.Dropout(0.25)))
        with torch.no_grad():
            wrapped.get_parameter("0.bias").fill_(1)
            wrapped.get_parameter("0.weight").fill_(0)
        results = [wrapped(torch.zeros(7, 4)) for _ in range(2)]
        drawn.append([result.detach() for result in results])
        results[0].sum().backward()
        bias = wrapped.get_parameter("0.bias").grad
        answer["gradient"] = float((bias - results[0].detach().sum(0)).abs().max())
    (one, two), again, other = drawn
    torch.manual_seed(0)
    twice = Twice()
    pair = ORTModule(twice)(torch.ones(9, 100))
    answer |= {
        "chosen": kernels().chosen,
        "kept": float((one != 0).float().mean()),
        "scaled": sorted({round(value, 4) for value in one.unique().tolist()}),
        "anew": float((one != two).float().mean()),
        "alike": all(torch.equal(a, b) for a, b in zip((one, two), again, strict=True)),
        "other_seed": float((one != other[0]).float().mean()),
        "two_of_one_input": float((pair[0] != pair[1]).float().mean()),
    }
    return answer


class Twice(nn.Module):
    """Two dropouts of one value, which must not be taken for one."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        scaled = x * self.scale
        return nn.functional.dropout(scaled, 0.5), nn.functional.dropout(scaled, 0.5)


def modes() -> Answer:
    """Autocast, grad mode and PyTorch's function modes around a step do not reach the kernels."""
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    wrapped = ORTModule(copy.deepcopy(plain))
    x = torch.randn(3, 8, 16, 16)
    wrapped(x)
    seen: list[str] = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Watch():
        result = wrapped(x)
    return {
        "difference": float((plain(x) - result).detach().abs().max()),
        "seen": [name for name in seen if "convolution" in name],
        "inference": str(result.is_inference()),
    }


def refusals() -> Answer:
    """A kernel that fails raises the error of its node, and the process continues."""
    from onnx import TensorProto, helper

    from workbench.ort.native import native
    from workbench.ort.ortmodule.aten.executor import why_not_loaded

    why_not = why_not_loaded()
    c = native()
    info = helper.make_tensor_value_info
    proto = helper.make_graph([], "g", [info("x", TensorProto.FLOAT, [2, 3])], [])
    proto.output.append(info("y", TensorProto.FLOAT, None))
    graph = GraphEditor(proto)
    first = helper.make_node("Identity", ["x"], ["y"], "node")
    answer: Answer = {"why_not": why_not}
    for operator in ("aten::mm", "aten::nothing_like_it", "workbench_kernels::dropout"):
        numbers = {"aten::mm": ["x"], "workbench_kernels::dropout": [graph.real(1.5)]}
        inputs = ["x", *numbers.get(operator, [])]
        del proto.node[:]
        proto.node.append(kernel_call(graph, operator, inputs, first, ["y"]))
        domains = [helper.make_opsetid("", 17), helper.make_opsetid("org.pytorch.aten", 1)]
        model = helper.make_model(proto, opset_imports=domains, ir_version=8)
        options = c.SessionOptions()
        options.log_severity_level = 4
        try:
            session = c.InferenceSession(options, model.SerializeToString(), False, False)
            session.initialize_session(["CPUExecutionProvider"], [{}], set())
            session.run(["y"], {"x": torch.ones(2, 3).numpy()}, None)
            answer[operator] = "nothing was raised"
        except Exception as error:
            answer[operator] = str(error)
    return answer


def recomputation() -> Answer:
    """Where activations are computed again, the forward pass keeps ONNX Runtime's operators."""
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.5), nn.Linear(64, 64))
    x = torch.randn(2, 200, 64)
    options = {"recompute_config": "Gelu+:1:-1", "pytorch_kernels": "all"}
    try:
        ORTModule(plain, options=options)(x).sum().backward()
    except WorkbenchError as error:
        return {"error": str(error)}
    return {"chosen": kernels().chosen}


def threads() -> Answer:
    """Dropout masks with one thread and with two; an odd number of elements over the grain."""
    before = torch.get_num_threads()
    masks = []
    for count in (1, 2):
        torch.set_num_threads(count)
        torch.manual_seed(5)
        wrapped = ORTModule(nn.Sequential(nn.Linear(1, 33333), nn.Dropout(0.5)))
        result = wrapped(torch.ones(3, 1)).detach()
        masks.append(hashlib.sha256((result != 0).numpy().tobytes()).hexdigest())
    torch.set_num_threads(before)
    return {"masks": masks}


def packed() -> Answer:
    """The nodes that remain of a packed projection through MultiheadAttention."""
    x = torch.randn(3, 12, 32)
    ORTModule(CASES["attention, packed"].build(), options={"pytorch_kernels": "all"})(x)
    graph = onnx.load_from_string(loaded[-1].graph.model).graph
    turns = [node.attribute[0].ints for node in graph.node if node.op_type == "Transpose"]
    return {
        "operators": Counter(node.op_type for node in graph.node),
        "turns": [list(axes) for axes in turns if len(axes) > 2],
    }


PARTS: dict[str, Callable[[], Answer]] = {
    "threads": threads,
    "dropout": dropout,
    **OWN_PARTS,
    "modes": modes,
    "refusals": refusals,
    "recomputation": recomputation,
    "packed": packed,
}


SWEPT = ("without products", "autocast")


def main() -> None:
    note_sessions()
    warnings.filterwarnings("ignore", message="Using padding='same' with even kernel")
    groups = {group: [name for name in CASES if group_of(name) == group] for group in GROUPS}
    compared = {group: partial(compare, names) for group, names in groups.items()}
    compared["without products"] = partial(compare, WITHOUT_PRODUCTS, ("no_products", "families"))
    write_answers({**compared, **PARTS}, SWEPT)


if __name__ == "__main__":
    main()
