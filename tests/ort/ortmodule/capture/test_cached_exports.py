"""Forward graphs from the cache: of the same module and call alone, and exported once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
import torch
from torch import Tensor, nn

from workbench.export_cache.cache import ExportCache
from workbench.export_cache.code_used import CodeUsed
from workbench.export_cache.export_context import ExportContext
from workbench.modules.dynamic_axes import BATCH
from workbench.ort.ortmodule.capture.cached_exports import CachedExports, ObtainedGraph
from workbench.ort.ortmodule.capture.call_to_export import CallToExport
from workbench.ort.ortmodule.capture.graph_record import GRAPH, RECORD
from workbench.ort.ortmodule.capture.layout import Layout
from workbench.ort.ortmodule.capture.nested_values.omitted_results import ALL
from workbench.ort.ortmodule.capture.nested_values.structure import flatten


class Scaled(nn.Module):
    """Draws, normalizes, and returns a dict."""

    def __init__(self, width: int = 3, scale: float = 2.0) -> None:
        super().__init__()
        self.linear = nn.Linear(4, width)
        self.norm = nn.BatchNorm1d(width)
        self.dropout = nn.Dropout(0.25)
        self.scale = scale

    def forward(self, x: Tensor) -> dict[str, Tensor | str]:
        return {"y": self.norm(self.dropout(self.linear(x))) * self.scale, "kind": "scaled"}


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:
        return grad * 2


class Custom(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        doubled: Tensor = Doubled.apply(self.linear(x))
        return doubled


def call(module: nn.Module, *, rows: int = 4, autocast: torch.dtype | None = None) -> CallToExport:
    """A call with one tensor, whose batch is dynamic."""
    tensors: list[Tensor] = []
    arguments = flatten(((torch.zeros(rows, 4),), {}), tensors)
    axes = (((0, BATCH),),)
    return CallToExport(module, Layout(module), arguments, tensors, axes, ALL, autocast)


def text(found: CallToExport) -> str:
    return json.dumps(found.description(), sort_keys=True)


class Cached:
    """A cache and what it says."""

    def __init__(self, folder: Path) -> None:
        self.told: list[str] = []
        self.cache = ExportCache(folder, self.told.append)
        self.problem = ""

    def exported(self, of: CallToExport) -> ObtainedGraph:
        """As in a process of its own."""

        def code() -> CodeUsed | str:
            return self.problem or CodeUsed()

        process = ExportContext(self.cache, "0" * 64, code)
        return CachedExports(process).exported(of)

    @property
    def entry(self) -> Path:
        (found,) = (path for path in self.cache.folder.iterdir() if len(path.name) == 64)
        return found

    @property
    def count(self) -> int:
        return self.cache.contents()[0]


@pytest.fixture
def cached(tmp_path: Path) -> Cached:
    return Cached(tmp_path)


def test_a_graph_is_read_with_the_values_of_the_module(cached: Cached) -> None:
    module, other = Scaled(), Scaled()
    first, second = cached.exported(call(module)), cached.exported(call(other))
    assert first.export_s is not None
    assert first.cache_s is None
    assert second.export_s is None
    assert second.cache_s is not None
    assert second.graph._replace(model=first.graph.model) == first.graph
    weight = next(t for t in second.graph.model.graph.initializer if "linear.weight" in t.name)
    assert weight.raw_data == other.linear.weight.detach().numpy().tobytes()
    # Of the module that was exported it is the same graph, byte for byte.
    again = cached.exported(call(module)).graph.model
    assert again.SerializeToString(True) == first.graph.model.SerializeToString(True)


CHANGES: dict[str, Callable[[], CallToExport]] = {
    "width": lambda: call(Scaled(width=5)),
    "attribute": lambda: call(Scaled(scale=3.0)),
    "mode of a layer": lambda: call(changed(lambda module: module.dropout.eval())),
    "frozen": lambda: call(changed(lambda module: module.linear.bias.requires_grad_(False))),
    "dtype": lambda: call(Scaled().double()),
    "rate of a layer": lambda: call(changed(lambda m: setattr(m.dropout, "p", 0.5))),
    "another class": lambda: call(changed(lambda m: setattr(m, "dropout", nn.AlphaDropout(0.25)))),
    "a buffer more": lambda: call(changed(lambda m: m.register_buffer("more", torch.zeros(1)))),
    "tied": lambda: call(changed(lambda m: setattr(m.norm, "weight", m.norm.bias))),
    "hook": lambda: call(changed(lambda m: m.linear.register_forward_hook(print))),
    "autocast": lambda: call(Scaled(), autocast=torch.bfloat16),
    "one row": lambda: call(Scaled(), rows=1),
    "transposed": lambda: call(Scaled())._replace(tensors=[torch.zeros(4, 4).T]),
    "axes": lambda: call(Scaled())._replace(axes=((),)),
    "results": lambda: call(Scaled())._replace(read=("y",)),
    "argument": lambda: call(Scaled())._replace(
        arguments=flatten(((torch.zeros(4, 4), True), {}), [])
    ),
    "gradient of an argument": lambda: call(Scaled())._replace(
        tensors=[torch.zeros(4, 4, requires_grad=True)]
    ),
}


def changed(change: Callable[[Scaled], object]) -> Scaled:
    module = Scaled()
    change(module)
    return module


@pytest.mark.parametrize("name", CHANGES)
def test_another_module_or_call_has_another_key(name: str) -> None:
    assert text(call(Scaled())) == text(call(Scaled()))
    assert text(CHANGES[name]()) != text(call(Scaled()))


class Branching(nn.Module):
    """Computes large batches in another way, larger than those that a trace is compared with;
    `len` is a number, which only a trace accepts."""

    def __init__(self, rows: Callable[[Tensor], int]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.rows = rows

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        return y * 2 if self.rows(x) > 1000 else y


def test_a_graph_is_for_every_batch_of_rows_or_not_cached(cached: Cached) -> None:
    module = Scaled()
    cached.exported(call(module, rows=4))
    assert cached.exported(call(module, rows=7)).cache_s is not None
    assert cached.exported(call(module)._replace(axes=((),))).export_s is not None
    for branching in (Branching(len), Branching(lambda x: x.shape[0])):
        assert cached.exported(call(branching)).export_s is not None
    assert cached.count == 2


def test_what_a_graph_does_not_hold_is_not_cached(cached: Cached) -> None:
    """A custom autograd function, and code of the user's that is not known."""
    assert cached.exported(call(Custom())).graph.calls
    cached.problem = "The model's code used the network."
    assert cached.exported(call(Scaled())).export_s is not None
    assert cached.count == 0
    assert cached.told == ["The export is not cached. The model's code used the network."]


