"""Exports modules for training on device and writes down what is said of them.

python -m tests.export.effects.refused_effects_probe RESULT_JSON NAME ...
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from tests.answers import write_answers
from tests.ort.ortmodule.calls.effect_cases import WITHIN
from workbench.artifacts.generation.forward_graphs import forward_graphs
from workbench.errors import UntrainableError
from workbench.load import load_model


def said_of(name: str) -> str:
    examples = np.random.default_rng(0).normal(size=(2, 4)).astype(np.float32)
    model = load_model(WITHIN[name].build(), example_inputs=examples)
    try:
        forward_graphs(model, lambda _: None)
    except UntrainableError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    write_answers({name: partial(said_of, name) for name in sys.argv[2:]})
