"""A script for onnxruntime-training as it was before: nothing in it is the workbench's."""

import inspect
import json
import os
import tempfile
import warnings
from pathlib import Path

import onnxruntime
import onnxruntime.training
import torch
import torch_ort
from onnxruntime.training import artifacts, ortmodule
from onnxruntime.training.api import CheckpointState
from onnxruntime.training.optim import AdamConfig, FP16_Optimizer, FusedAdam
from onnxruntime.training.ortmodule import DebugOptions, LogLevel, ORTModule
from onnxruntime.training.ortmodule.options import DebugOptions as DefinedThere
from onnxruntime.training.utils.data import LoadBalancingDistributedSampler
from torch_ort.optim import FusedAdam as OfTorchOrt
from torch_ort.utils.data import LoadBalancingDistributedSampler as SamplerOfTorchOrt


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
    torch_ort.ORTModule is ORTModule,
    torch_ort.DebugOptions is DebugOptions is DefinedThere,
    OfTorchOrt is FusedAdam,
    SamplerOfTorchOrt is LoadBalancingDistributedSampler,
    AdamConfig(lr=0.5).lr == 0.5,
]
dropped = []
for _ in range(2):
    torch_ort.set_seed(1)
    dropped.append(ORTModule(torch.nn.Sequential(build(), torch.nn.Dropout()))(torch.ones(6, 4)))
answer["seeded"] = dropped[0].eq(dropped[1]).all().item()
answer["package"] = [artifacts.generate_artifacts.__module__, CheckpointState.__module__]
answer["checkpoint"] = torch.utils.checkpoint.checkpoint.__module__
answer["refusals"] = []
for name, act in {
    "FusedAdam": lambda: FusedAdam(model.parameters()),
    "FP16_Optimizer": lambda: FP16_Optimizer(torch.optim.AdamW(model.parameters())),
    "other": lambda: ortmodule.ONNX_OPSET_VERSION,
    "prefix": lambda: DebugOptions(save_onnx=True),
    "folder": lambda: DebugOptions(save_onnx=True, onnx_prefix="a", save_path="/not/there"),
    "level": lambda: DebugOptions(log_level="INFO"),
}.items():
    try:
        act()
    except Exception as error:
        answer["refusals"].append(f"{name}: {type(error).__name__}: {error}")

with tempfile.TemporaryDirectory() as folder:
    os.environ["ORTMODULE_SAVE_ONNX_PATH"] = folder
    options = DebugOptions(LogLevel.ERROR, save_onnx=True, onnx_prefix="my_model")
    answer["path"] = options.save_onnx_models.path == folder
    losses(ORTModule(build(), options))
    answer["files"] = sorted(path.name for path in Path(folder).iterdir())
    answer["signature"] = str(inspect.signature(model.forward))
    answer["plain"] = [answer["plain"], str(inspect.signature(build().forward))]
    config = Path(folder, "config.json")
    config.write_text(json.dumps(["ReLU+:1:-1"]))
    os.environ["ORTMODULE_MEMORY_OPT_CONFIG"] = str(config)
    os.environ["ORTMODULE_LOG_LEVEL"] = "FATAL"
    answer["config"] = (
        ORTModule(build(), DebugOptions(LogLevel.VERBOSE))._settings["options"].changed
    )
for name, value in {
    "MEMORY_OPT_LEVEL": "1",
    "ENABLE_COMPUTE_OPTIMIZER": "1",
    "ENABLE_EMBEDDING_SPARSE_OPTIMIZER": "1",
    "CACHE_DIR": "cache",
    "ENABLE_CUSTOM_AUTOGRAD": "1",
    "MEMORY_OPT_LEVLE": "1",
}.items():
    os.environ[f"ORTMODULE_{name}"] = value
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    chosen = [ORTModule(build())._settings["options"].changed for _ in range(2)]
answer["chosen"] = chosen[0]
answer["warned"] = [str(each.message) for each in warned]
os.environ["ORTMODULE_ENABLE_LABEL_SPARSE_OPTIMIZER"] = "yes"
os.environ["ORTMODULE_LOG_LEVEL"] = "LOUD"
try:
    ORTModule(build())
except Exception as error:
    answer["wrong"] = str(error)
print(json.dumps(answer))
