"""One module under PyTorch and under each of ONNX Runtime's two ways to train, step by step."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import torch
from onnx import helper
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes

from tests.coverage.case import Variant
from workbench import ORTModule
from workbench.engines.torch_base.disabled_randomness import disable_randomness
from workbench.ort.graph.gradient import build_training_graph, parameters_as_inputs
from workbench.ort.kernel_library.load import device_kernels
from workbench.ort.ondevice.checkpoint import write_checkpoint
from workbench.ort.ondevice.ondevice import TrainingSession
from workbench.ort.ondevice.optimizers import make_optimizer_model
from workbench.ort.ortmodule.capture import cached_exports
from workbench.ort.ortmodule.capture.export import STATE_PREFIX, ForwardGraph, export_forward
from workbench.ort.ortmodule.capture.nested_values.structure import flatten
from workbench.ort.ortmodule.capture.sizes import Axes
from workbench.trainable import make_trainable, without_randomness
from workbench.trainable.make import leading_to_outputs

BATCHES = (4, 3)
"""Rows of each step. The graph is exported with the first."""

FLOOR = 0.01
"""Part of the largest gradient below which a parameter's own largest does not count: what is
rounding noise alone, such as that of a bias before a batch normalization, has no digits."""

Differences = dict[str, float]
"""Largest difference, over the largest number of the reference, of "forward" (the outputs), "loss"
and "gradient"."""


class Step(NamedTuple):
    """One batch, and what PyTorch makes of it."""

    inputs: tuple[Tensor, ...]
    target: Tensor
    output: Tensor
    loss: float
    gradients: dict[str, Tensor]
    """Of every parameter; zeros where PyTorch has none."""


def reference(variant: Variant) -> tuple[nn.Module, list[Step]]:
    """The module, whose weights no step has changed, and its steps."""
    torch.manual_seed(0)
    module = variant.build()
    runner = copy.deepcopy(module)
    generator = torch.Generator().manual_seed(1)
    steps = []
    for rows in BATCHES:
        inputs = variant.sample(rows, generator)
        with disable_randomness() if variant.draws else nullcontext():
            steps.append(one_step(runner, inputs, generator))
    return module, steps


def one_step(module: nn.Module, inputs: tuple[Tensor, ...], generator: torch.Generator) -> Step:
    module.zero_grad()
    output = module(*inputs)
    with _disable_current_modes():
        target = torch.randn(output.shape, generator=generator) * 2.0
    loss = nn.functional.mse_loss(output, target)
    loss.backward()
    gradients = {
        name: torch.zeros_like(value) if value.grad is None else value.grad.clone()
        for name, value in module.named_parameters()
    }
    return Step(inputs, target, output.detach(), loss.item(), gradients)


def export(module: nn.Module, step: Step, variant: Variant) -> ForwardGraph:
    """The graph that both engines train, edited as the variant asks."""
    tensors: list[Tensor] = []
    arguments = flatten((step.inputs, {}), tensors)
    named = ((0, "batch"), *variant.axes.items())
    axes: Axes = tuple(named if tensor.dim() else () for tensor in tensors)
    exported = export_forward(copy.deepcopy(module), arguments, tensors, axes)
    if variant.edit is not None:
        variant.edit(exported.model)
    if variant.draws:
        exported.model.CopyFrom(without_randomness(exported.model))
    return exported


def rewritten(module: nn.Module, exported: ForwardGraph) -> list[str]:
    """The rewrites of a graph by `make_trainable`: each op and how it was rewritten."""
    graph = exported.model
    _, report = make_trainable(graph, leading_to_outputs(graph, trained_names(module)))
    return list(dict.fromkeys(f"{found.op}: {found.note}" for found in report.rewritten))


def ortmodule(module: nn.Module, steps: Sequence[Step], exported: ForwardGraph) -> Differences:
    """Differences of ORTModule, which is spared an export of its own."""
    cached_exports.export_forward = lambda *_, **__: exported  # type: ignore[assignment]
    wrapped = ORTModule(module)
    worst = Worst()
    for step in steps:
        module.zero_grad()
        output = wrapped(*step.inputs)
        loss = nn.functional.mse_loss(output, step.target)
        loss.backward()
        got = {
            name: value.grad.numpy()
            for name, value in module.named_parameters()
            if value.grad is not None
        }
        worst.meet(step, output.detach().numpy(), loss.item(), got)
    return worst.differences


def ondevice(module: nn.Module, steps: Sequence[Step], exported: ForwardGraph) -> Differences:
    """Differences of on-device training at a learning rate of zero: by ONNX Runtime's kernels and,
    where the graph has nodes for them, by the workbench's."""
    graph = exported.model
    trainable = leading_to_outputs(graph, trained_names(module))
    worst = Worst()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_graphs(graph, module, trainable, folder)
        natives = [session(folder)]
        if (library := device_kernels().library) and (folder / "kernels.onnx").exists():
            natives.append(session(folder, kernels=library))
        for native in natives:
            native.set_learning_rate(0.0)
            for step in steps:
                inputs = {
                    name: np.ascontiguousarray(value.numpy())
                    for name, value in zip(exported.inputs, step.inputs, strict=True)
                }
                # An input that the graph does not read has no place in it.
                fed = [inputs[value.name] for value in graph.graph.input if value.name in inputs]
                fed.append(step.target.numpy())
                _, output, *_ = native.eval_results(fed)
                loss = native.train_step(fed)
                got = {name.removeprefix(STATE_PREFIX): native.gradient(name) for name in trainable}
                worst.meet(step, output, loss, got)
    return worst.differences


