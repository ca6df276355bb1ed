"""The module in the workbench's ORTModule: passes by ONNX Runtime, optimizer by PyTorch."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import override

from workbench.data import Batch
from workbench.engines.base import Availability, EngineSetup, Evaluation
from workbench.engines.torch_base.export_cache import export_context
from workbench.engines.torch_base.tensors import as_tensor
from workbench.engines.torch_base.torch_engine import TorchEngine, buffers_kept
from workbench.engines.training_build import training_build
from workbench.engines.tuning_state import tuning_state
from workbench.files.json_file import read_json, write_json
from workbench.ort.step_seeds import StepSeeds
from workbench.run_folder.statistics import ByPyTorch, OptionState, Statistics

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    from workbench.run_folder.operator_timing import StepWindow, Timing

GRAIN_SIZE = 32_768
"""Elements of a tensor from which PyTorch divides element-wise work among threads (ATen's
`at::internal::GRAIN_SIZE`). Its fused optimizers divide smaller ones too."""

STATE = "ortmodule.json"
"""File of a checkpoint: number of batches trained, in addition to the state of every torch
engine."""


class ORTModuleEngine(TorchEngine):
    """Forward and backward by ONNX Runtime; loss, optimizer and evaluation by PyTorch.

    The graph is built with the engine; it also runs batches of other sizes.
    """

    draws_in_torch: ClassVar[bool] = False

    @classmethod
    @override
    def availability(cls) -> Availability:
        available = super().availability()
        return training_build() if available.ok else available

    def __init__(self, setup: EngineSetup) -> None:
        # Before the model's code is loaded.
        self._context = export_context(setup)
        super().__init__(setup)

    @override
    def prepare(self, setup: EngineSetup) -> None:
        setup.report("loading ONNX Runtime")
        from torch import set_num_threads

        from workbench.ort.native import native
        from workbench.ort.ortmodule import ORTModule
        from workbench.ort.ortmodule.capture.cached_exports import CachedExports

        self._name = setup.config.engine
        self._threads = setup.config.threads
        self._set_threads = set_num_threads
        self._tuning = tuning_state(setup.config)
        self._evaluations = 0
        self._set_seed = native().set_seed
        self._seeds = StepSeeds(setup.config.seed)
        if setup.checkpoint is not None:
            self._seeds.batches = read_json(setup.checkpoint / STATE)["batches"]
        context = self._context
        if context is not None and context.seed is not None and self._loading_drew:
            context = context.after_draws()
        self.wrapped = ORTModule(
            self.module,
            options=setup.config.ortmodule,
            disable_randomness=setup.disable_randomness,
            exports=None if context is None else CachedExports(context),
        )
        self.replica = self.wrapped

    @override
    def build(self, setup: EngineSetup) -> None:
        from workbench.ort.ortmodule.deterministic import is_deterministic

        setup.report("exporting the model and building its gradient")
        size = setup.config.batch_size
        inputs = [as_tensor(_rows(array, size)) for array in self.model.example_inputs()]
        with nullcontext() if self._ranks is None else self._ranks.forward_pass():
            self.wrapped.build_for(*inputs)
        for built in self.wrapped.built_graphs:
            if built.origin.cache_s is not None:
                setup.report("using the exported graph of the cache")
        # A small graph gets one thread where that was measured to be faster; the record says so.
        used = " and ".join(map(str, sorted(set(self.wrapped.session_threads))))
        if used:
            setup.report(f"ONNX Runtime's passes use {used} of {setup.config.threads} threads")
        measured = setup.config.threads > 1 and not is_deterministic(setup.config.ortmodule)
        if measured and self._is_small(inputs):
            self._threads = 1
            setup.report("PyTorch's loss and optimizer use 1 thread: the tensors are small")

    def _is_small(self, inputs: list[Tensor]) -> bool:
        """Whether PyTorch would wake a second thread for less than waking it takes."""
        from workbench.ort.ortmodule.session.threads import one_thread_suffices

        graphs = self.wrapped.built_graphs
        whole = len(graphs) == 1 and not self.wrapped.functions
        if not whole or max(each.numel() for each in self._trained) >= GRAIN_SIZE:
            return False
        with buffers_kept(self.module):
            return one_thread_suffices(graphs[0].session, inputs)

    @override
    def batch_loss(self, inputs: tuple[Tensor, ...], targets: tuple[Tensor, ...]) -> Tensor:
        # Of the process, which several engines may share.
        self._set_threads(self._threads)
        self._set_seed(self._seeds.next())
        return super().batch_loss(inputs, targets)

    @override
    def save_state(self, folder: Path) -> None:
        super().save_state(folder)
        write_json(folder / STATE, {"batches": self._seeds.batches})

    @override
    def evaluate(self, batch: Batch) -> Evaluation:
        self._evaluations += 1
        return super().evaluate(batch)

    @override
    def graph_timings(self, folder: Path, windows: Sequence[StepWindow]) -> list[list[Timing]]:
        from workbench.ort.ortmodule.operator_profile import step_timings

        return step_timings(self.wrapped, windows)

    @override
    def statistics(self) -> Statistics:
        from workbench.ort.ortmodule.statistics import graph_statistics, run_by_pytorch

        by_design = [
            ByPyTorch(
                what="the loss and the optimizer step",
                why="ORTModule contains the module alone",
                fallback=False,
            )
        ]
        if self._evaluations:
            by_design.append(
                ByPyTorch(
                    what="the evaluation of batches",
                    why="ORTModule runs training steps alone",
                    calls=self._evaluations,
                    fallback=False,
                )
            )
        return Statistics(
            engine=self._name,
            graphs=graph_statistics(self.wrapped),
            options=(
                *(OptionState(**report._asdict()) for report in self.wrapped.options_report),
                self._tuning,
            ),
            by_pytorch=(*run_by_pytorch(self.wrapped), *by_design),
        )


def _rows(array: np.ndarray, count: int) -> np.ndarray:
    """`count` rows: those of `array`, repeated."""
    return np.ascontiguousarray(array[np.arange(count) % len(array)])
