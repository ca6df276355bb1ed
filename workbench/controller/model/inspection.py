"""Rows of the layer table: the size of each layer, and whether it is trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.models import Layer

LayerState = str
"""State of a layer: "trains", "part" (some of its parameters), "frozen", "none" (no parameters),
"rewritten", "cannot" or "" (unknown)."""


class LayerRow(NamedTuple):
    """One layer."""

    layer: Layer
    state: LayerState = ""
    why: str = ""
    """How its operators are rewritten, or why they cannot be trained, in sentences."""


def layer_rows(
    layers: Sequence[Layer],
    parameters: Mapping[str, tuple[int, ...]],
    trained: Iterable[str] | None = None,
    findings: Mapping[str, Sequence[Any]] | None = None,
) -> list[LayerRow]:
    """Rows of a model's layers.

    Args:
        layers: as returned by `Model.layers`.
        parameters: shapes of all parameters, by name.
        trained: names of the parameters that are trained; None: not known yet.
        findings: by layer, as returned by `Check.by_layer`; None: not known yet.
    """
    owned = _owned(layers, parameters)
    chosen = None if trained is None else set(trained)
    all_trained = chosen is not None and chosen >= set(parameters)
    rows = []
    for layer in layers:
        own = owned[layer.name]
        found = list((findings or {}).get(layer.name, ()))
        notes = dict.fromkeys(
            " ".join(part for part in (f"{one.op}:", one.note, one.remedy) if part) for one in found
        )
        state = _state(own, chosen, found, checked=findings is not None)
        if state == "none" and layer.parameters:  # which have other names, as in an ONNX file
            state = "trains" if all_trained else ""
        rows.append(LayerRow(layer, state, " ".join(notes)))
    return rows


def with_frozen(
    rows: Sequence[LayerRow], parameters: Iterable[str], trained: Iterable[str] | None
) -> list[LayerRow]:
    """The rows, of which the layers whose parameters are frozen by choice, or some of them, say so;
    of those that are rewritten the layers without a trained parameter.

    Args:
        rows: of a model whose layers can be trained as `state` says.
        parameters: names of all parameters.
        trained: names of those that are trained; None: all.
    """
    if trained is None:
        return list(rows)
    owned = _owned([row.layer for row in rows], parameters)
    chosen = set(trained)
    found = []
    for row in rows:
        own, state = owned[row.layer.name], row.state
        if own and state in ("trains", "part", "rewritten") and chosen.isdisjoint(own):
            state = "frozen"
        elif state == "trains" and not chosen.issuperset(own):
            state = "part"
        found.append(row._replace(state=state))
    return found


def _owned(layers: Sequence[Layer], parameters: Iterable[str]) -> dict[str, list[str]]:
    """Names of the parameters of each layer: those with its name as prefix."""
    owned: dict[str, list[str]] = {layer.name: [] for layer in layers}
    for name in parameters:
        scope = name.rpartition(".")[0] or "(root)"
        if scope in owned:
            owned[scope].append(name)
    return owned


def _state(
    own: Sequence[str], trained: set[str] | None, found: Sequence[Any], *, checked: bool
) -> LayerState:
    if any(one.state == "cannot" for one in found):
        return "cannot"
    if found:
        return "rewritten"
    if trained is None:
        return ""
    if not own:
        return "none" if checked else ""
    if trained.isdisjoint(own):
        return "frozen"
    return "trains" if trained.issuperset(own) else "part"
