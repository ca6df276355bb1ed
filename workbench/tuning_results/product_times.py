"""Times of matrix products by each library on this processor, measured once and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from workbench.errors import EngineError
from workbench.files.input_file import is_file
from workbench.files.output_file import replacing_file
from workbench.tuning_results.record import LARGEST_BYTES, Environment, Positive, Record
from workbench.tuning_results.storage import processor_digest, storage_folder, this_environment

CLEARLY_FASTER = 0.85
"""Without the workbench's own kernels, ONNX Runtime's products are chosen where they take less than
this share of the time of PyTorch's.

Between it and 1 the graph's other kernels decide, of which most are PyTorch's: beside products of
another library its threads have to share the cores."""

WITH_OWN_KERNELS = 1.2
"""The same with the workbench's own kernels, which go with ONNX Runtime's products and gain more
than these may lose: at 0.9 a transformer takes 0.65 of the time with them, and half of that is
products."""


class ProductTimes(Record):
    """The products of a linear layer and of its gradients, by either library, on one thread.

    On one, since the time with several depends on how the libraries' threads wait and on other
    programs.
    """

    kind: Literal["product-times"] = "product-times"
    format: Literal[1] = 1
    place: Environment
    pytorch_ms: Positive
    onnxruntime_ms: Positive
    """The least over the rounds: other programs only add to a time."""
    ratio: Positive
    """ONNX Runtime's time over PyTorch's."""

    def prefers_onnxruntime(self, *, own_kernels: bool) -> bool:
        """Whether a graph runs faster with ONNX Runtime's products.

        Args:
            own_kernels: whether the workbench's own kernels run the rest of it.
        """
        return self.ratio < (WITH_OWN_KERNELS if own_kernels else CLEARLY_FASTER)

    def sentence(self, *, own_kernels: bool) -> str:
        """The library whose products ORTModule uses, and why; see `prefers_onnxruntime`."""
        preferred = self.prefers_onnxruntime(own_kernels=own_kernels)
        whose = "ONNX Runtime's" if preferred else "PyTorch's"
        return f"Linear layers of ORTModule use {whose} products: {self}, {self.ratio:.2f} of them"

    def __str__(self) -> str:
        times = f"{self.onnxruntime_ms:.1f} ms, PyTorch's {self.pytorch_ms:.1f} ms"
        return f"ONNX Runtime's products took {times}, measured on this processor"


def product_times_path() -> Path | None:
    """The file for this processor; None where nothing is cached."""
    folder = storage_folder()
    if folder is None:
        return None
    return folder.with_name("products") / f"{processor_digest()}.json"


def kept_product_times() -> ProductTimes | None:
    """Times measured here with these versions; None if there are no valid ones.

    A corrupt file, or one of another machine or other versions, counts as none.
    """
    path = product_times_path()
    try:
        if path is None or not is_file(path) or path.stat().st_size > LARGEST_BYTES:
            return None
        found = ProductTimes.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return None if found.place.difference(this_environment()) else found


def keep_product_times(times: ProductTimes) -> None:
    """Write a new measurement, in place of an earlier one.

    Raises:
        EngineError: it cannot be written.
    """
    path = product_times_path()
    if path is not None:
        with replacing_file(path, EngineError) as temporary:
            temporary.write_text(times.model_dump_json(indent=1) + "\n", encoding="utf-8")
