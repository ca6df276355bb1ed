"""Statistics of training on device, reported at the end of a run."""

from __future__ import annotations

from workbench.artifacts import Artifacts
from workbench.engines.ondevice.device_kernels import ChosenKernels, operator_state
from workbench.engines.tuning_state import tuning_state
from workbench.run_folder.statistics import OWN_KERNELS, GraphStatistics, OptionState, Statistics
from workbench.settings.config import TrainingConfig


def device_statistics(
    config: TrainingConfig, artifacts: Artifacts, load_s: float, kernels: ChosenKernels
) -> Statistics:
    """Statistics of the graph in `artifacts`, loaded in `load_s` seconds with `kernels`."""
    built = artifacts.manifest.get("statistics")
    options = (
        *(kernels.state, operator_state(artifacts)),
        *(_label_sparsity(artifacts), tuning_state(config)),
    )
    # Artifacts that were generated before these were kept have none.
    if built is None:
        return Statistics(engine=config.engine, options=options)
    graph_s = built.get("cache_s")
    if artifacts.cache_s is not None:
        # The forward graph was obtained by the earlier run, from the cache or not.
        built = {**built, "export_s": built["export_s"] if graph_s is None else graph_s}
        graph_s = artifacts.cache_s
    graph = GraphStatistics(
        **{**built, "cache_s": graph_s},
        load_s=load_s,
        threads=config.threads,
        kernels={operator: {OWN_KERNELS: count} for operator, count in kernels.nodes.items()},
    )
    return Statistics(engine=config.engine, graphs=(graph,), options=options)


def _label_sparsity(artifacts: Artifacts) -> OptionState:
    """The effect of `label_sparsity` when the artifacts were generated."""
    option, losses = "label_sparsity", artifacts.manifest.get("sparse_losses", 0)
    if not artifacts.manifest.get("label_sparsity"):
        return OptionState(option=option, state="off", reason="")
    reason = "the graph has no loss that ignores labels and whose logits nothing else reads"
    if losses:
        reason = f"in {losses} {'loss' if losses == 1 else 'losses'} of the graph"
    return OptionState(option=option, state="on", reason=reason)
