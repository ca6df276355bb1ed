"""Trains modules under ORTModule with each of its options and writes down what that changed.

Runs in a process of its own, for native code that dies must fail a test and not end the suite:

    python -m tests.ort.ortmodule.options_probe RESULT_JSON
"""

from __future__ import annotations

import copy
import math
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from tests.answers import write_answers
from tests.forked import outcome
from tests.ort.ortmodule.padding.padding_cases import (
    PADDING,
    AttentionPooling,
    Encoder,
    MaskedWords,
)
from workbench import ORTModule
from workbench.errors import WorkbenchError
from workbench.ort.ortmodule.capture import cached_exports
from workbench.ort.ortmodule.capture.export import ForwardGraph

Answer = dict[str, Any]


class Blocks(nn.Module):
    """Blocks as in a transformer, without attention."""

    def __init__(self, width: int = 16, blocks: int = 2, results: int = 4) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width),
                nn.Linear(width, 4 * width),
                nn.GELU(),
                nn.Linear(4 * width, width),
            )
            for _ in range(blocks)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, results)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = x + block(x)
        result: Tensor = self.head(self.norm(x))
        return result


class Attention(nn.Module):
    """Self-attention of one head, added to what goes in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.inner(x).chunk(3, -1)
        scores = torch.softmax(query @ key.transpose(1, 2) / 8, -1)
        result: Tensor = x + self.outer(scores @ value)
        return result


class Masked(nn.Module):
    """The loss of a model of tokens, some of whose labels are ignored; the logits too if asked."""

    def __init__(self, reduction: str = "mean", with_logits: bool = False) -> None:
        super().__init__()
        self.reduction, self.with_logits = reduction, with_logits
        self.tokens, self.inner, self.norm = (
            nn.Embedding(30, 16),
            nn.Linear(16, 16),
            nn.LayerNorm(16),
        )
        self.head = nn.Linear(16, 30)

    def forward(self, tokens: Tensor, labels: Tensor) -> Any:
        x = torch.cumsum(self.tokens(tokens), 1)
        logits = self.head(self.norm(nn.functional.gelu(self.inner(x))))
        loss = nn.functional.cross_entropy(
            logits.view(-1, 30), labels.view(-1), reduction=self.reduction
        )
        return (loss, logits) if self.with_logits else loss


class First(nn.Module):
    """Computes every position of a sequence and uses the first."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.head(self.second(torch.sigmoid(self.first(x)))[:, 0])
        return result


class Half(nn.Module):
    """Goes to half precision and back more often than it needs to."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x).half().float().transpose(1, 2).half()).float()
        x = torch.sigmoid(x).half().transpose(1, 2).float()
        result: Tensor = self.second(x)
        return result


def wrapped(build: Callable[[], nn.Module], **options: Any) -> tuple[ORTModule, Answer]:
    """A module under ORTModule after one step, and that step beside PyTorch's."""
    torch.manual_seed(0)
    plain = build()
    # The options are told by the operators, which the workbench's kernels would take the place of.
    module = ORTModule(copy.deepcopy(plain), options={"device_kernels": False, **options})
    x = torch.randn(6, 8, 16)
    gradients = []
    for each in (plain, module):
        (each(x) ** 2).mean().backward()
        gradients.append({name: p.grad for name, p in each.named_parameters()})
    largest = max(float(gradient.abs().max()) for gradient in gradients[0].values())
    difference = max(
        float((gradients[0][name] - gradients[1][name]).abs().max()) for name in gradients[0]
    )
    (built,) = module.built_graphs
    session = built.session
    report = {each.option: [each.state, each.reason] for each in module.options_report}
    return module, {
        "difference": difference / largest,
        "gradient": operators(session.graph.model),
        "optimized": operators(session.observation.optimized),
        "report": report,
    }


def operators(model: bytes) -> dict[str, int]:
    return Counter(node.op_type for node in onnx.load_from_string(model).graph.node)


def answer_of(build: Callable[[], nn.Module], **options: Any) -> Answer:
    return wrapped(build, **options)[1]


def gather_before_matmul(**options: Any) -> Answer:
    """Where the first position is taken, among the operators of the forward pass."""
    module, answer = wrapped(First, **options)
    graph = onnx.load_from_string(module.built_graphs[0].session.graph.model).graph
    order = [node.op_type for node in graph.node]
    return {**answer, "place": order.index("Gather")}


def large() -> nn.Module:
    """Keeps tens of megabytes for the backward pass of a batch of (32, 128, 64)."""
    layers = [layer for _ in range(3) for layer in (Attention(64), Blocks(64, 1, 64))]
    return nn.Sequential(*layers)


