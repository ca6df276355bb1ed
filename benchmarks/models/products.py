"""Time of a model's matrix products alone: `python -m benchmarks.models.products MODEL`.

The products are matrix products and convolutions of the forward and backward pass as eager PyTorch
does them. Their time is the number of their operations over the most that this processor was
measured to do in a second, on one large matrix product by PyTorch or by ONNX Runtime.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

SIZE = 2048
TRIALS = 5


class Products(NamedTuple):
    """The products of one training step."""

    operations: float
    """Multiplications and additions."""
    per_second: float
    """Of them, at most."""
    eager_s: float
    """A forward and backward pass of eager PyTorch, without the optimizer."""

    @property
    def seconds(self) -> float:
        return self.operations / self.per_second


def measured(name: str) -> Products:
    """Counted and timed in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.models.products", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Products(*json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from benchmarks.models.subjects import load
    from workbench.machine.threads import default_threads

    torch.set_num_threads(default_threads())
    subject = load(sys.argv[1])
    module = subject.model.module().train()
    batch = next(subject.data.train.batches(subject.batch_size, 0, 0))
    inputs = [torch.as_tensor(array) for array in batch.inputs]

    def both_passes() -> None:
        found = module(*inputs)
        results = [found] if isinstance(found, torch.Tensor) else _tensors(found)
        floats = [each.sum() for each in results if each.is_floating_point()]
        torch.stack(floats).sum().backward()
        module.zero_grad()

    # The fused kernels of attention are not counted.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        both_passes()
    eager_s = _fastest(both_passes)
    print(json.dumps([counter.get_total_flops(), _operations_per_second(), eager_s]))


def _tensors(found: object) -> list[object]:
    import torch

    values = found.values() if isinstance(found, dict) else found
    assert hasattr(values, "__iter__")
    return [each for each in values if isinstance(each, torch.Tensor)]


def _operations_per_second() -> float:
    import torch

    matrix = torch.rand(SIZE, SIZE)
    by_onnx_runtime = _onnx_runtime_product(matrix.numpy())
    fastest = min(_fastest(lambda: torch.mm(matrix, matrix)), _fastest(by_onnx_runtime))
    return float(2 * SIZE**3 / fastest)


def _onnx_runtime_product(matrix: np.ndarray) -> Callable[[], object]:
    from onnx import TensorProto, helper

    from workbench.machine.threads import default_threads
    from workbench.ort.native import native

    native()
    import onnxruntime

    shape = list(matrix.shape)
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "ab"]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "a"], ["b"])], "product", value[:1], value[1:]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = default_threads()
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda: session.run(None, {"a": matrix})


def _fastest(run: Callable[[], object]) -> float:
    taken = []
    for _ in range(TRIALS):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return min(taken)


if __name__ == "__main__":
    main()
