"""Gradients of a graph by central finite differences of its loss."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.artifacts.generation.build import with_losses
from workbench.artifacts.generation.forward_graphs import forward_graphs
from workbench.artifacts.generation.parameters import choose_parameters
from workbench.artifacts.request import ArtifactsRequest
from workbench.data import Batch
from workbench.data.target_specs import target_specs
from workbench.errors import UntrainableError
from workbench.models import load_saved
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.ort.graph.gradient import parameters_as_inputs
from workbench.ort.graph.inference import InferenceSession
from workbench.trainable import make_trainable
from workbench.verification.double_precision import in_double_precision
from workbench.verification.mixed_run import MixedRun
from workbench.verification.request import VerificationAnswer, VerificationRequest

if TYPE_CHECKING:
    import onnx

LONGEST_S = 90.0
"""Time limit: fewer entries per parameter are used if all would take longer, and float32 if one
entry per parameter would."""

Feeds = dict[str, np.ndarray]


class Method(NamedTuple):
    """A method of running the graph."""

    source: str
    load: Callable[[], Callable[[Feeds], float]]
    """Returns a function from the inputs to the loss."""
    dtype: type[np.floating]
    step: float
    """Step size, relative to the entry if its absolute value is above 1."""
    tolerance: float
    """Expected relative error of a gradient."""


def measure(
    request: VerificationRequest, batch: Batch, report: Callable[[str], None]
) -> VerificationAnswer:
    """Central differences (L(w + h) - L(w - h)) / 2h at the first entries of the request.

    In float64, where operators without a float64 kernel in ONNX Runtime are run by the reference
    evaluator of the onnx package. If that fails or takes too long, in float32, with an error of
    some percent.

    Raises:
        WorkbenchError: the graph cannot be run.
    """
    from safetensors.numpy import load_file

    entries = load_file(request.entries_path)
    graph, weights = _loss_graph(request, batch, report)
    fed = [*batch.inputs, *batch.targets]
    names = [value.name for value in graph.graph.input]
    feeds = dict(zip(names[: len(fed)], fed, strict=True)) | weights
    reasons = []
    for method in _methods(graph, request.config.threads):
        report(f"measuring gradients by {method.source}")
        try:
            run = method.load()
            started = time.perf_counter()
            loss = run(_as(feeds, method.dtype))
            seconds = (time.perf_counter() - started) * 2 * len(entries)
        except Exception as error:  # each library has its own
            reasons.append(f"  - {method.source}: {type(error).__name__}: {str(error).strip()}")
            continue
        if method.dtype is np.float64 and seconds > LONGEST_S:
            reasons.append(f"  - {method.source}: it would take {seconds:.0f} s.")
            continue
        each = max(1, int(LONGEST_S / seconds))
        taken = {name: places[:each] for name, places in entries.items()}
        return VerificationAnswer(
            loss, _differences(run, method, feeds, taken), method.source, method.tolerance
        )
    raise UntrainableError(
        f"The graph of {request.model.name!r} cannot be run to measure its gradients:\n"
        + "\n".join(reasons)
    )


def _differences(
    run: Callable[[Feeds], float], method: Method, feeds: Feeds, entries: Mapping[str, np.ndarray]
) -> Feeds:
    """The gradient at each entry, float64, by parameter."""
    made = _as(feeds, method.dtype)
    gradients: Feeds = {}
    for name, places in entries.items():
        parameter = made[name].reshape(-1)
        found = np.zeros(len(places))
        for index, place in enumerate(places):
            before = parameter[place]
            step = method.step * max(1.0, abs(float(before)))
            losses, moved = [], []
            for direction in (step, -step):
                parameter[place] = before + direction
                moved.append(float(parameter[place]))
                losses.append(run(made))
            parameter[place] = before
            found[index] = (losses[0] - losses[1]) / (moved[0] - moved[1])
        gradients[name] = found
    return gradients


def _methods(graph: onnx.ModelProto, threads: int) -> Iterator[Method]:
    """The methods of running the graph, most accurate first."""
    double = in_double_precision(graph)

    def native(model: onnx.ModelProto) -> Callable[[Feeds], float]:
        session = InferenceSession(model.SerializeToString(), threads)
        return lambda feeds: float(session.run(feeds)[0])

    name = "finite differences in float"
    yield Method(f"{name}64", lambda: native(double), np.float64, 1e-6, 1e-5)
    mixed = f"{name}64, in part by onnx.reference"
    yield Method(mixed, lambda: MixedRun(double, threads).run, np.float64, 1e-6, 1e-5)
    yield Method(f"{name}32", lambda: native(graph), np.float32, 1e-2, 0.05)


def _loss_graph(
    request: VerificationRequest, batch: Batch, report: Callable[[str], None]
) -> tuple[onnx.ModelProto, Feeds]:
    """The forward graph with the loss as its only output, and its parameters, which are inputs.

    The graph is not rewritten for training, except that batch normalization uses batch statistics
    as in training, and that randomness is disabled.
    """
    model = load_saved(request.model)
    forward = forward_graphs(model, report)
    config = request.config
    wanted = ArtifactsRequest(
        model=request.model,
        directory=request.work,
        losses=config.losses,
        optimizer=config.optimizer,
        weight_decay=config.effective_weight_decay,
        requires_grad=config.requires_grad,
        targets=target_specs(batch.targets),
    )
    graph = with_losses(forward.training, wanted, disable_randomness=True)
    del graph.graph.output[1:]
    kept = choose_parameters(forward, graph, config.requires_grad)
    _, rewrites = make_trainable(graph, kept.trainable)
    _use_batch_statistics(graph, {update.buffer for update in rewrites.state_updates})
    weights = {name: forward.weights[name] for name in kept.trainable}
    return parameters_as_inputs(graph, list(weights)), weights


def _use_batch_statistics(model: onnx.ModelProto, updated: set[str]) -> None:
    from onnx import helper

    outputs = output_specs(model)
    for node in model.graph.node:
        if node.op_type != "BatchNormalization" or node.input[3] not in updated:
            continue
        others = [attribute for attribute in node.attribute if attribute.name != "training_mode"]
        del node.attribute[:]
        node.attribute.extend([*others, helper.make_attribute("training_mode", 1)])
        del node.output[1:]
        node.output.extend([f"{node.output[0]}.mean", f"{node.output[0]}.var"])
    check_rewrite(model, "statistics of the batch", outputs)


def _as(feeds: Feeds, dtype: type[np.floating]) -> Feeds:
    """Copies of `feeds`, the float32 ones as `dtype`."""
    return {
        name: np.array(value, dtype=dtype if value.dtype == np.float32 else value.dtype, order="C")
        for name, value in feeds.items()
    }
