"""`python -m workbench.inference THREADS`: answers requests to run models, until its input ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from workbench.errors import EngineError
from workbench.inference.messages import receive, send
from workbench.ort.graph.inference import InferenceSession


def main() -> None:
    """Answer until the end of the input."""
    threads = int(sys.argv[1])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that what is printed is not taken for an answer
    sessions: dict[str, InferenceSession] = {}
    while (request := receive(sys.stdin.buffer)) is not None:
        message, inputs = request
        path = message["model"]
        try:
            if path not in sessions:
                sessions[path] = InferenceSession(Path(path).read_bytes(), threads)
            outputs = sessions[path].outputs(inputs)
        except EngineError as error:
            send(answers, {"error": f"{path}: {error}"}, {})
        except Exception as error:
            send(answers, {"error": f"{path} cannot be run: {error}"}, {})
        else:
            arrays = {name: np.ascontiguousarray(array) for name, array in outputs.items()}
            send(answers, {}, arrays)


main()
