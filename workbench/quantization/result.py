"""What quantization did to a model: sizes, loss and accuracy before and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from workbench.run_folder.statistics import size_text


class Evaluated(NamedTuple):
    """One exported model."""

    size_bytes: int
    """Of its file, and of external data."""
    loss: float | None
    """Of the test split; None if there is none, or if the loss is a function of the user's own."""
    accuracy: float | None
    """On the test split, 0 to 1; None if the loss is not of classes, or as for `loss`."""


class Quantized(NamedTuple):
    """A model quantized to int8, and the float32 model that it was made of."""

    path: Path
    """The file of the quantized model."""
    method: str
    """"static": with scales of activations from rows of the training split; or "dynamic": with
    scales from each input."""
    float32: Evaluated
    int8: Evaluated
    largest_difference: float | None
    """Of an element of the output that the first loss reads, on the test split."""

    def __repr__(self) -> str:
        lines = [f"{self.path}: int8, {self.method} quantization"]
        for name, model in (("float32", self.float32), ("int8", self.int8)):
            facts = [size_text(model.size_bytes)]
            if model.accuracy is not None:
                facts.append(f"test accuracy {model.accuracy:.2%}")
            if model.loss is not None:
                facts.append(f"test loss {model.loss:.4g}")
            lines.append(f"  {name:8}{', '.join(facts)}")
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
        """What `record` gave, from a file."""
        record = json.loads(path.read_text(encoding="utf-8"))
        models = {name: Evaluated(**record[name]) for name in ("float32", "int8")}
        return cls(**{**record, **models, "path": Path(record["path"])})
