"""Recomputation of values in the backward pass, by ONNX Runtime's memory optimizer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from workbench.files.temporary_folder import temporary_folder
from workbench.settings.option_report import OptionReport
from workbench.settings.ortmodule_options import ORTModuleOptions

_WITHIN_LAYERS = "1:1"
_ANYWHERE = "1:0"
"""Where ONNX Runtime searches subgraphs of several operators: within transformer layers or
anywhere."""


class RecomputePlan(NamedTuple):
    """Subgraphs that are computed twice."""

    subgraphs: tuple[str, ...]
    """Each as operators:kind:count; alternatives for one place are joined with commas."""
    probe: str
    """The search mode in which ONNX Runtime finds them."""
    kept_nodes: int
    """Nodes of the optimized graph that recomputes nothing."""


NOTHING = RecomputePlan((), _ANYWHERE, 0)


def plan_recomputation(agent: Any, nodes: int, options: ORTModuleOptions) -> RecomputePlan:
    """Choose the subgraphs of a level, or those listed in a config.

    Args:
        agent: a native TrainingAgent of the graph, which recomputes nothing.
        nodes: of its optimized graph.
        options: with a level or a config.
    """
    level = options.memory_optimizer_level
    if not level:
        return RecomputePlan(options.recompute_config, _ANYWHERE, nodes)
    _, found = agent.get_serialized_ortmodule_memory_stat("", _WITHIN_LAYERS, False)
    chosen = []
    for subgraphs in found:
        # Kind 1 saves all of the kept memory; kind 2 has to keep a part.
        fitting = [each for each in subgraphs.split(",") if int(each.split(":")[1]) <= level]
        if fitting:
            chosen.append(",".join(fitting))
    return RecomputePlan(tuple(chosen), _WITHIN_LAYERS, nodes)


@contextmanager
def recomputing(session_options: Any, plan: RecomputePlan) -> Iterator[None]:
    """Context in which a session loaded with `session_options` follows `plan`."""
    if not plan.subgraphs:
        yield
        return
    with temporary_folder() as folder:
        path = folder / "recompute.json"
        path.write_text(json.dumps(plan.subgraphs), encoding="utf-8")
        session_options.add_session_config_entry("optimization.memory_optimizer_config", str(path))
        session_options.add_session_config_entry(
            "optimization.enable_memory_probe_recompute_config", plan.probe
        )
        yield


def recompute_report(
    options: ORTModuleOptions, plan: RecomputePlan, nodes: int
) -> tuple[OptionReport, OptionReport]:
    """The effect of level and config, in a graph that has `nodes` nodes with `plan`."""
    level, config = options.memory_optimizer_level, options.recompute_config
    if not plan.subgraphs:
        result = "the graph has nothing that could be computed again"
    elif nodes > plan.kept_nodes:
        again = ", ".join(plan.subgraphs)
        result = f"{nodes} nodes in place of {plan.kept_nodes}, to compute again {again}"
    else:
        result = f"the graph keeps no result of {', '.join(plan.subgraphs)}"
    return (
        OptionReport("memory_optimizer_level", "on", f"level {level}: {result}")
        if level
        else OptionReport("memory_optimizer_level", "off"),
        OptionReport("recompute_config", "on", result)
        if config
        else OptionReport("recompute_config", "off"),
    )
