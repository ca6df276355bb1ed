"""The process that times matrix products; torch and ONNX Runtime are loaded here alone."""

from __future__ import annotations

from collections.abc import Callable

from workbench.child_process.child import serve


def measure(_: Callable[[str], None]) -> None:
    """Measure, and save the result.

    Raises:
        EngineError: it cannot be written.
    """
    from workbench.ort.ortmodule.aten.products import measure_product_times
    from workbench.tuning_results.product_times import keep_product_times

    keep_product_times(measure_product_times())


if __name__ == "__main__":
    serve(measure)
