"""Result of a quantization: sizes, loss and accuracy before and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from workbench.run_folder.statistics import size_text


class Evaluated(NamedTuple):
    """One exported model."""

    size_bytes: int
    """Size of its file and of external data."""
    loss: float | None
    """On the test split; None if there is none, or if the loss is a custom function."""
    accuracy: float | None
    """On the test split, 0 to 1; None if the loss is not of classes, or as for `loss`."""
    perplexity: float | None = None
    """For a text; else None."""
    r2: float | None = None
    """For a regression, as is `mean_absolute_error`; else None."""
    mean_absolute_error: float | None = None

    def facts(self) -> list[str]:
        """Size, loss and metrics in words, those that there are."""
        found = [size_text(self.size_bytes)]
        if self.accuracy is not None:
            found.append(f"test accuracy {self.accuracy:.2%}")
        for name, value in (
            ("test loss", self.loss),
            ("test perplexity", self.perplexity),
            ("test R²", self.r2),
            ("test mean absolute error", self.mean_absolute_error),
        ):
            if value is not None:
                found.append(f"{name} {value:.4g}")
        return found


class Quantized(NamedTuple):
    """A model quantized to int8, and its float32 source."""

    path: Path
    """The file of the quantized model."""
    method: str
    """"static": with scales of activations from rows of the training split; or "dynamic": with
    scales from each input."""
    float32: Evaluated
    int8: Evaluated
    largest_difference: float | None
    """Largest absolute difference of an output element on the test split, for the first loss."""
    test_rows: int
    """Rows of the test split; 0 if there is none: nothing is evaluated."""

    def __repr__(self) -> str:
        lines = [f"{self.path}: int8, {self.method} quantization"]
        for name, model in (("float32", self.float32), ("int8", self.int8)):
            lines.append(f"  {name:8}{', '.join(model.facts())}")
        if not self.test_rows:
            lines.append("  The run has no test split, so no accuracy or other metric is known.")
        if self.int8.size_bytes > self.float32.size_bytes:
            ratio = self.int8.size_bytes / self.float32.size_bytes
            lines.append(
                f"  The int8 model is {ratio:.3g} times as large as the float32 model: nodes and "
                "scales take more than its few weights save. Keep the float32 model."
            )
        return "\n".join(lines)

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **self._asdict(),
            "path": str(self.path),
            "float32": self.float32._asdict(),
            "int8": self.int8._asdict(),
        }

    @classmethod
    def read(cls, path: Path) -> Quantized:
        """The result whose `record` was written to a file."""
        record = json.loads(path.read_text(encoding="utf-8"))
        models = {name: Evaluated(**record[name]) for name in ("float32", "int8")}
        return cls(**{**record, **models, "path": Path(record["path"])})
