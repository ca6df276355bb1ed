"""The user's line in an error's traceback and in a trace as text."""

from __future__ import annotations

import torch
from torch import nn

from workbench.export.user_line import failing_line, line_of_trace


class Fails(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(7)


def test_the_line_of_a_module_is_found_beneath_that_of_torch() -> None:
    try:
        nn.Sequential(Fails())(torch.zeros(4))
    except RuntimeError as error:
        wrapped = ValueError("another")
        wrapped.__cause__ = error
        line = failing_line(wrapped)
    assert line is not None
    assert line.endswith("test_user_line.py:13, in forward: return x.reshape(7)")
    assert failing_line(ValueError("never raised")) is None


def test_the_innermost_line_of_a_trace() -> None:
    trace = (
        f'  File "{nn.__file__}", line 3, in forward\n    x\n'
        '  File "/home/me/model.py", line 12, in forward\n    y\n'
        f'  File "{torch.__file__}", line 9, in linear\n    z\n'
    )
    assert line_of_trace(trace) == "model.py:12"
    assert line_of_trace("") is None
