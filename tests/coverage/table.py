"""Every case, by group: what the tests run and the document lists."""

from __future__ import annotations

import re

from tests.coverage import (
    cases_activations,
    cases_attention,
    cases_convolutions,
    cases_experts,
    cases_layers,
    cases_lengths,
    cases_masks,
    cases_mathematics,
    cases_normalization,
    cases_own,
    cases_pooling,
    cases_reductions,
    cases_tensors,
    cases_weights,
)
from tests.coverage.case import Case
from tests.representative import representative

GROUPS: dict[str, tuple[Case, ...]] = {
    "Activations": cases_activations.CASES,
    "Convolution, up-sampling, padding": cases_convolutions.CASES,
    "Pooling": cases_pooling.CASES,
    "Normalization": cases_normalization.CASES,
    "Linear, embedding and recurrent layers": cases_layers.CASES,
    "Recurrent layers, variable sequence length": cases_lengths.CASES,
    "Attention": cases_attention.CASES,
    "Transformers with masks": cases_masks.CASES,
    "Elementwise functions": cases_mathematics.CASES,
    "Reductions, extrema, sorting": cases_reductions.CASES,
    "Indexing, concatenation, reshaping, products": cases_tensors.CASES,
    "Experts, and losses that sort by values": cases_experts.CASES,
    "Weights": cases_weights.CASES,
    "User modules": cases_own.CASES,
}
CASES: dict[str, Case] = {case.name: case for group in GROUPS.values() for case in group}


WATCHED = (
    *("Conv1d, depthwise", "Conv3d, grouped", "weight tied, one layer twice"),
    *("scaled_dot_product_attention, least number for a row", "experts, rows by a mask"),
)
"""Cases that were wrong, of kinds whose other cases were right."""


def representatives() -> list[str]:
    """Names of the cases that every run of the tests has: of some kinds, and those watched."""
    chosen: dict[tuple[str, str], str] = {}
    for group, cases in GROUPS.items():
        for case in cases:
            kind = re.split(r"[,(]| at | by | of ", case.name)[0].strip()
            chosen.setdefault((group, kind), case.name)
    names = dict.fromkeys((*chosen.values(), *WATCHED))
    return list(representative(names, every=48, always=WATCHED))
