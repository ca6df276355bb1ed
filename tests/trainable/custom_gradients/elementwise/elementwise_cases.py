"""Elementwise functions whose gradient is our own, by themselves and in forms that PyTorch's
exporter never writes.

Run as a script, like `gradient_table`: prints {case: outcome} of what `make_trainable` makes of
each. How they are at their corners is compared with PyTorch in `tests/coverage`.
"""

from __future__ import annotations

import json
from functools import partial

import numpy as np

from tests.forked import outcome
from tests.trainable.custom_gradients.gradient_table import CUBE, POSITIVE, Case, check, scalar
from workbench.ort.native import native

INSIDE = (np.tanh(CUBE) * 0.9).astype(np.float32)
APART = np.where(np.abs(CUBE) < 0.1, np.sign(CUBE) * 0.3, CUBE).astype(np.float32)
"""No number near zero."""
WIDE = (APART * 4).astype(np.float32)
LESS, MORE = CUBE - 0.3, CUBE + 0.3

CASES = {
    "Acos": Case("Acos", INSIDE),
    "Acosh": Case("Acosh", POSITIVE + 1),
    "Asin": Case("Asin", INSIDE),
    "Asinh": Case("Asinh"),
    "Atan": Case("Atan"),
    "Atanh": Case("Atanh", INSIDE),
    "Celu": Case("Celu", APART, attributes={"alpha": 0.6}),
    "Clip, least": Case("Clip", scalar(-0.26), (CUBE, "p", scalar(0.5))),
    "Clip, least alone": Case("Clip", scalar(-0.26), (CUBE, "p")),
    "Clip, most": Case("Clip", scalar(0.34), (CUBE, scalar(-0.5), "p")),
    "Clip, most alone": Case("Clip", scalar(0.34), (CUBE, None, "p")),
    "Clip, crossed bounds": Case("Clip", scalar(-0.7), (CUBE, scalar(0.5), "p")),
    "Cosh": Case("Cosh"),
    "Elu": Case("Elu", APART),
    "Elu, alpha": Case("Elu", APART, attributes={"alpha": 0.4}),
    "HardSigmoid": Case("HardSigmoid", WIDE),
    "HardSigmoid, alpha and beta": Case(
        "HardSigmoid", APART, attributes={"alpha": 0.7, "beta": 0.38}
    ),
    "HardSwish": Case("HardSwish", WIDE),
    "Mish": Case("Mish", WIDE),
    "Mod of p": Case("Mod", APART, ("p", scalar(0.62)), {"fmod": 1}),
    "Mod by p": Case("Mod", scalar(0.7), (np.round(POSITIVE) + scalar(0.3), "p"), {"fmod": 1}),
    "PRelu": Case("PRelu", APART, ("p", CUBE[0, :, :1])),
    "PRelu, slope": Case("PRelu", CUBE[0, :, :1], (CUBE, "p")),
    "Pow, exponent": Case("Pow", CUBE[0], (POSITIVE, "p")),
    "Pow, whole exponent": Case("Pow", APART, ("p", np.array(3, np.int64))),
    "Pow, several exponents": Case("Pow", APART, ("p", np.array([0, 1, 2, 3, 0, -1], np.int64))),
    "Pow, broadcast p": Case("Pow", POSITIVE[0, :, :1], ("p", CUBE)),
    "Selu": Case("Selu", APART),
    "Selu, alpha and gamma": Case("Selu", APART, attributes={"alpha": 0.5, "gamma": 1.5}),
    "Shrink": Case("Shrink", WIDE, attributes={"lambd": 0.33, "bias": 0.2}),
    "Sinh": Case("Sinh"),
    "Softplus": Case("Softplus", WIDE),
    "Softsign": Case("Softsign", APART),
    "Tan": Case("Tan", INSIDE),
    "ThresholdedRelu": Case("ThresholdedRelu", WIDE, attributes={"alpha": 0.33}),
}

if __name__ == "__main__":
    native()
    results = {name: outcome(partial(check, case, rewritten=True)) for name, case in CASES.items()}
    print(json.dumps(results))
