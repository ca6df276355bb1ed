"""The user's line in an error's traceback and in a trace as text."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from workbench.errors import ModelError
from workbench.modules.forward_pass import trace_shapes
from workbench.modules.user_line import failing_line, line_of_trace


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
    assert line.endswith("test_user_line.py:20, in forward: return x.reshape(7)")
    assert failing_line(ValueError("never raised")) is None


def test_a_line_of_a_notebook_is_named_by_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def forward(x):\n    y = x + 1\n    return y.reshape(7)\n"
    name = "/tmp/ipykernel_17/1234.py"
    monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(True), name))
    names: dict[str, Any] = {}
    exec(compile(text, name, "exec"), names)
    with pytest.raises(RuntimeError) as caught:
        names["forward"](torch.zeros(4))
    assert failing_line(caught.value) == "line 3 of its cell, in forward: return y.reshape(7)"


def test_the_error_of_a_forward_pass_has_its_line() -> None:
    with pytest.raises(ModelError, match=r"\(.*test_user_line\.py:20, in forward: return x\.resh"):
        trace_shapes(Fails(), [np.zeros((2, 4), np.float32)], [])


def test_the_innermost_line_of_a_trace() -> None:
    trace = (
        f'  File "{nn.__file__}", line 3, in forward\n    x\n'
        '  File "/home/me/model.py", line 12, in forward\n    y\n'
        f'  File "{torch.__file__}", line 9, in linear\n    z\n'
    )
    assert line_of_trace(trace) == "model.py:12"
    assert line_of_trace("") is None