def peak_bytes(**options: Any) -> int:
    """How far the resident set grows while steps run. In a process of its own."""
    torch.manual_seed(0)
    # "auto" depends on the processor.
    fixed = {"device_kernels": False, "pytorch_kernels": "all"}
    module = ORTModule(large(), options={**fixed, **options})
    x = torch.randn(32, 128, 64)
    module.build_for(x)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmHWM")
    for _ in range(3):
        module(x).sum().backward()
        module.zero_grad()
    return resident("VmHWM") - before


def resident(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    raise ValueError(field)


def allows_spinning(**options: Any) -> bool:
    """Whether threads of a session wait busily, as it was told."""
    module, _ = wrapped(Blocks, **options)
    session = module.built_graphs[0].session._session
    entry = "session.intra_op.allow_spinning"
    return bool(int(session.session_options.get_session_config_entry(entry)))


def thread_count(threads: int) -> Answer:
    """How many threads a graph adds to the process. In a process of its own."""
    module = ORTModule(Blocks(), options={"threads": threads})
    before = len(list(Path("/proc/self/task").iterdir()))
    module.build_for(torch.randn(6, 8, 16))
    return {
        "more": len(list(Path("/proc/self/task").iterdir())) - before,
        "session": module.session_threads,
    }


def label_sparsity(**arguments: Any) -> Answer:
    """Steps with ever fewer labels that count, beside PyTorch's.

    At last none does, and all gradients are zero; the mean of no losses is NaN, their sum zero.
    """
    torch.manual_seed(0)
    plain = Masked(**arguments)
    module = ORTModule(copy.deepcopy(plain), options={"label_sparsity": True})
    loss_differences, gradient_differences = [], []
    for ignored in (0.0, 0.5, 0.85, 1.0):
        tokens, labels = torch.randint(0, 30, (2, 6, 20))
        labels[torch.rand(6, 20) < ignored] = -100
        losses, gradients = [], []
        for each in (plain, module):
            each.zero_grad()
            result = each(tokens, labels)
            loss = result[0] if isinstance(result, tuple) else result
            loss.backward()
            losses.append(loss.item())
            gradients.append([p.grad.flatten() for p in each.parameters()])
        expected, found = (torch.cat(each) for each in gradients)
        largest = max(1e-3, float(expected.abs().max()))
        gradient_differences.append(float((expected - found).abs().max()) / largest)
        loss_differences.append(loss_difference(*losses))
    (built,) = module.built_graphs
    graph = onnx.load_from_string(built.session.graph.model).graph
    order = [node.op_type for node in graph.node]
    products = [place for place, op in enumerate(order) if op in ("MatMul", "Gemm", "FusedMatMul")]
    report = {each.option: [each.state, each.reason] for each in module.options_report}
    return {
        "loss": float(np.max(loss_differences)),  # NaN if one is, unlike that of `max`
        "gradient": float(np.max(gradient_differences)),
        "without_labels": {"loss": losses[1], "gradient": float(found.abs().max())},
        "picked_first": "NonZero" in order and order.index("NonZero") < products[0],
        "report": report["label_sparsity"],
    }


def loss_difference(expected: float, found: float) -> float:
    """Relative to the expected loss from 1 on. Two NaN do not differ; beside one it is NaN."""
    if math.isnan(expected) and math.isnan(found):
        return 0.0
    return abs(expected - found) / max(1.0, expected)


def saved_graphs() -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "some" / "graphs")
        _, first = wrapped(Blocks, saved_graphs=target)
        _, second = wrapped(First, saved_graphs=target)
        found = {path.name: operators(path.read_bytes()) for path in sorted(Path(target).iterdir())}
        (Path(folder) / "file").write_text("")
        try:
            wrapped(Blocks, saved_graphs=str(Path(folder) / "file" / "graphs"))
        except WorkbenchError as error:
            refusal = f"{type(error).__name__}: {error}"
    reasons = [each["report"]["saved_graphs"][1] for each in (first, second)]
    return {"files": found, "reasons": reasons, "target": target, "refusal": refusal, **first}


@contextmanager
def native_output() -> Iterator[list[str]]:
    """The lines written to stderr within this block, those of native code too."""
    lines: list[str] = []
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            lines += file.read().decode().splitlines()


def log_lines(level: str) -> int:
    with native_output() as lines:
        wrapped(Blocks, log_level=level)
    return sum("onnxruntime" in line for line in lines)


