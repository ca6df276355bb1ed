"""`wb.check`: which operators of a model ONNX Runtime can train, and which are rewritten."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from workbench.artifacts.generation.forward_graphs import first_output_only, forward_graphs
from workbench.artifacts.generation.lora_graphs import adapted_forward
from workbench.artifacts.generation.parameters import choose_parameters
from workbench.errors import ModelError
from workbench.export.export import EXPORTERS
from workbench.files.temporary_folder import temporary_folder
from workbench.load import load_model
from workbench.lora.linear_weight import targeted_weights
from workbench.models import Model
from workbench.settings.config import make_config
from workbench.settings.lora import LoraOptions
from workbench.trainable import NodeFinding, State, find

if TYPE_CHECKING:
    import onnx
    import pandas as pd


@dataclass(frozen=True, slots=True)
class CheckedOp:
    """The nodes of one operator in the same state."""

    op: str
    state: State
    note: str
    """How it is rewritten, or why it cannot be trained."""
    remedy: str
    """Suggested fix if it cannot be trained."""
    count: int
    """Number of nodes."""
    layers: str
    """Comma-separated names of the layers that cannot be trained, if they are known."""

    @property
    def details(self) -> str:
        """Note, layers and remedy as sentences."""
        where = f"In {self.layers}." if self.layers else ""
        return " ".join(part for part in (self.note, where, self.remedy) if part)


class Check(NamedTuple):
    """The result of `wb.check`, one row per operator and state."""

    model: str
    ops: tuple[CheckedOp, ...]
    trainable_count: int = 0
    """Number of elements of the parameters that would be trained."""
    frozen_count: int = 0
    """Number of elements of the other parameters."""
    findings: tuple[NodeFinding, ...] = ()
    """One per node, in the order of the graph."""

    def by_layer(self) -> dict[str, tuple[NodeFinding, ...]]:
        """The nodes that are rewritten or cannot be trained, by the layer that they came from."""
        layers: dict[str, tuple[NodeFinding, ...]] = {}
        for found in self.findings:
            if found.layer and found.state in ("rewritten", "cannot"):
                layers[found.layer] = (*layers.get(found.layer, ()), found)
        return layers

    @property
    def ok(self) -> bool:
        """Whether the model can be trained."""
        return all(row.state != "cannot" for row in self.ops)

    @property
    def frame(self) -> pd.DataFrame:
        """Columns op, count, state, note, remedy, layers, in the order of the graph."""
        import pandas as pd

        columns = ["op", "count", "state", "note", "remedy", "layers"]
        return pd.DataFrame([asdict(row) for row in self.ops], columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """The result in JSON types."""
        rows = [asdict(row) for row in self.ops]
        return {
            "model": self.model,
            "ok": self.ok,
            "trainable_count": self.trainable_count,
            "frozen_count": self.frozen_count,
            "ops": rows,
        }

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if self.ok:
            rewritten = sum(row.count for row in self.ops if row.state == "rewritten")
            count = f"{rewritten} node{' is' if rewritten == 1 else 's are'} rewritten"
            suffix = f"; {count}" if rewritten else ""
            return f"{self.model} can be trained with ONNX Runtime{suffix}."
        return f"{self.model} cannot be trained with ONNX Runtime."

    @property
    def counts(self) -> str:
        """How many of the parameters' elements are trained, in one sentence."""
        total = self.trainable_count + self.frozen_count
        return f"Trained parameters: {self.trainable_count:,} of {total:,} elements."

    def __str__(self) -> str:
        width = max((len(row.op) for row in self.ops), default=0)
        lines = [f"{self.verdict} {self.counts}"]
        for row in self.ops:
            text = f"  {row.op:<{width}}  {row.count:>4}  {row.state}"
            lines.append(f"{text}: {row.details}" if row.details else text)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        import pandas as pd

        # Without this option pandas truncates long cells.
        with pd.option_context("display.max_colwidth", None):
            table: str = self.frame.to_html(index=False, border=0, justify="left")
        return f"<p>{escape(f'{self.verdict} {self.counts}')}</p>{table}"


def check(
    model: Model | str | Path | onnx.ModelProto,
    *,
    requires_grad: Sequence[str] | None = None,
    lora: LoraOptions | Mapping[str, Any] | None = None,
) -> Check:
    """Determine for each operator whether ONNX Runtime can train it; nothing is trained.

    The model is exported unless it is a graph. Native code is not run on it, so operators that
    crash ONNX Runtime are reported safely.

    Args:
        model: a `Model`, what `load_model` takes, or a forward graph whose initializers of rank 1
            and more are trained.
        requires_grad: names or patterns of the parameters to train; None: all, or with `lora` its
            adapters alone.
        lora: low-rank adaptation of a `Model`: a `LoraOptions`, or its fields as a dict.

    Raises:
        ModelError: it cannot be loaded or exported.
        ConfigError: a pattern matches no parameter.
    """
    patterns = None if requires_grad is None else tuple(requires_grad)
    if not _is_graph(model):
        loaded = model if isinstance(model, Model) else load_model(model)
        options = make_config({"lora": lora}).lora
        if options is not None:
            targeted_weights(loaded.linear_weights, loaded.parameter_shapes, options)
        return _check_model(loaded, patterns, options)
    graph = first_output_only(model)
    names = [value.name for value in graph.graph.initializer if value.dims]
    counts = {value.name: math.prod(value.dims) for value in model.graph.initializer}
    trainable = sum(counts[name] for name in names)
    findings = tuple(find(graph, names))
    return Check(model.graph.name, _rows(findings), trainable, 0, findings)


def _is_graph(model: object) -> TypeGuard[onnx.ModelProto]:
    # A graph can only exist if onnx is already loaded.
    loaded = sys.modules.get("onnx")
    return loaded is not None and isinstance(model, loaded.ModelProto)


def _check_model(model: Model, patterns: tuple[str, ...] | None, lora: LoraOptions | None) -> Check:
    """Check the graph of the first exporter, or of the next one if only that can be trained."""

    def of(exporters: tuple[str, ...]) -> Check:
        with temporary_folder() as folder:
            exported = forward_graphs(model, _ignore, exporters, folder)
            forward = adapted_forward(exported, lora, patterns)
            graph = first_output_only(forward.training)
            names = choose_parameters(forward, graph, None if lora else patterns).trainable
            sizes = {name: forward.weights[name].size for name in forward.parameters}
            trainable = sum(sizes[name] for name in names)
            frozen = sum(sizes.values()) - trainable
            findings = tuple(find(graph, names))
            return Check(model.name, _rows(findings), trainable, frozen, findings)

    first, *others = EXPORTERS
    found = of((first, *others))
    if found.ok or not model.has_module:
        return found
    try:
        other = of(tuple(others))
    except ModelError:
        return found
    return other if other.ok else found


def _rows(findings: Sequence[NodeFinding]) -> tuple[CheckedOp, ...]:
    kinds: dict[tuple[str, State, str, str], list[NodeFinding]] = {}
    for found in findings:
        kinds.setdefault((found.op, found.state, found.note, found.remedy), []).append(found)
    return tuple(
        CheckedOp(*kind, count=len(group), layers=_layers(group)) for kind, group in kinds.items()
    )


def _layers(group: Sequence[NodeFinding]) -> str:
    named = dict.fromkeys(found.layer for found in group if found.state == "cannot" and found.layer)
    return ", ".join(named)


def _ignore(_: str) -> None:
    """Progress is not reported."""
