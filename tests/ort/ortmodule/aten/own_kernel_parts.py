"""Parts of `kernel_probe` on the workbench's kernels in ORTModule: training, casts, results."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from tests.ort.ortmodule.aten.dropped_attention import dropped
from tests.ort.ortmodule.noted_sessions import kernels, loaded
from workbench import ORTModule
from workbench.errors import WorkbenchError

Answer = dict[str, Any]


class Layer(nn.Module):
    """A layer of a transformer and the loss of its words, with both results that trainers read."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 16)
        self.packed, self.outer = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 24), nn.Linear(24, 16)
        self.head = nn.Linear(16, 11)

    def forward(self, words: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        x = self.words(words)
        parts = self.packed(x).unflatten(-1, (3, 2, 8)).movedim(-3, 0).transpose(-2, -3)
        mixed = nn.functional.scaled_dot_product_attention(*parts.unbind(0))
        x = self.norm(x + self.outer(mixed.transpose(1, 2).flatten(2)))
        x = x + self.down(nn.functional.gelu(self.up(x)))
        logits = self.head(x)
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), logits


OWN = {"pytorch_kernels": "off"}
"""The workbench's kernels and ONNX Runtime's alone."""


def words(batch: int, length: int) -> tuple[Tensor, Tensor]:
    labels = torch.randint(0, 11, (batch, length))
    labels[:, ::3] = -100
    return torch.randint(0, 11, (batch, length)), labels


def trained() -> Answer:
    """A few steps of a layer, of two batch sizes and lengths, beside the plain module."""
    torch.manual_seed(0)
    plain = Layer()
    module = copy.deepcopy(plain)
    wrapped = ORTModule(module, options=OWN)
    differences = []
    optimizers = [torch.optim.AdamW(each.parameters(), 0.01) for each in (plain, module)]
    for batch, length in ((3, 7), (5, 7), (2, 12), (4, 5), (3, 7)):
        given = words(batch, length)
        losses = []
        for each, optimizer in zip((plain, wrapped), optimizers, strict=True):
            optimizer.zero_grad()
            loss, _ = each(*given)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        differences.append(float((losses[0] - losses[1]).abs()))
    [report] = [each for each in wrapped.options_report if each.option == "device_kernels"]
    run = Counter(
        node.op_type
        for node in onnx.load_from_string(loaded[-1].observation.optimized).graph.node
        if node.domain == "workbench"
    )
    return {
        "differences": differences,
        "report": [report.state, report.reason],
        "chosen": kernels().chosen,
        "run": run,
        "pytorch_calls": dict(wrapped.pytorch_calls),
    }


def autocast() -> Answer:
    """Under autocast, where half precision is between our kernels' float32."""
    torch.manual_seed(0)
    plain = Layer()
    wrapped = ORTModule(copy.deepcopy(plain), options=OWN)
    given, found = words(3, 7), []
    for each in (plain, wrapped):
        with torch.autocast("cpu", torch.bfloat16):
            loss, _ = each(*given)
        loss.backward()
        found.append([each.get_parameter("packed.weight").grad, loss.detach()])
    differences = [float((one - other).abs().max()) for one, other in zip(*found, strict=True)]
    return {"differences": differences, "largest": float(found[0][0].abs().max())}


def results() -> Answer:
    """Where nothing is made of the loss, or of the logits: their gradients are none. And where the
    logits are changed in place, which the kernel of the loss reads again."""
    torch.manual_seed(0)
    plain = Layer()
    wrapped = ORTModule(copy.deepcopy(plain), options=OWN)
    given = words(3, 7)
    answer: Answer = {}
    for name, index in (("loss", 0), ("logits", 1)):
        found = []
        for each in (plain, wrapped):
            each.zero_grad()
            each(*given)[index].square().sum().backward()
            found.append(each.get_parameter("packed.weight").grad)
        answer[name] = float((found[0] - found[1]).abs().max() / found[0].abs().max())
    loss, logits = wrapped(*given)
    logits.detach().add_(1.0)
    try:
        loss.backward()
    except WorkbenchError as error:
        answer["changed"] = str(error)
    return answer


def without_own() -> Answer:
    """Where the library is not built."""
    from workbench.ort.kernel_library.load import DeviceKernels
    from workbench.ort.ortmodule.differentiate import own_kernels

    built = own_kernels.device_kernels
    own_kernels.device_kernels = lambda: DeviceKernels(None, "they are not built")
    try:
        torch.manual_seed(0)
        plain = Layer()
        wrapped = ORTModule(copy.deepcopy(plain), options=OWN)
        given = words(3, 7)
        losses = [each(*given)[0] for each in (plain, wrapped)]
        for loss in losses:
            loss.backward()
    finally:
        own_kernels.device_kernels = built
    [report] = [each for each in wrapped.options_report if each.option == "device_kernels"]
    return {
        "difference": float((losses[0] - losses[1]).detach().abs()),
        "report": [report.state, report.reason],
        "library": loaded[-1].graph.library is not None,
    }


OWN_PARTS: Mapping[str, Callable[[], Answer]] = MappingProxyType(
    {
        "trained": trained,
        "autocast": autocast,
        "results": results,
        "without own": without_own,
        "dropped attention": dropped,
    }
)
"""Name of the answer -> what answers."""