def write_graphs(
    graph: onnx.ModelProto, module: nn.Module, trainable: list[str], folder: Path
) -> None:
    """Write what a session is made from; kernels.onnx only where nodes are for such kernels."""
    state = {STATE_PREFIX + name for name in module.state_dict(keep_vars=True)}
    held = [value.name for value in graph.graph.initializer if value.name in state]
    frozen = [name for name in held if name not in trainable]
    made, report = make_trainable(graph, trainable)
    made = _with_loss(made)
    training = build_training_graph(
        made,
        trainable=trainable,
        frozen=frozen,
        state_updates=report.state_updates,
        gradients=report.gradients,
    )
    onnx.save(training.model, folder / "training.onnx")
    if training.kernels is not None:
        onnx.save(training.kernels, folder / "kernels.onnx")
    # The rewritten forward pass, in training mode, in place of the eval model.
    onnx.save(parameters_as_inputs(made, [*trainable, *frozen]), folder / "eval.onnx")
    onnx.save(make_optimizer_model("sgd", 0.0), folder / "optimizer.onnx")
    write_checkpoint(graph, trainable, frozen, folder / "checkpoint")


def session(folder: Path, *, threads: int = 1, kernels: Path | None = None) -> TrainingSession:
    """Of what `write_graphs` wrote; by the workbench's kernels if their library is given."""
    return TrainingSession(
        checkpoint=folder / "checkpoint",
        training_model=folder / ("kernels.onnx" if kernels else "training.onnx"),
        eval_model=folder / "eval.onnx",
        optimizer_model=folder / "optimizer.onnx",
        threads=threads,
        seed=0,
        kernels=kernels,
    )


def _with_loss(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of `model` with its mean squared difference from a last input as first output."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    target = onnx.ValueInfoProto()
    target.CopyFrom(graph.output[0])
    target.name = "target"
    graph.input.append(target)
    for op, inputs, output in (
        ("Sub", [graph.output[0].name, "target"], "loss.difference"),
        ("Mul", ["loss.difference", "loss.difference"], "loss.squares"),
        ("ReduceMean", ["loss.squares"], "loss"),
    ):
        graph.node.append(helper.make_node(op, inputs, [output], output))
    graph.node[-1].attribute.append(helper.make_attribute("keepdims", 0))
    loss = helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, [])
    others = list(graph.output)
    del graph.output[:]
    graph.output.extend([loss, *others])
    return made


def trained_names(module: nn.Module) -> list[str]:
    return [STATE_PREFIX + name for name, value in module.named_parameters() if value.requires_grad]


class Worst:
    """The largest differences over steps."""

    def __init__(self) -> None:
        self.differences: Differences = {"forward": 0.0, "loss": 0.0, "gradient": 0.0}

    def meet(
        self, step: Step, output: np.ndarray, loss: float, gradients: Mapping[str, np.ndarray]
    ) -> None:
        """Take one step into account; a parameter without a gradient counts as one of zeros."""
        self._add("forward", output, step.output.numpy(), 0.0)
        self._add("loss", np.array(loss), np.array(step.loss), 0.0)
        floor = FLOOR * max(float(value.abs().max()) for value in step.gradients.values())
        for name, expected in step.gradients.items():
            got = gradients.get(name, np.zeros(expected.shape, np.float32))
            self._add("gradient", got, expected.numpy(), floor)

    def _add(self, what: str, got: np.ndarray, expected: np.ndarray, floor: float) -> None:
        if got.shape != expected.shape:
            raise AssertionError(f"{what} has shape {got.shape} and not {expected.shape}")
        largest = max(float(np.abs(expected).max()), floor, 1e-30)
        difference = float(np.abs(got - expected).max()) / largest
        # A comparison with NaN is false, and NaN must not pass for no difference.
        if not difference <= self.differences[what]:
            self.differences[what] = difference if np.isfinite(difference) else 1e30


def rounding(variant: Variant) -> float:
    """Largest of the differences of PyTorch in float64 from PyTorch in float32."""
    module, steps = reference(variant)
    exact = copy.deepcopy(module).double()
    worst = Worst()
    for step in steps:
        exact.zero_grad()
        inputs = [x.double() if x.is_floating_point() else x for x in step.inputs]
        output = exact(*inputs)
        loss = nn.functional.mse_loss(output, step.target.double())
        loss.backward()
        got = {
            name: value.grad.numpy()
            for name, value in exact.named_parameters()
            if value.grad is not None
        }
        worst.meet(step, output.detach().numpy(), loss.item(), got)
    return max(worst.differences.values())
