"""The exported graph computes what the module computes, and keeps its parameters whole."""

from __future__ import annotations

import contextlib
import logging
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import _disable_current_modes

from workbench.errors import ModelError, UntrainableError
from workbench.export.export import EXPORTER, MAX_IR_VERSION, export_onnx
from workbench.export.torch_exporter import NAME
from workbench.onnx_io.inference_model import with_weights, write_inference_model
from workbench.ort.native import native


class Attention(nn.Module):
    """One decoder block with a tied output layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.position = nn.Embedding(6, 16)
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16)
        self.head = nn.Linear(16, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        batch, length = tokens.shape
        x = self.embedding(tokens) + self.position(torch.arange(length))
        query, key, value = (
            part.view(batch, length, 2, 8).transpose(1, 2)
            for part in self.qkv(self.norm(x)).chunk(3, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + mixed.transpose(1, 2).reshape(batch, length, 16)
        return self.head(x + self.down(functional.gelu(self.up(x))))


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3)
    )


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, bias=False),
        nn.BatchNorm2d(4),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 3),
    )


def autoencoder() -> nn.Module:
    return nn.Sequential(nn.Linear(12, 4), nn.Tanh(), nn.Linear(4, 12), nn.Sigmoid())


CASES = {
    "mlp": (mlp, (3, 4)),
    "cnn": (cnn, (1, 8, 8)),
    "autoencoder": (autoencoder, (12,)),
    "attention": (Attention, (6,)),
}


def example(shape: tuple[int, ...], batch: int) -> np.ndarray:
    generator = np.random.default_rng(batch)
    if len(shape) == 1 and shape[0] == 6:
        return generator.integers(0, 11, (batch, *shape))
    return generator.normal(size=(batch, *shape)).astype(np.float32)


def export(module: nn.Module, shape: tuple[int, ...], *, training: bool) -> onnx.ModelProto:
    return export_onnx(
        module,
        (example(shape, 2),),
        input_names=["x"],
        output_names=["y"],
        training=training,
    )


@pytest.mark.parametrize("name", CASES)
def test_inference_graph_equals_module_on_any_batch(name: str) -> None:
    native()  # first, so that onnxruntime leaves its own front end and torch alone
    from onnxruntime import InferenceSession

    build, shape = CASES[name]
    torch.manual_seed(0)
    module = build().train()
    proto = export(module, shape, training=False)
    onnx.checker.check_model(proto, full_check=True)
    session = InferenceSession(proto.SerializeToString())
    for batch in (1, 2, 7):
        x = example(shape, batch)
        got = session.run(None, {"x": x})[0]
        with torch.no_grad():
            expected = module.eval()(torch.from_numpy(x)).numpy()
        difference = np.abs(got - expected).max()
        assert difference < 1e-5, f"batch {batch}: largest difference {difference:.2e}"


@pytest.mark.parametrize("name", CASES)
def test_training_graph_keeps_parameters_and_module(name: str) -> None:
    build, shape = CASES[name]
    torch.manual_seed(0)
    module = build().train()
    before = {key: value.clone() for key, value in module.state_dict().items()}
    modes = [layer.training for layer in module.modules()]
    proto = export(module, shape, training=True)
    assert [layer.training for layer in module.modules()] == modes
    assert all(torch.equal(before[key], value) for key, value in module.state_dict().items())

    initializers = {item.name: numpy_helper.to_array(item) for item in proto.graph.initializer}
    for key, parameter in module.named_parameters():
        np.testing.assert_array_equal(initializers[key], parameter.detach().numpy())
    assert not proto.functions
    assert proto.ir_version <= MAX_IR_VERSION
    assert [value.name for value in proto.graph.input] == ["x"]
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_training_keeps_dropout_and_inference_form_of_batch_normalization() -> None:
    training = export(mlp(), (3, 4), training=True)
    assert "Dropout" in {node.op_type for node in training.graph.node}
    assert "Dropout" not in {
        node.op_type for node in export(mlp(), (3, 4), training=False).graph.node
    }
    proto = export(cnn(), (1, 8, 8), training=True)
    norms = [node for node in proto.graph.node if node.op_type == "BatchNormalization"]
    assert len(norms) == 2
    for node in norms:
        assert len(node.output) == 1
        assert node.input[3].endswith("running_mean")
        assert node.input[4].endswith("running_var")


def test_two_dropouts_of_one_tensor_stay_two() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.layer(x)
            return functional.dropout(x, 0.5) - functional.dropout(x, 0.5)

    proto = export_onnx(
        Twice(), (example((4,), 2),), input_names=["x"], output_names=["y"], training=True
    )
    assert [node.op_type for node in proto.graph.node].count("Dropout") == 2


def test_dropout_within_attention_drops() -> None:
    class Attend(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x.unsqueeze(1)
            return functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5).squeeze(1)

    proto = export_onnx(
        Attend(), (example((5, 4), 2),), input_names=["x"], output_names=["y"], training=True
    )
    (dropout,) = [node for node in proto.graph.node if node.op_type == "Dropout"]
    drops = {value.name: value for value in proto.graph.initializer}[dropout.input[2]]
    assert numpy_helper.to_array(drops) == np.array(True)


def test_export_is_silent_and_leaves_logging_alone(
    capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    level = logging.getLogger("torch.onnx").level
    export(mlp(), (3, 4), training=True)
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""
    assert not list(recwarn)
    assert logging.getLogger("torch.onnx").level == level
    assert not logging.getLogger("torch.onnx._internal.exporter._registration").disabled


def test_two_threads_export_one_after_the_other() -> None:
    """An export replaces functions of torch: what another sees meanwhile is not torch's."""
    together = threading.Barrier(2)
    met: list[bool] = []

    class Meeting(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with contextlib.suppress(threading.BrokenBarrierError):
                together.wait(timeout=1)
                met.append(True)
            return super().forward(x)

    graphs: list[onnx.ModelProto] = []
    threads = [
        threading.Thread(target=lambda: graphs.append(export(Meeting(4, 2), (3, 4), training=True)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not met
    assert [len(graph.graph.initializer) for graph in graphs] == [2, 2]


def test_a_tensor_can_be_printed_on_another_thread() -> None:
    """Printing disables torch's modes for a moment, here from within an export until its end."""
    entered, exported, printed = threading.Event(), threading.Event(), threading.Event()

    def print_slowly() -> None:
        with _disable_current_modes():
            entered.set()
            exported.wait(60)
        printed.set()

    class Printed(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not entered.is_set():
                threading.Thread(target=print_slowly).start()
                assert entered.wait(60)
            return super().forward(x)

    for _ in range(2):  # and the next export is one, too
        graph = export(Printed(4, 2), (3, 4), training=True)
        exported.set()
        assert printed.wait(60)
        assert [one.value for one in graph.metadata_props if one.key == EXPORTER] == [NAME]
        assert len(graph.graph.initializer) == 2


@pytest.mark.fault
def test_a_batch_of_one_is_refused() -> None:
    with pytest.raises(ModelError, match=r"first axis must be a batch of two or more"):
        export_onnx(
            mlp(), (example((3, 4), 1),), input_names=["x"], output_names=["y"], training=False
        )


@pytest.mark.fault
def test_a_module_that_torch_cannot_export_is_a_model_error() -> None:
    class Branches(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x if x.sum() > 0 else -x

    with pytest.raises(ModelError, match="cannot export Branches"):
        export_onnx(
            Branches(), (example((4,), 2),), input_names=["x"], output_names=["y"], training=False
        )


@pytest.mark.fault
@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None)), "cumulative average"),
        (nn.Sequential(nn.Embedding(11, 4, max_norm=1.0)), "0 has max_norm=1.0"),
        (nn.Sequential(nn.Embedding(11, 4, scale_grad_by_freq=True)), "0 has scale_grad_by_freq"),
    ],
)
def test_layers_that_onnx_would_train_differently_are_refused(
    module: nn.Module, message: str
) -> None:
    with pytest.raises(UntrainableError, match=message):
        export(module, (4,), training=True)


@pytest.mark.fault
def test_new_weights_are_written_into_an_inference_model(tmp_path: Path) -> None:
    proto = export(mlp(), (3, 4), training=False)
    weights = {"1.bias": np.arange(8, dtype=np.float32), "counter": np.array(3)}
    path = write_inference_model(proto, weights, tmp_path / "new" / "model.onnx")
    written = {item.name: item for item in onnx.load(path).graph.initializer}
    np.testing.assert_array_equal(numpy_helper.to_array(written["1.bias"]), weights["1.bias"])
    assert [file.name for file in path.parent.iterdir()] == ["model.onnx"]
    with pytest.raises(ModelError, match=r"'1.bias' has shape \[2\]"):
        write_inference_model(path, {"1.bias": np.zeros(2, np.float32)}, path)


def test_a_weight_without_axes_stays_one() -> None:
    proto = onnx.ModelProto()
    proto.graph.initializer.append(numpy_helper.from_array(np.array(1, np.float32), "scale"))
    made = with_weights(proto, {"scale": np.array(2, np.float32)})
    (tensor,) = made.graph.initializer
    assert numpy_helper.to_array(tensor).shape == ()
    assert numpy_helper.to_array(tensor) == 2


def test_nodes_have_their_layer_and_no_paths_of_this_machine() -> None:
    proto = export(Attention(), (6,), training=True)
    layers = {
        node.op_type: {p.key: p.value for p in node.metadata_props} for node in proto.graph.node
    }
    assert layers["LayerNormalization"] == {"layer": "norm"}
    assert b".py" not in proto.SerializeToString()
    assert str(Path.cwd()).encode() not in proto.SerializeToString()
