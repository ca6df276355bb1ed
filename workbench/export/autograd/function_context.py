"""Contexts (`ctx`) of a custom autograd function while its shapes are inferred or it is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.errors import UntrainableError

if TYPE_CHECKING:
    from torch import Tensor

IN_PLACE = (
    "it changes an argument in place (mark_dirty), which a graph cannot represent. Let it return a "
    "new tensor."
)


class ShapeContext:
    """Context of a `forward` that is run only for the shapes of its results."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        import torch

        self.needs_input_grad = tuple(
            isinstance(value, torch.Tensor) and value.is_floating_point() for value in args
        )

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Ignored: nothing is differentiated here."""

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Ignored: the traced call marks its results itself."""

    def set_materialize_grads(self, value: bool) -> None:
        """Ignored: nothing is differentiated here."""

    def mark_dirty(self, *_: Tensor) -> None:
        raise UntrainableError(IN_PLACE)


class TracedContext(ShapeContext):
    """Context shared by the `forward` and `backward` of a function while both are traced.

    Args:
        number: of the call.
        args: its arguments.
        needs_input_grad: for each argument, whether it needs a gradient.
    """

    def __init__(
        self, number: int, args: tuple[Any, ...], needs_input_grad: tuple[bool, ...]
    ) -> None:
        super().__init__(args)
        self.number = number
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Tensor | None, ...] = ()
        self.materialize_grads = True
        self._constant: tuple[Tensor, ...] = ()

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """Deprecated name of `saved_tensors`."""
        return self.saved_tensors

    def has_gradient(self, value: Any) -> bool:
        """Whether a result of the call has a gradient."""
        import torch

        smooth = isinstance(value, torch.Tensor) and value.is_floating_point()
        return smooth and not any(value is each for each in self._constant)
