"""The base class of engines that train a torch module; each says how it wraps the module."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import override

from workbench.data import Batch
from workbench.engines.base import (
    Availability,
    Engine,
    EngineSetup,
    Evaluation,
    Gradients,
    ObservedStep,
    ParameterNorms,
)
from workbench.engines.torch_base.disabled_randomness import disable_randomness
from workbench.engines.torch_base.independent_rows import refuse_mixed_rows
from workbench.engines.torch_base.tensors import as_tensors
from workbench.engines.torch_base.torch_losses import TotalLoss
from workbench.engines.torch_base.torch_parameters import make_optimizer, make_trainable
from workbench.engines.torch_base.torch_state import STATE, load_torch_state, save_torch_state
from workbench.errors import EngineError
from workbench.modules.drawn_numbers import has_drawn
from workbench.modules.modes import modes_kept
from workbench.run_folder.checkpoint import read_weights

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor, nn


class TorchEngine(Engine):
    """A module, its loss and a fused optimizer of `torch.optim`.

    A subclass wraps `module` before training (`prepare`) and computes the loss of a batch
    (`batch_loss`); the optimizer step, evaluation and weights are the same for all of them, so a
    comparison of two such engines compares nothing but forward and backward.
    """

    draws_in_torch: ClassVar[bool] = True
    """Whether PyTorch draws the random numbers of the forward pass eagerly."""

    @classmethod
    @override
    def availability(cls) -> Availability:
        if importlib.util.find_spec("torch") is None:
            return Availability(
                False, "PyTorch is not installed.", "pip install 'torch>=2.13,<2.14'"
            )
        return Availability(True)

    def __init__(self, setup: EngineSetup) -> None:
        available = self.availability()
        if not available.ok:
            raise EngineError(f"{available.reason} To fix it: {available.remedy}")
        setup.report("loading PyTorch")
        import torch

        from workbench.models import load_saved

        config = setup.config
        torch.set_num_threads(config.threads)
        torch.manual_seed(config.seed)
        setup.report("building the model")
        self.model = load_saved(setup.model_path)
        for notice in self.model.notices:
            setup.report(notice)
        self.module: nn.Module = self.model.module()
        make_trainable(self.module, config)
        names = [spec.name for spec in self.model.outputs]
        self._losses = config.losses
        self._ranks = setup.ranks
        if self._ranks is not None:
            self._ranks.refuse_batch_statistics(self.module)
        self.replica: nn.Module = self.module
        self.loss = TotalLoss(config.losses, names, setup.model_path)
        self._loading_drew = has_drawn(config.seed)
        self.optimizer = make_optimizer(self.module, config)
        self._trained = [each for group in self.optimizer.param_groups for each in group["params"]]
        self._accumulation = config.gradient_accumulation
        self._max_grad_norm = config.max_grad_norm
        self._disable_randomness = setup.disable_randomness and self.draws_in_torch
        self._rows_checked = False
        if setup.checkpoint is not None:
            setup.report("restoring the checkpoint")
            self._restore_weights(setup.checkpoint)
            load_torch_state(self.module, self.optimizer, setup.checkpoint / STATE)
            if self._ranks is not None:
                self._ranks.restore_state(setup.checkpoint)
        # Whatever is drawn while the engine is prepared, a training continues from the state above.
        random_state = torch.get_rng_state()
        self.prepare(setup)
        if self._ranks is not None:
            self.replica = self._ranks.data_parallel(self.replica)
        self.build(setup)
        torch.set_rng_state(random_state)

    def _restore_weights(self, checkpoint: Path) -> None:
        weights = read_weights(checkpoint)
        missing = sorted(self.module.state_dict().keys() - weights.keys())
        if missing:
            raise EngineError(
                f"{checkpoint} lacks {missing[0]!r} of the model. It is corrupt, or of another one."
            )
        self.load_weights(weights)

    def prepare(self, setup: EngineSetup) -> None:
        """Preparation of the subclass before the first step.

        `self.replica` is what the forward pass of a step calls: the module, or what wraps it.
        """

    def build(self, setup: EngineSetup) -> None:
        """Work of the subclass before the first step on `self.replica`, which may be that of a
        rank."""

    def batch_loss(self, inputs: tuple[Tensor, ...], targets: tuple[Tensor, ...]) -> Tensor:
        """The loss of a batch, a scalar with a gradient."""
        return self.loss(self.replica(*inputs), targets)

    def _command(self, name: str, value: float = 0.0) -> None:
        """Send the command to the other ranks, if there are any."""
        if self._ranks is not None:
            self._ranks.command(name, value)

    @override
    def accumulate(self, batch: Batch) -> float:
        self._command("accumulate")
        return self._backward(batch, is_last=False).item()

    @override
    def train_step(self, batch: Batch) -> float:
        self._command("train_step")
        loss = self._backward(batch)
        self._step()
        return loss.item()

    @override
    def observed_step(self, batch: Batch) -> ObservedStep:
        self._command("train_step")
        loss = self._backward(batch)
        trained = {
            name: (parameter, parameter.detach().clone())
            for name, parameter in self.module.named_parameters()
            if parameter.requires_grad
        }
        gradients = {name: _norm(parameter.grad) for name, (parameter, _) in trained.items()}
        self._step()
        norms = {
            name: ParameterNorms(gradients[name], _norm(before), _norm(parameter.detach() - before))
            for name, (parameter, before) in trained.items()
        }
        return ObservedStep(loss.item(), norms)

    def _step(self) -> None:
        if self._max_grad_norm is not None:
            self._clip(self._max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _backward(self, batch: Batch, *, is_last: bool = True) -> Tensor:
        """Add the gradient of the batch to those of the step; return its loss."""
        from torch.autograd import backward

        ranks = self._ranks
        if ranks is not None:
            if not self._rows_checked:
                self._rows_checked = True
                refuse_mixed_rows(self.module, self.loss, self._losses, batch, ranks.count)
            self.loss.factors = ranks.factors(self._losses, batch)
            batch = ranks.own_rows(batch)
        inputs, targets = as_tensors(batch)
        # Ranks exchange gradients once a step.
        with nullcontext() if ranks is None or is_last else ranks.without_exchange():
            loss = self.batch_loss(inputs, targets)
            backward(loss if self._accumulation == 1 else loss / self._accumulation)
        if ranks is None:
            return loss
        ranks.compare_buffers()
        return ranks.mean(loss)

    def _clip(self, max_norm: float) -> None:
        from torch.nn.utils import clip_grad_norm_

        clip_grad_norm_(self._trained, max_norm)

    @override
    def gradients(self, batch: Batch) -> Gradients:
        from torch.autograd import backward

        inputs, targets = as_tensors(batch)
        draws = disable_randomness() if self._disable_randomness else nullcontext()
        with buffers_kept(self.module), draws:
            loss = self.batch_loss(inputs, targets)
            backward(loss)
        gradients = {
            name: parameter.grad.detach().numpy().copy()
            for name, parameter in self.module.named_parameters()
            if parameter.grad is not None
        }
        self.optimizer.zero_grad(set_to_none=True)
        return Gradients(loss.item(), gradients)

    @override
    def evaluate(self, batch: Batch) -> Evaluation:
        import torch

        inputs, targets = as_tensors(batch)
        with modes_kept(self.module), torch.no_grad():
            self.module.eval()
            outputs = self.module(*inputs)
            terms = tuple(term.item() for term in self.loss.terms(outputs, targets))
        output = self.loss.read_first(outputs).to(torch.float32).numpy()
        return Evaluation(sum(terms), output, terms)

    @override
    def set_learning_rate(self, learning_rate: float) -> None:
        self._command("learning_rate", learning_rate)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate

    @override
    def weights(self) -> dict[str, np.ndarray]:
        return {
            name: tensor.detach().numpy().copy()
            for name, tensor in self.module.state_dict().items()
        }

    @override
    def save_state(self, folder: Path) -> None:
        save_torch_state(self.module, self.optimizer, folder / STATE)
        if self._ranks is not None:
            self._command("save")
            self._ranks.save_states(folder)

    @override
    def load_weights(self, weights: dict[str, np.ndarray]) -> None:
        import torch

        own = self.module.state_dict()
        with torch.no_grad():
            for name, array in weights.items():
                if name not in own or tuple(own[name].shape) != array.shape:
                    expected = tuple(own[name].shape) if name in own else "no such name"
                    raise EngineError(
                        f"Weight {name!r} of shape {array.shape} does not fit the model: "
                        f"{expected}."
                    )
                # In place, so that other holders of the parameter's storage see the new values.
                own[name].copy_(torch.from_numpy(np.array(array)))


def _norm(values: Tensor | None) -> float:
    """The Euclidean norm; 0 for a missing gradient."""
    import torch

    if values is None:
        return 0.0
    return float(torch.linalg.vector_norm(values.detach(), dtype=torch.float64))


@contextmanager
def buffers_kept(module: nn.Module) -> Iterator[None]:
    """Context that restores the buffers of `module` at its end."""
    import torch

    before = [(buffer, buffer.clone()) for buffer in module.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in before:
                buffer.copy_(value)