def deterministic() -> Answer:
    """Twice in the same process, with several threads."""
    torch.set_num_threads(2)
    found, states = [], []
    for _ in range(2):
        module, answer = wrapped(Blocks, deterministic=True)
        found.append([p.grad for p in module.parameters()])
        states.append(answer["report"]["deterministic"])
    session = module.built_graphs[0].session
    torch.use_deterministic_algorithms(True)
    asked = answer_of(Blocks)["report"]["deterministic"]
    return {
        "same": all(torch.equal(a, b) for a, b in zip(*found, strict=True)),
        "threads": module.session_threads,
        "native": session._session.session_options.use_deterministic_compute,
        "report": states[0],
        "asked": asked,
    }


def refused(options: Any) -> str:
    """The error for options with which no ORTModule is made."""
    try:
        ORTModule(First(), options=options)
    except WorkbenchError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was raised"


FORKS: dict[str, Callable[[], Any]] = {
    "peak": peak_bytes,
    "peak_level_1": partial(peak_bytes, memory_optimizer_level=1),
    "peak_gelu": partial(peak_bytes, recompute_config="Gelu+:1:-1"),
    "peak_reuse": partial(peak_bytes, memory_reuse=True),
    "peak_own_kernels": partial(peak_bytes, pytorch_kernels=False),
    "peak_pattern": partial(peak_bytes, pytorch_kernels=False, memory_pattern=True),
    "threads_2": partial(thread_count, 2),
    "threads_1": partial(thread_count, 1),
    "deterministic": deterministic,
}
"""Cases that measure a process, or change its settings."""

CASES: dict[str, Callable[[], Any]] = {
    "default": partial(answer_of, Blocks),
    "level_1": partial(answer_of, Blocks, memory_optimizer_level=1),
    "level_2": partial(answer_of, Blocks, memory_optimizer_level=2),
    "recompute_gelu": partial(answer_of, Blocks, recompute_config="Gelu+:1:-1"),
    "recompute_nothing": partial(answer_of, Blocks, recompute_config="Softmax+:1:-1"),
    "memory_efficient": partial(answer_of, Blocks, memory_efficient_gradients=True),
    "not_moved": gather_before_matmul,
    "compute_optimizer": partial(gather_before_matmul, compute_optimizer=True),
    "nothing_to_move": partial(answer_of, Blocks, compute_optimizer=True),
    "sparsity": partial(answer_of, Blocks, label_sparsity=True, embedding_sparsity=True),
    "labels": label_sparsity,
    "labels_summed": partial(label_sparsity, reduction="sum"),
    "labels_with_logits": partial(label_sparsity, with_logits=True),
    **PADDING,
    "casts_off": partial(answer_of, Half, cast_propagation_level=-1),
    "casts": partial(answer_of, Half),
    "casts_level_0": partial(answer_of, Half, cast_propagation_level=0),
    "casts_allowed": partial(
        answer_of, Half, cast_propagation_level=0, cast_propagation_allow="Sigmoid,Transpose"
    ),
    "casts_inserted": partial(answer_of, Half, cast_propagation_strategy="insert_and_reduce"),
    "gelu": partial(answer_of, Blocks, gelu_approximation=True),
    "saved_graphs": saved_graphs,
    "waits_asleep": allows_spinning,
    "spins": partial(allows_spinning, spinning=True),
    "log_error": partial(log_lines, "error"),
    "log_info": partial(log_lines, "info"),
    "unknown": partial(refused, {"thread": 2}),
    "no_options": partial(refused, "spinning"),
}


SWEPT = ("labels_summed", "padding_encoder", "padding_zeros")


def share_exports() -> None:
    """Export each kind of module once, for all cases and forks: no option has a part in that."""
    export = cached_exports.export_forward
    exported: dict[type[nn.Module], ForwardGraph] = {}

    def shared(module: nn.Module, *args: Any, **options: Any) -> ForwardGraph:
        if isinstance(module, Masked | Encoder | MaskedWords | AttentionPooling):
            return export(module, *args, **options)
        made = exported.get(type(module)) or export(module, *args, **options)
        exported[type(module)] = made
        return made._replace(model=copy.deepcopy(made.model))

    cached_exports.export_forward = shared


def main() -> None:
    share_exports()
    torch.set_num_threads(1)
    ORTModule(large()).build_for(torch.randn(32, 128, 64))
    ORTModule(Blocks()).build_for(torch.randn(6, 8, 16))
    forks = {name: partial(outcome, case) for name, case in FORKS.items()}
    write_answers({**forks, **CASES}, SWEPT)


if __name__ == "__main__":
    main()
