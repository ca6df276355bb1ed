"""The public `Loss`: a loss function with its options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
)
from typing_extensions import override

from workbench.display.validation_messages import validation_message
from workbench.errors import ConfigError, nearest, value_text
from workbench.user_code.function_path import FUNCTION_PATH, call_problem, import_function

LossName = Literal["cross_entropy", "nll", "mse", "l1", "smooth_l1", "bce_with_logits"]

OPTIONS: dict[str, tuple[str, ...]] = {
    "cross_entropy": ("weight", "ignore_index", "label_smoothing"),
    "nll": ("weight", "ignore_index"),
    "mse": (),
    "l1": (),
    "smooth_l1": ("beta",),
    "bce_with_logits": ("weight", "pos_weight"),
}
"""The losses and their options in `torch.nn.functional`, except for the reduction."""

CLASS_LOSSES = frozenset({"cross_entropy", "nll"})
"""The losses whose target is a class index."""

_EVERY = ("factor", "output")
"""Options of every loss."""

RECORDED = "function_sha256"
"""Additional field in the record of a custom function."""


def _numbers(value: Any) -> Any:
    """Convert a number, a sequence, an array or a tensor to nested tuples."""
    if value is None:
        return None
    try:
        array = np.asarray(value.tolist() if hasattr(value, "tolist") else value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("must be a number, an array, or lists of equal length") from None
    if array.size == 0 or not np.isfinite(array).all():
        raise ValueError("must contain finite numbers, at least one")
    return _as_tuples(array.tolist())


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(part) for part in value) if isinstance(value, list) else value


Numbers = Annotated[Any, BeforeValidator(_numbers)]
"""A float, or nested tuples of floats; None: no value."""


class Loss(BaseModel):
    """A loss with its options, as in `torch.nn.functional` with reduction="mean".

        wb.Loss("cross_entropy", weight=[1.0, 4.0], label_smoothing=0.1)

    Args:
        name: "cross_entropy", "nll", "mse", "l1", "smooth_l1" or "bce_with_logits"; or a function
            of torch tensors, (output, target) -> scalar, or "package.module:function". If a
            function is the only loss and `output` is None, it gets all outputs and all targets,
            each as a tuple if there are several.
        factor: factor of the loss in the sum of several losses.
        output: name of the model's output that it uses; None: the output with the index of the
            loss, so the first for a single loss.
        weight: for cross_entropy and nll, one number per class; for bce_with_logits, numbers that
            broadcast to a row of the output.
        ignore_index: for cross_entropy and nll, the label to ignore.
        label_smoothing: for cross_entropy, from 0 to 1.
        beta: for smooth_l1, the threshold between the quadratic and the linear part.
        pos_weight: for bce_with_logits, the weight of targets of 1; broadcasts to a row of the
            output.

    Raises:
        ConfigError: unknown options or invalid values; lists all of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    factor: float = Field(default=1.0, allow_inf_nan=False)
    output: str | None = None
    weight: Numbers = None
    ignore_index: int = Field(default=-100, ge=-(2**63), lt=2**63)
    label_smoothing: float = Field(default=0.0, ge=0, le=1)
    beta: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    pos_weight: Numbers = None
    function_sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    """Hash of the pickled custom function, once it was written for a worker."""
    _function: Callable[..., Any] | None = PrivateAttr(default=None)
    _search_path: tuple[str, ...] = PrivateAttr(default=())

    def __init__(
        self, name: str | Callable[..., Any], *, _of_record: bool = False, **options: Any
    ) -> None:
        recorded = _of_record and RECORDED in options
        function = None if recorded else _function_of(name)
        own = function is not None or recorded
        text = function_name(name if function is None else function)
        known = () if own else OPTIONS.get(text)
        if known is None:
            raise ConfigError([f"loss={text!r}: {nearest(text, OPTIONS)}"])
        offered = (*known, *_EVERY)
        allowed = {*offered, RECORDED} if recorded else set(offered)
        problems = [
            f"loss {text}: no option {option!r}. {nearest(option, offered)}"
            for option in options
            if option not in allowed
        ]
        given = {option: value for option, value in options.items() if option in allowed}
        try:
            super().__init__(name=text, **given)
        except ValidationError as error:
            problems += [_sentence(text, problem) for problem in error.errors()]
        if not problems and text in CLASS_LOSSES and not _is_row(self.weight):
            problems.append(f"loss {text}: weight={self.weight!r}: must have one number per class.")
        if problems:
            raise ConfigError(problems)
        self._function = function

    @override
    def __repr__(self) -> str:
        options = {name: value for name, value in self.record().items() if name != RECORDED}
        name = options.pop("name")
        shown = [name if self.custom else repr(name)]
        return f"Loss({', '.join([*shown, *(f'{k}={v!r}' for k, v in options.items())])})"

    @override
    def __str__(self) -> str:
        return self.name if self.plain else repr(self)

    @property
    def custom(self) -> bool:
        """Whether it is a custom function."""
        return self._function is not None or self.function_sha256 is not None

    @property
    def function(self) -> Callable[..., Any] | None:
        """The custom function, in the process where it was passed."""
        return self._function

    @property
    def search_path(self) -> tuple[str, ...]:
        """Folders in which a worker finds the modules of the function."""
        return self._search_path

    @property
    def plain(self) -> bool:
        """Whether it is a built-in loss with default options."""
        return not self.custom and len(self.record()) == 1

    def record(self) -> dict[str, Any]:
        """The name and all non-default options, for JSON."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def with_pickle(self, sha256: str, search_path: Iterable[str]) -> Loss:
        """A copy with the hash of the pickled function and the search path of its modules."""
        loss = self.model_copy(update={RECORDED: sha256})
        loss._search_path = tuple(search_path)
        return loss

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Loss:
        """Create a loss from a record; nothing is imported.

        Raises:
            ConfigError: the record is invalid.
        """
        name = record.get("name")
        if not isinstance(name, str) or not (name in OPTIONS or record.get(RECORDED)):
            raise ConfigError([f"loss={name!r}: must be one of {', '.join(OPTIONS)} in a record."])
        # Older records also contain "search_path".
        options = {k: value for k, value in record.items() if k in cls.model_fields and k != "name"}
        unknown = sorted(map(str, record.keys() - options.keys() - {"name", "search_path"}))
        if unknown:
            raise ConfigError([f"loss {name}: no option {unknown[0]!r}."])
        return cls(name, _of_record=True, **options)


def function_name(loss: str | Callable[..., Any]) -> str:
    """The name of a loss in messages."""
    if isinstance(loss, str):
        return loss
    return str(getattr(loss, "__name__", type(loss).__name__))


def _function_of(name: str | Callable[..., Any]) -> Callable[..., Any] | None:
    if isinstance(name, str) and not FUNCTION_PATH.fullmatch(name):
        return None
    function = import_function(name) if isinstance(name, str) else name
    problem = call_problem(function)
    if problem:
        said = name if isinstance(name, str) else function_name(name)
        raise ConfigError([f"loss={said}: {problem}"])
    return function


def _is_row(weight: Any) -> bool:
    return weight is None or np.ndim(weight) == 1


def _sentence(loss: str, problem: Any) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    return f"loss {loss}: {name}={value_text(problem['input'])}: {validation_message(problem)}."
