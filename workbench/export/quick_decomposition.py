"""torch's decomposition of an exported graph without work that it repeats.

For every export torch 2.13 looks up all operators with a composite kernel once for each namespace
of operators, sixty times in all, and registers thousands of kernels by a function whose annotations
are evaluated each time. That takes as long as all else of a small module's export. Two functions of
torch are replaced during an export; other versions are not patched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench.export.translation_table import KNOWN_VERSION

if TYPE_CHECKING:
    from torch._ops import OperatorBase

Kernel = Callable[..., Any]


@contextmanager
def quick_decomposition() -> Iterator[None]:
    """Within the block, which one thread at a time enters, graphs are decomposed with less work."""
    import torch

    if not torch.__version__.startswith(KNOWN_VERSION):
        yield
        return
    from torch._C import DispatchKey
    from torch._export import utils
    from torch._ops import OperatorBase

    look_up, register = utils._materialize_cpp_cia_ops, OperatorBase.py_impl
    looked_up = False

    def look_up_once() -> None:
        nonlocal looked_up
        if not looked_up:
            look_up()
            looked_up = True

    def register_quickly(operator: OperatorBase, key: Any) -> Callable[[Kernel], Kernel]:
        usual = isinstance(key, DispatchKey) and key != DispatchKey.Python
        if not usual or key in operator.py_kernels:
            return register(operator, key)

        def registered(kernel: Kernel) -> Kernel:
            operator.py_kernels[key] = kernel
            operator._dispatch_cache.clear()
            return kernel

        return registered

    utils._materialize_cpp_cia_ops = look_up_once
    OperatorBase.py_impl = register_quickly  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        utils._materialize_cpp_cia_ops = look_up
        OperatorBase.py_impl = register  # type: ignore[method-assign]
