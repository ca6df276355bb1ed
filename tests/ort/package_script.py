"""A script for onnxruntime-training as it was before: nothing in it is the workbench's."""

import json

import onnxruntime
import onnxruntime.training
import torch
from onnxruntime.training import artifacts, ortmodule
from onnxruntime.training.api import CheckpointState
from onnxruntime.training.optim import FP16_Optimizer, FusedAdam
from onnxruntime.training.ortmodule import DebugOptions, LogLevel, ORTModule


def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))


def losses(model):
    torch.manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    found = []
    for _ in range(5):
        x, labels = torch.randn(6, 4), torch.randint(0, 2, (6,))
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


model = ORTModule(build(), DebugOptions(log_level=LogLevel.ERROR))
answer = {"losses": losses(model), "plain": losses(build())}
answer["graphs"] = len(model.built_graphs)
answer["same"] = [
    onnxruntime.training.ortmodule is ortmodule,
    onnxruntime.training.ORTModule is ORTModule,
    isinstance(model, ortmodule.ORTModule),
    model.module is model.wrapped,
]
answer["package"] = [artifacts.generate_artifacts.__module__, CheckpointState.__module__]
answer["checkpoint"] = torch.utils.checkpoint.checkpoint.__module__
answer["refusals"] = []
for name, act in {
    "FusedAdam": lambda: FusedAdam(model.parameters()),
    "FP16_Optimizer": lambda: FP16_Optimizer(torch.optim.AdamW(model.parameters())),
    "other": lambda: ortmodule.ONNX_OPSET_VERSION,
    "prefix": lambda: DebugOptions(save_onnx=True),
}.items():
    try:
        act()
    except Exception as error:
        answer["refusals"].append(f"{name}: {type(error).__name__}: {error}")
print(json.dumps(answer))
