"""Runs ONNX models in an environment with nothing but onnxruntime and numpy.

    python run_models.py JOBS.json

JOBS.json lists objects of `model`, an ONNX file, `inputs`, an .npz of arrays by input name, and
`outputs`, the .npz to write, of arrays by output name. Prints the version of onnxruntime.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

for job in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(job["model"], options)
    names = [value.name for value in session.get_outputs()]
    outputs = session.run(names, dict(np.load(job["inputs"])))
    np.savez(job["outputs"], **dict(zip(names, outputs, strict=True)))
print(onnxruntime.__version__)
