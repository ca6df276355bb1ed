"""A module trained by ONNX Runtime and by PyTorch on the same batches, and how they differ."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import nn

from workbench.data.target_specs import target_specs
from workbench.engines.torch_base.torch_losses import TotalLoss, all_outputs
from workbench.export.export import export_onnx
from workbench.losses.loss_list import as_losses
from workbench.ort.graph.gradient import build_training_graph, parameters_as_inputs
from workbench.ort.graph.rewrites.label_sparsity import leave_out_ignored_labels
from workbench.ort.losses.losses import append_losses
from workbench.ort.ondevice.checkpoint import write_checkpoint
from workbench.ort.ondevice.ondevice import TrainingSession
from workbench.ort.ondevice.optimizers import gradient_weight_decay, make_optimizer_model
from workbench.trainable import make_trainable

Arrays = tuple[np.ndarray, np.ndarray | tuple[np.ndarray, ...]]
"""Input and target of one batch, or targets."""

OPTIMIZERS = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}


Build = Callable[[], nn.Module]
"""Makes a module, without Dropout, that is the same after the same `torch.manual_seed`."""


@cache
def exported(build: Build, shape: tuple[int, ...]) -> onnx.ModelProto:
    """The graph of a module for inputs of this shape; what is asked for before a fork is shared."""
    torch.manual_seed(0)
    x = np.zeros(shape, np.float32)
    return export_onnx(build(), (x,), input_names=["x"], output_names=["y"], training=True)


def session(
    build: Build,
    batch: Arrays,
    folder: Path,
    *,
    loss: Any,
    optimizer: str,
    weight_decay: float,
    trainable: Collection[str],
    seed: int = 0,
) -> TrainingSession:
    """An on-device session that trains the module from its initial weights."""
    graph = exported(build, batch[0].shape)
    module = build()
    held = [value.name for value in graph.graph.initializer]
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    frozen = [name for name in held if name in state and name not in trainable]
    losses, targets = as_losses(loss), target_specs(targets_of(batch))
    with_loss = append_losses(graph, losses, targets=targets)
    eval_model = append_losses(graph, losses, targets=targets)
    del with_loss.graph.output[1:]
    leave_out_ignored_labels(with_loss)
    made, report = make_trainable(with_loss, trainable, frozen)
    training_model = build_training_graph(
        made,
        trainable=[name for name in held if name in trainable],
        frozen=frozen,
        state_updates=report.state_updates,
        gradients=report.gradients,
        weight_decay=gradient_weight_decay(optimizer, weight_decay),
    ).model
    onnx.save(training_model, folder / "training.onnx")
    onnx.save(parameters_as_inputs(eval_model, [*trainable, *frozen]), folder / "eval.onnx")
    onnx.save(make_optimizer_model(optimizer, weight_decay), folder / "optimizer.onnx")
    write_checkpoint(graph, list(trainable), frozen, folder / "checkpoint")
    return TrainingSession(
        checkpoint=folder / "checkpoint",
        training_model=folder / "training.onnx",
        eval_model=folder / "eval.onnx",
        optimizer_model=folder / "optimizer.onnx",
        threads=1,
        seed=seed,
    )


def train_both(
    build: Build,
    batches: Sequence[Arrays],
    *,
    loss: Any = "cross_entropy",
    optimizer: str = "sgd",
    optimizer_settings: dict[str, Any] | None = None,
    trained: Callable[[str], bool] = lambda name: True,
) -> dict[str, float]:
    """Train on `batches` with both.

    Returns:
        The largest differences: "loss" of any step, "gradient" of the first step relative to the
        largest, "weights" after the last, "buffers" after the last, "eval" of the outputs in
        evaluation mode on the last batch.
    """
    torch.manual_seed(0)
    torch.set_num_threads(1)
    reference = build()
    settings = optimizer_settings or {}
    names = [name for name, _ in reference.named_parameters() if trained(name)]
    for name, parameter in reference.named_parameters():
        parameter.requires_grad_(name in names)
    stepper = OPTIMIZERS[optimizer](
        [p for p in reference.parameters() if p.requires_grad], **settings
    )
    group = stepper.param_groups[0]
    graph = exported(build, batches[0][0].shape).graph
    names_of_outputs = [value.name for value in graph.output]
    loss_of = TotalLoss(as_losses(loss), names_of_outputs)
    with tempfile.TemporaryDirectory() as folder:
        native = session(
            build,
            batches[0],
            Path(folder),
            loss=loss,
            optimizer=optimizer,
            weight_decay=group["weight_decay"],
            trainable=names,
        )
        native.set_learning_rate(group["lr"])
        worst: dict[str, float] = {"loss": 0.0}
        for index, batch in enumerate(batches):
            x, targets = batch[0], targets_of(batch)
            got = native.train_step([x, *targets])
            tensors = [torch.from_numpy(target) for target in targets]
            value = loss_of(reference(torch.from_numpy(x)), tensors)
            stepper.zero_grad()
            value.backward()
            if index == 0:
                worst["gradient"] = _gradient_difference(native, reference, names, group)
            stepper.step()
            worst["loss"] = max(worst["loss"], abs(got - value.item()))
        worst["weights"] = _difference(native, dict(reference.named_parameters()), names)
        buffers = dict(reference.named_buffers())
        kept = [value.name for value in graph.initializer if value.name in buffers]
        worst["buffers"] = _difference(native, buffers, kept)
        _, output, *_ = native.eval_results([batches[-1][0], *targets_of(batches[-1])])
        with torch.no_grad():
            outputs = reference.eval()(torch.from_numpy(batches[-1][0]))
            expected = all_outputs(outputs)[0].numpy()
        worst["eval"] = float(np.abs(output - expected).max())
        return worst


def targets_of(batch: Arrays) -> tuple[np.ndarray, ...]:
    return batch[1] if isinstance(batch[1], tuple) else (batch[1],)


def _difference(
    native: TrainingSession, values: dict[str, torch.Tensor], names: Sequence[str]
) -> float:
    differences = [
        np.abs(native.parameter(name) - values[name].detach().numpy()).max() for name in names
    ]
    return float(max(differences, default=0.0))


def _gradient_difference(
    native: TrainingSession, reference: nn.Module, names: Sequence[str], group: dict[str, Any]
) -> float:
    """Of the gradients as ONNX Runtime keeps them: with sgd's weight decay already added."""
    values = dict(reference.named_parameters())
    scale, worst = 0.0, 0.0
    for name in names:
        gradient = values[name].grad
        assert gradient is not None
        expected = gradient.numpy()
        if "momentum" in group:
            # The native step has moved the weights already; its decay is of those before.
            before = native.parameter(name) + group["lr"] * native.gradient(name)
            expected = expected + group["weight_decay"] * before
        scale = max(scale, float(np.abs(expected).max()))
        worst = max(worst, float(np.abs(native.gradient(name) - expected).max()))
    return worst / scale


def warm_up() -> None:
    """Export once, so that forks of this process need not load the exporter again."""
    torch.set_num_threads(1)
    x = np.zeros((2, 3), np.float32)
    export_onnx(nn.Linear(3, 1), (x,), input_names=["x"], output_names=["y"], training=False)
    # The modules that this loaded stay: no collection need look through them again, in any fork.
    gc.freeze()
