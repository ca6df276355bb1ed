"""Checks that a model and its losses compute rows independently, so that processes can share
them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.data import Batch
from workbench.engines.torch_base.disabled_randomness import disable_randomness
from workbench.engines.torch_base.tensors import as_tensors
from workbench.errors import ConfigError, UntrainableError, WorkbenchError
from workbench.losses.loss import Loss
from workbench.losses.mean_divisor import mean_divisor

if TYPE_CHECKING:
    from torch import Tensor, nn

    from workbench.engines.torch_base.torch_losses import TotalLoss

ROWS = 4
"""Rows of a batch that are checked, in two parts."""

TOLERANCE = 1e-3
"""Relative tolerance; in half precision the square root of its rounding error, which is larger."""


class _Computed(NamedTuple):
    output: Tensor
    terms: Sequence[float]
    """The value of each loss."""


def refuse_mixed_rows(
    module: nn.Module, loss: TotalLoss, losses: Sequence[Loss], batch: Batch, processes: int
) -> None:
    """Raise if the results of the first rows of `batch` differ when they are computed in two parts.

    The module is called as a copy that shares its parameters, so nothing of it changes. Not looked
    at are modules that cannot be copied, or called with a few rows, and those that compute
    something else at each call: that draw integers, or count.

    Args:
        module: the model.
        loss: the sum of `losses`.
        losses: those of the settings.
        batch: that of all processes.
        processes: how many share it.

    Raises:
        UntrainableError: what is computed of a row depends on the other rows.
        ConfigError: a loss is not the mean over rows.
    """
    half = min(ROWS, len(batch.target)) // 2
    parts = [batch.rows(slice(0, half)), batch.rows(slice(half, 2 * half))]
    whole = batch.rows(slice(0, 2 * half))
    try:
        together, first, second, again = _compute(module, loss, [whole, *parts, whole])
    except WorkbenchError:
        raise
    except Exception:
        return  # the step itself says what is wrong, if anything is
    tolerance = _tolerance(together.output)
    if not _close(again.output, together.output, tolerance):
        return
    if not _are_rows(together.output, first.output, second.output, tolerance):
        raise UntrainableError(
            f"processes={processes}: what the model computes of a row depends on the other rows of "
            "its batch, which is divided among the processes. Train in one process."
        )
    problems = []
    for index, each in enumerate(losses):
        weights = [mean_divisor(each, part.targets[index]) for part in parts]
        if not all(weights):
            continue  # without labels a loss is NaN
        mean = (weights[0] * first.terms[index] + weights[1] * second.terms[index]) / sum(weights)
        value = together.terms[index]
        if abs(value - mean) > tolerance * max(abs(value), abs(mean)):
            problems.append(
                f"processes={processes}: loss {each.name} is {value:.4g} of {2 * half} rows, but "
                f"{mean:.4g} as the mean of two halves of them, and each batch is divided among "
                "the processes. Let it return the mean over rows, or train in one process."
            )
    if problems:
        raise ConfigError(problems)


def _compute(module: nn.Module, loss: TotalLoss, batches: Sequence[Batch]) -> list[_Computed]:
    """Results of a copy of `module` for each batch, in turn."""
    import torch

    # What maps to itself is not copied.
    called = copy.deepcopy(module, {id(each): each for each in module.parameters()})
    found = []
    with torch.random.fork_rng(devices=[]), torch.no_grad(), disable_randomness():
        for batch in batches:
            inputs, targets = as_tensors(batch)
            # As a module may change its inputs in place.
            outputs = called(*(each.clone() for each in inputs))
            terms = [float(term) for term in loss.terms(outputs, targets)]
            found.append(_Computed(loss.read_first(outputs), terms))
    return found


def _tolerance(output: Tensor) -> float:
    import torch

    exact = not output.is_floating_point()
    return TOLERANCE if exact else max(TOLERANCE, torch.finfo(output.dtype).eps ** 0.5)


def _are_rows(whole: Tensor, first: Tensor, second: Tensor, tolerance: float) -> bool:
    """Whether `whole` has the rows of both, unless these are no rows."""
    import torch

    if whole.ndim == 0 or len(first) + len(second) != len(whole):
        return True
    if first.shape[1:] != whole.shape[1:] or second.shape[1:] != whole.shape[1:]:
        return True
    return _close(torch.cat([first, second]), whole, tolerance)


def _close(one: Tensor, other: Tensor, tolerance: float) -> bool:
    """Compared with the largest number, next to which rounding is small."""
    one, other = one.double(), other.double()
    if one.shape != other.shape or not one.isfinite().all() or not other.isfinite().all():
        return one.shape == other.shape
    apart = (one - other).abs().max() if one.numel() else one.new_zeros(())
    largest = other.abs().max() if other.numel() else apart
    return bool(apart <= tolerance * largest)