def forged(entry: Path, file: str, content: bytes) -> None:
    """Replace a file of an entry, with its digest."""
    (entry / file).write_bytes(content)
    record = json.loads((entry / "entry.json").read_text())
    digest = hashlib.sha256(content).hexdigest()
    record["files"][file] = {"bytes": len(content), "sha256": digest}
    (entry / "entry.json").write_text(json.dumps(record))


def other_input(model: onnx.ModelProto) -> None:
    model.graph.input[0].name = "other"


def fewer_results(model: onnx.ModelProto) -> None:
    del model.graph.output[:]


def other_shape(model: onnx.ModelProto) -> None:
    for tensor in model.graph.initializer:
        tensor.dims.extend([1] * tensor.name.endswith("linear.bias"))


def traced(model: onnx.ModelProto) -> None:
    """A trace may hold numbers of the weights and of the call."""
    (exporter,) = (each for each in model.metadata_props if each.key == "exporter")
    exporter.value = "TorchScript"


def other_file(model: onnx.ModelProto) -> None:
    constant = model.graph.initializer.add(name="c", data_type=1, dims=[1])
    constant.data_location = onnx.TensorProto.EXTERNAL
    constant.external_data.add(key="location", value="/etc/passwd")


def test_a_corrupt_entry_is_exported_anew(cached: Cached) -> None:
    module = Scaled()
    right = cached.exported(call(module)).graph
    whole = (cached.entry / GRAPH).read_bytes()
    (cached.entry / GRAPH).write_bytes(whole[:-9])
    assert cached.exported(call(module)).export_s is not None
    for change in (other_input, fewer_results, other_shape, traced, other_file):
        model = onnx.load_from_string(whole)
        change(model)
        forged(cached.entry, GRAPH, model.SerializeToString())
        found = cached.exported(call(module))
        assert found.export_s is not None, change
        assert found.graph._replace(model=right.model) == right
    for content in (b"\x80\x04.", b"{}", b'{"structure": "tensor", "dtypes": ["torch.load"]}'):
        forged(cached.entry, RECORD, content)
        assert cached.exported(call(module)).export_s is not None
    assert len(cached.told) == 9
    assert all("is corrupt, so the model is exported again" in each for each in cached.told)
    assert cached.exported(call(module)).cache_s is not None
