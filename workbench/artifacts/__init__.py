"""Training artifacts: what on-device training needs of a model, in one folder.

    training_model.onnx    forward, loss and gradient
    eval_model.onnx        forward and loss, in evaluation mode
    optimizer_model.onnx   one optimizer step
    checkpoint             the parameters
    inference_model.onnx   forward only, parameters as named initializers
    constants.safetensors  what the model keeps beside its parameters, such as counters
    manifest.json          what all of these are, and their hashes

They are generated in a child process (`python -m workbench.artifacts REQUEST.json`), which alone
needs torch and onnx and whose death is only an error message.
"""

from __future__ import annotations

from workbench.artifacts.artifacts import TARGET, Artifacts
from workbench.artifacts.generate import generate_artifacts, generate_from_saved

__all__ = ["TARGET", "Artifacts", "generate_artifacts", "generate_from_saved"]
