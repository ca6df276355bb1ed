"""Results that training does not read and that are left out of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Never

import torch
from torch.utils._pytree import tree_leaves

from workbench.errors import EngineError, UntrainableError
from workbench.ort.ortmodule.capture.nested_values import structure as kinds
from workbench.ort.ortmodule.capture.nested_values.structure import OmittedResult, Structure
from workbench.ort.ortmodule.capture.nested_values.structure_tensors import count_tensors


class NotComputed:
    """Placeholder in a result for a tensor that was not computed; any use of it is an error."""

    def __init__(self, name: str, read: Sequence[str]) -> None:
        self._name = name
        self._read = tuple(read)

    def __repr__(self) -> str:
        return f"<{self._name!r} was not computed: training_outputs={self._read}>"

    def _refuse(self, *_: Any, **__: Any) -> Never:
        raise EngineError(
            f"{self._name!r} was not computed: the option training_outputs names only "
            f"{list(self._read)}. Add {self._name!r} to training_outputs, or call the module in "
            "evaluation mode, which computes all results."
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            # Looked up by copying, pickling and type checks.
            raise AttributeError(name)
        self._refuse()

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return next(each for each in tree_leaves((args, kwargs)) if type(each) is cls)._refuse()

    __getitem__ = __len__ = __iter__ = __bool__ = __float__ = __int__ = __array__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = _refuse
    __truediv__ = __rtruediv__ = __neg__ = __lt__ = __gt__ = __le__ = __ge__ = _refuse


def leave_out(
    structure: Structure, tensors: list[torch.Tensor], read: Sequence[str]
) -> tuple[Structure, list[torch.Tensor]]:
    """Structure and tensors of a result without the tensors that training does not read.

    Args:
        structure: of the result.
        tensors: in the result, from left to right.
        read: keys of a dict, names of fields, or places in a tuple or list as digits.

    Raises:
        UntrainableError: the result has no such names.
    """
    if isinstance(structure, kinds.Mapping):
        names = [str(key) for key in structure.keys]
    elif isinstance(structure, kinds.Sequence):
        fields = getattr(structure.kind, "_fields", None)
        names = list(fields or map(str, range(len(structure.items))))
    else:
        raise UntrainableError(
            f"training_outputs={tuple(read)}: the module returns one tensor or object, of which "
            "nothing can be left out. Return a dict, a tuple or a dataclass, or leave the option."
        )
    missing = [name for name in read if name not in names]
    if missing:
        raise UntrainableError(
            f"training_outputs={tuple(read)}: the module's result has no {missing[0]!r}; it has "
            f"{', '.join(map(repr, names))}."
        )
    given = iter(tensors)
    items: list[Structure] = []
    kept: list[torch.Tensor] = []
    for name, item in zip(names, structure.items, strict=True):
        own = [next(given) for _ in range(count_tensors(item))]
        if name in read or not own:
            items.append(item)
            kept += own
        else:
            items.append(OmittedResult(NotComputed(name, read)))
    return structure._replace(items=tuple(items)), kept
