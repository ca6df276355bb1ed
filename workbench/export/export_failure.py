"""The error for a module that no exporter supports: which line, why, and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from workbench.errors import with_full_stop
from workbench.export.torch_exporter import branches_on_values
from workbench.modules.user_line import failing_line

if TYPE_CHECKING:
    import torch

_ANOTHER = "Replace it, compute it outside of the module, or train this one with PyTorch."


class Failure(NamedTuple):
    """Why an exporter failed."""

    reason: str
    """A sentence."""
    remedy: str = ""
    """Empty if no remedy is known."""
    decisive: bool = False
    """Whether the other exporter's message adds nothing."""


def export_failure(module: torch.nn.Module, failures: Mapping[str, Exception]) -> str:
    """The message for a module that no exporter could write, by the name of the exporter."""
    found = {name: _failure(error) for name, error in failures.items()}
    decisive = {name: each for name, each in found.items() if each.decisive} or found
    reason = " ".join(f"{name}: {each.reason}" for name, each in decisive.items())
    line = next(filter(None, map(failing_line, failures.values())), None)
    where = f" It fails at {line}." if line else ""
    remedies = [each.remedy for each in decisive.values() if each.remedy]
    remedy = remedies[0] if remedies else _LOOK
    return f"torch cannot export {type(module).__name__} to ONNX.{where} {reason} {remedy}"


_LOOK = (
    "If the module fixes its batch size or branches on the values of a tensor, rewrite that "
    "part; `torch.export.export(module, inputs)` shows the place."
)


def _failure(error: Exception) -> Failure:
    reason = _first_line(error)
    if branches_on_values(error):
        return _BRANCHES
    for pattern, known in _KNOWN.items():
        found = re.search(pattern, reason)
        if found:
            return known._replace(reason=found.expand(known.reason) if known.reason else reason)
    return Failure(reason)


_BRANCHES = Failure(
    "its control flow depends on the values of a tensor.",
    "A graph does the same for every batch. Where the module branches on the values of a tensor, "
    "compute both and choose by torch.where; where it needs a number, keep it a tensor.",
    decisive=True,
)

_KNOWN = {
    r"No ONNX function found for <OpOverload\(op='([\w.]+)'": Failure(
        r"ONNX has no operator for \1.", _ANOTHER, decisive=True
    ),
    r"fake tensor in the exported program": Failure(
        "a tensor was used in a way that tracing does not see, as x.data is in the backward of a "
        "custom autograd function.",
        "Write x.detach() in place of x.data.",
        decisive=True,
    ),
    r"^(aten\.[\w.]+)\.$": Failure(
        r"\1 returns a result whose shape depends on values.", _ANOTHER, decisive=True
    ),
    r"Unsupported attribute type.*Symbolic": Failure(
        "an attribute of an operator depends on the size of the inputs, such as the groups of a "
        "convolution on the batch size.",
        "Use the same value for every batch: einsum or matmul instead of groups.",
        decisive=True,
    ),
    r"the module fixes axis 0 of input": Failure(
        "",
        "len(x) fixes the size of a batch: write x.shape[0]. So does int() of a size, an if on it "
        "or a loop over the rows. If the module fixes its batch size in another way, rewrite that "
        "part.",
        decisive=True,
    ),
    r"the module fixes axis \d+ of input": Failure(
        "",
        "A loop over that axis in Python fixes its size, and so do len(), int() and an LSTM with "
        "proj_size. Leave the axis out of dynamic_axes and give it one size in every batch, or "
        "write that part with layers that take any size, such as nn.LSTM, nn.GRU or attention.",
        decisive=True,
    ),
}
"""Explanation of an exporter's message; empty where the message is clear."""


def _first_line(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = lines[0] if lines else type(error).__name__
    line = re.split(r"\s*(?:\[Caused by|Please feel free)", line)[0]
    return with_full_stop(line)
