"""Times a linear layer's products by PyTorch and by ONNX Runtime, once for a processor."""

from __future__ import annotations

import os
from collections.abc import Callable

from workbench.child_process.child import run_child
from workbench.errors import EngineError
from workbench.extensions.native_extension import native_extension
from workbench.tuning_results.product_times import (
    ProductTimes,
    kept_product_times,
    product_times_path,
)


def ensure_product_times(
    report: Callable[[str], None], *, again: bool = False
) -> ProductTimes | None:
    """The saved times of this processor and these versions, measured now if there are none.

    A run reads it before its process starts, so that even the first has the environment that suits
    the faster library. The measurement runs in a child process and takes a few seconds.

    Args:
        report: called with short progress texts.
        again: measure even if there are saved times.

    Returns:
        None if there is no choice: without the compiled extension, or without a cache.

    Raises:
        EngineError: the process failed.
    """
    path = product_times_path()
    if path is None or native_extension().problem:
        return None
    if again or kept_product_times() is None:
        report("Timing matrix products")
        run_child(
            "workbench.tune.products",
            path,
            lambda _: None,
            os.environ,
            work="times matrix products",
            failure=EngineError,
        )
    return kept_product_times()
