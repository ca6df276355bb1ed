"""Trains programs beside PyTorch on both engines, each in a fork, and prints {name: answers}.

python -m tests.functions.probe [NAME ...]
"""

from __future__ import annotations

import copy
import json
import sys
from functools import partial
from typing import Any

from torch import Tensor, nn

from tests.coverage import parity
from tests.coverage.case import Variant, normal
from tests.forked import outcome
from tests.functions.programs import PROGRAMS, REFUSED, Model
from tests.parity import warm_up
from workbench.export.export import export_onnx
from workbench.ort.native import native
from workbench.ort.ortmodule.capture.export import ForwardGraph


class Prefixed(nn.Module):
    """Gives the parameters the names that ORTModule's export gives them."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.module(x)
        return result


def answers(name: str) -> dict[str, Any]:
    program = {**PROGRAMS, **REFUSED}[name]
    variant = Variant(lambda: Model(program), normal((6,)))
    module, steps = parity.reference(variant)
    return {
        "ondevice": outcome(partial(_ondevice, module, steps)),
        "ortmodule": outcome(partial(_ortmodule, module, steps, variant)),
    }


def _ondevice(module: nn.Module, steps: list[parity.Step]) -> parity.Differences:
    graph = export_onnx(
        Prefixed(copy.deepcopy(module)),
        steps[0].inputs,
        input_names=["x"],
        output_names=["y"],
        training=True,
    )
    return parity.ondevice(module, steps, ForwardGraph(graph, ("x",), None, (), ()))


def _ortmodule(module: nn.Module, steps: list[parity.Step], variant: Variant) -> parity.Differences:
    return parity.ortmodule(module, steps, parity.export(module, steps[0], variant))


def main(*names: str) -> None:
    native()
    warm_up()
    found = {name: answers(name) for name in names or (*PROGRAMS, *REFUSED)}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
