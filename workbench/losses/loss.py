"""What a training minimizes: a loss with its options, or several on several outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
"""The losses and what `torch.nn.functional` lets one choose of each, its reduction apart."""

CLASS_LOSSES = frozenset({"cross_entropy", "nll"})
"""The losses whose target is the number of a class."""

_EVERY = ("factor", "output")
"""Options of every loss."""

_RECORDED = "function_sha256"
"""What a record holds besides, of a function of the user's own."""


def _numbers(value: Any) -> Any:
    """Nested tuples of what may be a number, a sequence, an array or a tensor."""
    if value is None:
        return None
    try:
        array = np.asarray(value.tolist() if hasattr(value, "tolist") else value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            "give a number, or numbers in an array or in lists of one length"
        ) from None
    if array.size == 0 or not np.isfinite(array).all():
        raise ValueError("give finite numbers, one at least")
    return _as_tuples(array.tolist())


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(part) for part in value) if isinstance(value, list) else value


Numbers = Annotated[Any, BeforeValidator(_numbers)]
"""A float, or nested tuples of floats; None: not given."""


class Loss(BaseModel):
    """One loss with its options, as in `torch.nn.functional` with the mean as reduction.

        wb.Loss("cross_entropy", weight=[1.0, 4.0], label_smoothing=0.1)

    Args:
        name: "cross_entropy", "nll", "mse", "l1", "smooth_l1" or "bce_with_logits"; or a function
            of torch tensors, (output, target) -> scalar, or "package.module:function". A function
            that is the only loss and names no output is given all outputs and all targets, each as
            a tuple where there are several.
        factor: what the loss is multiplied by; says what it weighs among several.
        output: name of the model's output that it reads; None: the one at the place that the loss
            has among several, so the first for a single loss.
        weight: of cross_entropy and nll, one number a class; of bce_with_logits, numbers that
            broadcast to a row of the output.
        ignore_index: of cross_entropy and nll, the label that counts for nothing.
        label_smoothing: of cross_entropy, from 0 to 1.
        beta: of smooth_l1, from which distance on it grows linearly.
        pos_weight: of bce_with_logits, what targets of 1 weigh; broadcasts to a row of the output.

    Raises:
        ConfigError: lists every option that is unknown to this loss or has a wrong value.
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
    """Of the pickle that the function crosses to a worker in; None for a loss that has a name, and
    as long as the function has not crossed."""
    _function: Callable[..., Any] | None = PrivateAttr(default=None)
    _search_path: tuple[str, ...] = PrivateAttr(default=())

    def __init__(self, name: str | Callable[..., Any], **options: Any) -> None:
        function = None if _RECORDED in options else _function_of(name)
        own = function is not None or _RECORDED in options
        text = function_name(name if function is None else function)
        known = () if own else OPTIONS.get(text)
        if known is None:
            raise ConfigError([f"loss={text!r}: {nearest(text, OPTIONS)}"])
        offered = (*known, *_EVERY)
        allowed = {*offered, _RECORDED} if own else set(offered)
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
            problems.append(f"loss {text}: weight={self.weight!r}: give one number for each class.")
        if problems:
            raise ConfigError(problems)
        self._function = function

    @override
    def __repr__(self) -> str:
        options = {name: value for name, value in self.record().items() if name != _RECORDED}
        name = options.pop("name")
        shown = [name if self.own else repr(name)]
        return f"Loss({', '.join([*shown, *(f'{k}={v!r}' for k, v in options.items())])})"

    @override
    def __str__(self) -> str:
        return self.name if self.plain else repr(self)

    @property
    def own(self) -> bool:
        """Whether it is a function of the user's own."""
        return self._function is not None or self.function_sha256 is not None

    @property
    def function(self) -> Callable[..., Any] | None:
        """The function of the user's own, in the process in which it was given."""
        return self._function

    @property
    def search_path(self) -> tuple[str, ...]:
        """Folders in which a worker finds the modules of the function, once it has crossed."""
        return self._search_path

    @property
    def plain(self) -> bool:
        """Whether its name says everything."""
        return not self.own and len(self.record()) == 1

    def record(self) -> dict[str, Any]:
        """For JSON: the name, and what is not as by default."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def crossing(self, sha256: str, search_path: Iterable[str]) -> Loss:
        """The same loss, with the pickle in which its function crosses to a worker."""
        crossed = self.model_copy(update={_RECORDED: sha256})
        crossed._search_path = tuple(search_path)
        return crossed

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Loss:
        """The loss that `record` wrote; a name stands for no function, so nothing is imported.

        Raises:
            ConfigError: it is no such record.
        """
        name = record.get("name")
        if not isinstance(name, str) or not (name in OPTIONS or record.get(_RECORDED)):
            raise ConfigError([f"loss={name!r}: a record names one of {', '.join(OPTIONS)}."])
        # Earlier records hold the folders, too, in which a worker looked for the function's module.
        return cls(**{str(k): value for k, value in record.items() if k != "search_path"})


def as_losses(value: Any) -> tuple[Loss, ...]:
    """The losses that `value` stands for, in the order of their targets.

    Args:
        value: a name, a `Loss`, a function; a sequence of these, one an output of the model; or a
            mapping from the name of an output to one of these.

    Raises:
        ConfigError: lists everything that is wrong with any of them.
    """
    if isinstance(value, str | Loss) or callable(value):
        return (_as_loss(value),)
    if isinstance(value, Mapping):
        parts: list[tuple[str | None, Any]] = [(str(name), part) for name, part in value.items()]
    elif isinstance(value, Sequence):
        parts = [(None, part) for part in value]
    else:
        raise ConfigError([f"loss={value!r}: give a name, a Loss, a function, or several of them."])
    if not parts:
        raise ConfigError([f"loss={value!r}: give one loss at least."])
    losses: list[Loss] = []
    problems: list[str] = []
    for output, part in parts:
        try:
            loss = _as_loss(part)
        except ConfigError as error:
            problems += error.problems
            continue
        losses.append(loss if output is None else loss.model_copy(update={"output": output}))
    if problems:
        raise ConfigError(problems)
    return tuple(losses)


def losses_to_json(losses: Sequence[Loss]) -> str | list[dict[str, Any]]:
    """What `as_losses` takes, for JSON: the name of a single plain loss, or a list of records."""
    if len(losses) == 1 and losses[0].plain:
        return losses[0].name
    return [loss.record() for loss in losses]


def losses_from_json(value: Any) -> tuple[Loss, ...]:
    """The losses that `losses_to_json` wrote. Imports nothing, whatever `value` is.

    Raises:
        ConfigError: it wrote no such thing.
    """
    records = [{"name": value}] if isinstance(value, str) else value
    if not isinstance(records, list | tuple) or not records:
        raise ConfigError([f"loss={value!r}: a record holds a name, or a list of losses."])
    if not all(isinstance(record, Mapping) for record in records):
        raise ConfigError([f"loss={value!r}: a record holds a name, or a list of losses."])
    return tuple(Loss.from_record(record) for record in records)


def function_name(loss: str | Callable[..., Any]) -> str:
    """What messages call a loss."""
    if isinstance(loss, str):
        return loss
    return str(getattr(loss, "__name__", type(loss).__name__))


def _as_loss(value: Any) -> Loss:
    if isinstance(value, Loss):
        return value
    if isinstance(value, Mapping) and "name" in value:
        return Loss(**value)
    if isinstance(value, str) or callable(value):
        return Loss(value)
    raise ConfigError([f"loss={value!r}: give a name, a Loss or a function of torch tensors."])


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
    message = problem["msg"].removeprefix("Value error, ")
    return f"loss {loss}: {name}={value_text(problem['input'])}: {message[0].lower()}{message[1:]}."
