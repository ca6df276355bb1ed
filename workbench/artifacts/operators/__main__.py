"""`python -m workbench.artifacts.operators REQUEST.json`: converts models to ORT format."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from workbench.child_process.child import serve
from workbench.errors import ArtifactsError
from workbench.files.json_file import write_json
from workbench.ort.graph.ort_format import operators_of, to_ort_format


def convert(_: Callable[[str], None]) -> None:
    """Convert the models of the request, and read the operators of the results.

    Raises:
        ArtifactsError: one of them cannot be converted.
    """
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder, made = Path(request["folder"]), {}
    for model in map(Path, request["models"]):
        try:
            made[model.name] = to_ort_format(model, folder)
        except Exception as error:
            last = str(error).strip().splitlines()[-1:] or [type(error).__name__]
            raise ArtifactsError(
                f"ONNX Runtime cannot convert {model} to ORT format: {last[0]}"
            ) from error
    operators = operators_of(list(made.values()), folder / "required_operators.config")
    write_json(
        Path(request["answer"]),
        {
            "operators": operators,
            "bytes": {name: path.stat().st_size for name, path in made.items()},
        },
    )


if __name__ == "__main__":
    serve(convert)
