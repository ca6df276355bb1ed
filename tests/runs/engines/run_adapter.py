"""Runs a model without and with its adapters, with nothing but onnxruntime and numpy.

python run_adapter.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime

folder = Path(sys.argv[1])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.log_severity_level = 3
session = onnxruntime.InferenceSession(folder / "open.onnx", options)
adapter = onnxruntime.LoraAdapter()
adapter.Load(str(folder / "tuned.onnx_adapter"))
with_adapter = onnxruntime.RunOptions()
with_adapter.add_active_adapter(adapter)
feeds = {"image": np.load(folder / "images.npy")}
np.save(folder / "base.npy", session.run(None, feeds)[0])
np.save(folder / "adapted.npy", session.run(None, feeds, with_adapter)[0])
