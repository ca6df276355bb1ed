"""The outputs of a model that each loss uses."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.errors import ConfigError, nearest
from workbench.losses.loss import Loss


def outputs_read(losses: Sequence[Loss], outputs: Sequence[str]) -> list[tuple[int, ...]]:
    """For each loss the indices of the outputs that it uses.

    A custom function that is the only loss uses all outputs, unless its `output` is given.

    Raises:
        ConfigError: an output does not exist, or there are more losses than outputs.
    """
    alone = losses[0] if len(losses) == 1 else None
    if alone is not None and alone.custom and alone.output is None:
        return [tuple(range(len(outputs)))]
    read: list[tuple[int, ...]] = []
    problems = []
    for place, loss in enumerate(losses):
        if loss.output is not None and loss.output in outputs:
            read.append((list(outputs).index(loss.output),))
        elif loss.output is not None:
            problems.append(
                f"loss {loss.name}: the model has no output {loss.output!r}. "
                f"{nearest(loss.output, outputs)}"
            )
        elif place < len(outputs):
            read.append((place,))
        else:
            problems.append(
                f"loss {loss.name} is loss number {place + 1}, but the model has {len(outputs)} "
                f"outputs ({', '.join(outputs)}). Give its output, as in loss={{'output': 'mse'}}."
            )
    if problems:
        raise ConfigError(problems)
    return read


def with_outputs_named(losses: Sequence[Loss], outputs: Sequence[str]) -> tuple[Loss, ...]:
    """The losses with `output` set, except for a custom function that uses all outputs."""
    read = outputs_read(losses, outputs)
    if len(losses) == 1 and len(read[0]) != 1:
        return tuple(losses)
    return tuple(
        loss.model_copy(update={"output": outputs[index]})
        for loss, (index,) in zip(losses, read, strict=True)
    )
