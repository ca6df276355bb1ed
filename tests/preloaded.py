"""Imports of the processes that export models, verify gradients, run tests or are kernels, and the
tables that every export makes.

Imported by the fork server alone, once.
"""

from __future__ import annotations

from importlib import import_module

from torch.export import default_decompositions
from torch.onnx._internal.exporter._registration import ONNXRegistry

from workbench.export.export import OPSET
from workbench.export.translation_table import kept_translation_table

for name in (
    *("ipykernel.kernelapp", "onnx", "onnxscript", "pandas", "torch._dynamo"),
    *("torch._inductor.fx_passes.post_grad", "torch.export._trace"),
    "torch.onnx._internal.exporter._core",
    *("workbench.artifacts.generation.build", "workbench.export.effects.refused_effects"),
    *("workbench.export.torch_exporter", "workbench.export.translations.translations"),
    *("workbench.cli", "workbench.verification.finite_differences", "workbench.widgets"),
    # What test files import, each in every process.
    *("accelerate", "flwr.app", "flwr.clientapp", "flwr.serverapp.strategy", "lightning"),
    *("matplotlib.figure", "nbformat", "playwright.sync_api", "scipy.stats", "sklearn.datasets"),
    *("transformers.trainer", "workbench.ort.ortmodule.module"),
):
    import_module(name)
with kept_translation_table():
    ONNXRegistry.from_torchlib(opset_version=OPSET)
default_decompositions().keys()  # looks up all operators, which torch keeps
