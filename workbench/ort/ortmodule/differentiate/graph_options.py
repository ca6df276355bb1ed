"""Options that decide how ONNX Runtime differentiates a graph, and the effect of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.ort.graph.padding.remove_padding import PaddingReport
from workbench.ort.native import default_log_severity, native
from workbench.ort.ortmodule.aten import Kernels, Libraries
from workbench.ort.ortmodule.differentiate.own_kernels import OwnKernels
from workbench.settings.operator_kernels import libraries_of, sentence_of
from workbench.settings.option_report import OptionReport, OptionStateName
from workbench.settings.ortmodule_options import ORTModuleOptions

if TYPE_CHECKING:
    import onnx

_LEFT_OUT = {
    "no_linear": ", and no linear layer or attention",
    "no_products": ", and no product",
    "dropout": ", of Dropout alone",
}
"""Operators left to ONNX Runtime, by `pytorch_kernels`, in words."""

_GRAPH_OPTIONS = (
    "recompute_config",
    "memory_optimizer_level",
    "memory_efficient_gradients",
    "compute_optimizer",
    "label_sparsity",
    "embedding_sparsity",
    "cast_propagation_level",
    "cast_propagation_strategy",
    "cast_propagation_allow",
    "gelu_approximation",
)


class Differentiated(NamedTuple):
    """Names of a forward graph's values, by their role in the gradient."""

    state: list[str]
    """Parameters and buffers; inputs of the graph."""
    trained: list[str]
    """Of these, those that get a gradient."""
    inputs: list[str]
    """Arguments of the module that get one."""


def native_gradient(model: bytes, names: Differentiated, options: ORTModuleOptions) -> Any:
    """A native OrtModuleGraphBuilder that has built the gradient of `model`."""
    c = native()
    configuration = c.OrtModuleGraphBuilderConfiguration()
    configuration.initializer_names = names.state
    configuration.initializer_names_to_train = names.trained
    configuration.input_names_require_grad = names.inputs
    configuration.build_gradient_graph = True
    configuration.loglevel = getattr(c.Severity, options.log_level.upper())
    configuration.use_memory_efficient_gradient = options.memory_efficient_gradients
    casts = c.PropagateCastOpsConfiguration()
    casts.level = options.cast_propagation_level
    casts.allow = list(options.cast_propagation_allow)
    casts.strategy = getattr(c.PropagateCastOpsStrategy, options.cast_propagation_strategy.upper())
    transformers = c.TrainingGraphTransformerConfiguration()
    transformers.enable_compute_optimizer = options.compute_optimizer
    transformers.propagate_cast_ops_config = casts
    builder = c.OrtModuleGraphBuilder()
    with default_log_severity(int(configuration.loglevel)):
        builder.initialize(model, configuration)
        builder.build(transformers)
    return builder


def graph_report(
    model: onnx.ModelProto, gradient: bytes, names: Differentiated, options: ORTModuleOptions
) -> tuple[OptionReport, ...]:
    """The effects of the options that `native_gradient` takes.

    To see whether an option changed the graph, it is built again without the option.

    Args:
        model: the forward graph.
        gradient: its gradient, built with all `options`.
        names: as it was built.
        options: as it was built.
    """

    def changed_by(option: str, off: object) -> bool:
        others = options.model_copy(update={option: off})
        without = native_gradient(model.SerializeToString(), names, others)
        return bool(without.get_gradient_model() != gradient)

    def report() -> Iterator[OptionReport]:
        read = ", ".join(options.training_outputs)
        yield OptionReport("training_outputs", "on" if read else "off", read)
        name = "memory_efficient_gradients"
        if not options.memory_efficient_gradients:
            yield OptionReport(name, "off")
        elif made := _count(gradient, "InvertibleLayerNormalizationGrad"):
            yield OptionReport(name, "on", f"for {made} LayerNormalization")
        else:
            yield OptionReport(name, "on", "no node of the graph has such a gradient")
        name = "compute_optimizer"
        if not options.compute_optimizer:
            yield OptionReport(name, "off")
        elif changed_by(name, False):
            yield OptionReport(name, "on", "Gather and Slice were moved before other layers")
        else:
            yield OptionReport(name, "on", "the graph has nothing that it could move")
        yield from _cast_report(model, options, changed_by)

    return tuple(report())


def changed_options_hint(options: ORTModuleOptions) -> str:
    """A sentence for an error, on the options that may be its cause; empty if all are default."""
    changed = options.model_dump(include=set(_GRAPH_OPTIONS), exclude_defaults=True)
    if not changed:
        return ""
    given = ", ".join(f"{name}={value!r}" for name, value in changed.items())
    return f" Or try without the options that are not at their defaults: {given}."


