"""Training artifacts: the files for on-device training of a model, in one folder.

    training_model.onnx    forward, loss and gradient
    training_model.device_kernels.onnx
                           the same with the workbench's kernels, not in bundles
    eval_model.onnx        forward and loss, in evaluation mode
    optimizer_model.onnx   one optimizer step
    checkpoint             the parameters
    nominal_checkpoint     the same without their values, if requested
    inference_model.onnx   forward only, parameters as named initializers
    forward_model.onnx     forward and loss as exported, before the rewrites
    provenance.json        the export, rewrite, fusion or gradient that each node is from
    constants.safetensors  further values of the model, such as step counters
    manifest.json          description and hashes of these files

They are generated in a child process (`python -m workbench.artifacts REQUEST.json`): only it needs
torch and onnx, and if it crashes an error is raised.
"""

from __future__ import annotations

from workbench.artifacts.artifacts import TARGET, Artifacts, open_bundle
from workbench.artifacts.generate import generate_artifacts, generate_from_saved

__all__ = ["TARGET", "Artifacts", "generate_artifacts", "generate_from_saved", "open_bundle"]
