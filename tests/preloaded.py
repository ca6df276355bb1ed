"""Imports of the processes that export models, verify gradients, run tests or are kernels, and one
export: the first takes a process twice as long as the next, for what torch looks up and keeps.

Imported by the fork server alone, once.
"""

from __future__ import annotations

import threading
from importlib import import_module

import torch
from torch import nn
from tqdm import tqdm

from workbench.export.export import export_onnx

# Each fork has its own: of the default, which processes share, one that is killed while it has it
# leaves none to the others.
tqdm.set_lock(threading.RLock())

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


@torch.random.fork_rng(devices=[])  # forks have drawn nothing
def export() -> None:
    """Export a small module, in this thread alone: forks have no other."""
    module = nn.Sequential(
        nn.Linear(4, 3), nn.GELU(), nn.LayerNorm(3), nn.Dropout(), nn.Linear(3, 2)
    )
    threads, tqdm.monitor_interval = torch.get_num_threads(), 0
    torch.set_num_threads(1)
    export_onnx(module, [torch.zeros(2, 4)], input_names=["x"], output_names=["y"], training=True)
    torch.set_num_threads(threads)
    assert threading.active_count() == 1, threading.enumerate()
    tqdm.monitor_interval = 10


export()