def _cast_report(
    model: onnx.ModelProto, options: ORTModuleOptions, changed_by: Callable[[str, object], bool]
) -> Iterator[OptionReport]:
    level, strategy = options.cast_propagation_level, options.cast_propagation_strategy
    state: OptionStateName = "off" if level < 0 or strategy == "none" else "on"
    reason = ""
    if state == "on":
        # By default it is on; a graph without half precision need not be built twice.
        if strategy == "flood_fill" and not _computes_in_half(model):
            reason = "the graph computes nothing in half precision"
        elif changed_by("cast_propagation_level", -1):
            reason = f"level {level} changed the casts of the graph"
        else:
            reason = f"level {level} found nothing to change"
    yield OptionReport("cast_propagation_level", state, reason)
    yield OptionReport("cast_propagation_strategy", state, strategy)
    allowed = ", ".join(options.cast_propagation_allow)
    yield OptionReport("cast_propagation_allow", state if allowed else "off", allowed)


def label_report(options: ORTModuleOptions, rewritten: int) -> OptionReport:
    """The effect of `label_sparsity`, which has rewritten `rewritten` losses."""
    if not options.label_sparsity:
        return OptionReport("label_sparsity", "off")
    if rewritten:
        losses = "1 loss" if rewritten == 1 else f"{rewritten} losses"
        return OptionReport("label_sparsity", "on", f"in {losses} of the graph")
    reason = "the graph has no loss that ignores labels and whose logits nothing else reads"
    return OptionReport("label_sparsity", "on", reason)


def padding_report(options: ORTModuleOptions, padding: PaddingReport) -> OptionReport:
    """The effect of `embedding_sparsity`."""
    name = "embedding_sparsity"
    if options.embedding_sparsity == "off":
        return OptionReport(name, "off")
    if padding.products:
        masks = " and ".join(padding.masks)
        reason = f"{padding.products} matrix products leave out padding, marked by {masks}"
        return OptionReport(name, "on", reason)
    return OptionReport(name, "on", f"nothing is left out: {padding.reason}")


def gelu_report(options: ORTModuleOptions, replaced: int) -> OptionReport:
    """The effect of `gelu_approximation`, which has replaced `replaced` nodes."""
    if not options.gelu_approximation:
        return OptionReport("gelu_approximation", "off")
    reason = f"for {replaced} GELU" if replaced else "the graph has no exact GELU"
    return OptionReport("gelu_approximation", "on", reason)


def _count(model: bytes, op_type: str) -> int:
    import onnx

    return sum(node.op_type == op_type for node in onnx.load_from_string(model).graph.node)


def _computes_in_half(model: onnx.ModelProto) -> bool:
    from onnx import TensorProto

    half = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
    return any(
        attribute.name == "to" and attribute.i in half
        for node in model.graph.node
        if node.op_type == "Cast"
        for attribute in node.attribute
    )


def kernels_report(options: ORTModuleOptions, kernels: Kernels, measured: str) -> OptionReport:
    """The effect of `pytorch_kernels`: the number of nodes and the reason, or why it is not
    available."""
    name = "pytorch_kernels"
    if not Libraries(options).calls_any:
        return OptionReport(name, "off")
    if kernels.why_not:
        return OptionReport(name, "not available here", kernels.why_not)
    but = _LEFT_OUT.get(options.pytorch_kernels, "")
    why = f"; {measured}" if measured else ""
    return OptionReport(name, "on", f"they run {kernels.replaced} nodes{but}{why}")


def own_kernels_report(options: ORTModuleOptions, own: OwnKernels) -> OptionReport:
    """The effect of `device_kernels`, and of families of the workbench by `operator_kernels`."""
    name = "device_kernels"
    if own.why_not:
        return OptionReport(name, "not available here", own.why_not)
    if own.nodes:
        reason = f"they run {sum(own.nodes.values())} nodes of {len(own.nodes)} operators"
        return OptionReport(name, "on", reason)
    if not options.device_kernels:
        return OptionReport(name, "off")
    return OptionReport(name, "on", "no operator of the graph has one")


def families_report(options: ORTModuleOptions) -> OptionReport:
    """State of the option `operator_kernels`."""
    chosen = libraries_of(options.operator_kernels)
    state: OptionStateName = "on" if chosen else "off"
    return OptionReport("operator_kernels", state, sentence_of(chosen))
