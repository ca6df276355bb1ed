"""The arguments of the child process that exports a module, as a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from workbench.files.json_file import write_json


class GraphRequest(NamedTuple):
    """The arguments of the child process."""

    model: Path
    """Folder written by `Model.save`."""
    path: Path
    """The .onnx file to write."""

    @property
    def parameters_path(self) -> Path:
        """The names of the parameters, a list in JSON, which the child writes."""
        return self.path.with_name("parameters.json")

    def write(self, path: Path) -> None:
        write_json(path, {"model": str(self.model), "path": str(self.path)})

    @classmethod
    def read(cls, path: Path) -> GraphRequest:
        """The request that `write` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        return cls(Path(record["model"]), Path(record["path"]))
