"""Ways of using a module, each written once and run with the plain module and with an ORTModule."""

from __future__ import annotations

from tests.ort.ortmodule.usage import UseCase, network
from tests.ort.ortmodule.usage_autograd import (
    OfOwnKind,
    autocast,
    autocast_results,
    autograd_around,
    subsets,
    switches,
    wrapped_twice,
)
from tests.ort.ortmodule.usage_hooks import (
    hooks,
    normalized,
    pruned,
    state_hooks,
    submodule_hooks,
    weight_norm,
)
from tests.ort.ortmodule.usage_results import (
    Results,
    Silent,
    Structured,
    structured,
    which_require_gradients,
    without_gradient,
)
from tests.ort.ortmodule.usage_sizes import (
    Embedded,
    FixedBatch,
    FixedLength,
    Positions,
    Tokens,
    fixed_batch,
    fixed_length,
    lengths,
    masked_lengths,
    no_rows,
    one_element,
    without_batch,
)
from tests.ort.ortmodule.usage_state import (
    Rated,
    Scaled,
    Shared,
    attributes,
    changed_attributes,
    checkpoints,
    copies,
    frozen_then_not,
    names,
    other_precision,
    other_shape,
    pickles,
    trained,
)

CASES: dict[str, UseCase] = {
    "lengths": UseCase(Embedded, lengths),
    "masked-lengths": UseCase(Tokens, masked_lengths),
    "without-batch": UseCase(Positions, without_batch, graphs=2),
    "fixed-batch": UseCase(FixedBatch, fixed_batch, graphs=2),
    "fixed-length": UseCase(FixedLength, fixed_length, graphs=2, sweep=True),
    "one-element": UseCase(Embedded, one_element, graphs=2, sweep=True),
    "no-rows": UseCase(network, no_rows),
    "structured": UseCase(Structured, structured, graphs=3),
    "which-require-gradients": UseCase(Results, which_require_gradients),
    "without-gradient": UseCase(Silent, without_gradient, graphs=2, sweep=True),
    "checkpoints": UseCase(network, checkpoints),
    "names": UseCase(network, names, graphs=0),
    "attributes": UseCase(Scaled, attributes, sweep=True),
    "changed-attributes": UseCase(Rated, changed_attributes),
    "copies": UseCase(network, copies),
    "pickles": UseCase(network, pickles),
    "frozen-then-not": UseCase(network, frozen_then_not, graphs=2),
    "shared": UseCase(Shared, trained, sweep=True),
    "other-precision": UseCase(network, other_precision, graphs=2, tolerance=5e-3),
    "other-shape": UseCase(network, other_shape, sweep=True),
    "subsets": UseCase(network, subsets, graphs=2),
    "autograd-around": UseCase(network, autograd_around),
    "switches": UseCase(network, switches),
    "hooks": UseCase(network, hooks, graphs=3),
    "state-hooks": UseCase(network, state_hooks, graphs=0),
    "submodule-hooks": UseCase(network, submodule_hooks),
    "weight-norm": UseCase(normalized, weight_norm),
    "pruned": UseCase(pruned, weight_norm, sweep=True),
    "autocast": UseCase(network, autocast, graphs=2, tolerance=2e-2),
    "autocast-results": UseCase(OfOwnKind, autocast_results, sweep=True),
    "within-another": UseCase(network, wrapped_twice),
}
