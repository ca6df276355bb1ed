"""ORTTrainer: Hugging Face's Trainer, with the passes of its model run by ONNX Runtime.

    from workbench.integrations.huggingface import ORTTrainer as Trainer

This line alone changes a script of transformers; one of Seq2SeqTrainer imports the other class.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn
from transformers import Seq2SeqTrainer, Trainer, TrainingArguments
from typing_extensions import override

from workbench.errors import ConfigError
from workbench.ort.ortmodule import ORTModule
from workbench.settings.ortmodule_options import ORTModuleOptions

BRANCH_ON_LABELS = ("deberta", "deberta-v2")
"""Model types that branch on the labels' values, which no graph can, unless a problem type is
set."""


class ORTTrainer(Trainer):
    """A `transformers.Trainer` that trains its model in an ORTModule.

    `model` stays the plain model, by whose class the Trainer decides how to save it, what its
    labels are, and how to smooth them; `model_wrapped` is the ORTModule, or its wrapper in
    several processes. Evaluation and prediction run in PyTorch. DeBERTa that classifies sequences
    gets the `problem_type` of its labels in its config, as the other models set it themselves.
    Where the Trainer reads nothing but the model's loss, the graph computes nothing else, and
    leaves out ignored labels and padding.

    Args:
        args: those of `transformers.Trainer`. The model may be an ORTModule, which is used then.
        ortmodule: options of the ORTModule, unless the model is one.
        kwargs: those of `transformers.Trainer`.

    Raises:
        ConfigError: an option of ORTModule is unknown or wrong, or `torch_compile` is set; in
            `train`, if DeepSpeed or FSDP wraps the model, which does not support an ORTModule.
    """

    ort_module: ORTModule | None = None
    """The module that trains the model, from the first call of `train` on."""

    _checked: nn.Module | None = None
    """The module that the Trainer trained when it was last checked."""

    def __init__(
        self,
        *args: Any,
        ortmodule: ORTModuleOptions | Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        _refuse_compilation(kwargs.get("args", args[1] if len(args) > 1 else None))
        self._ortmodule_options = ortmodule
        model = kwargs.get("model", args[0] if args else None)
        if isinstance(model, ORTModule):
            self.ort_module = model
            if args:
                args = (model.wrapped, *args[1:])
            else:
                kwargs["model"] = model.wrapped
        super().__init__(*args, **kwargs)

    @override
    def create_accelerator_and_postprocess(self) -> None:
        super().create_accelerator_and_postprocess()
        accelerator = self.accelerator
        prepare_model, unwrap_model = accelerator.prepare_model, accelerator.unwrap_model

        def prepare(model: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
            # Here and not in _wrap_model, so that DistributedDataParallel goes around it.
            if model is self.model and not kwargs.get("evaluation_mode"):
                model = self._as_ort_module(model)
            prepared: nn.Module = prepare_model(model, *args, **kwargs)
            return prepared

        def unwrap(model: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
            found: nn.Module = unwrap_model(model, *args, **kwargs)
            return found.wrapped if isinstance(found, ORTModule) else found

        accelerator.prepare_model, accelerator.unwrap_model = prepare, unwrap

    @override
    def training_step(self, model: nn.Module, inputs: dict[str, Any], *args: Any) -> Tensor:
        if model is not self._checked:
            self._refuse_to_train_without(model)
            self._checked = model
        _set_problem_type(self.model, inputs.get("labels"))
        loss: Tensor = super().training_step(model, inputs, *args)
        return loss

    @override
    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        inherited = super().compute_loss
        # By name, as the Trainer does: that of another trainer may take it among its kwargs.
        items = {"num_items_in_batch": num_items_in_batch}
        compute = partial(inherited, model, inputs, return_outputs, **items)
        ours = self.ort_module
        if ours is None or return_outputs or self._reads_more(inherited, model):
            return compute()
        # Of a dict it reads the loss, of a tuple the first.
        with ours.reading("loss", "0"):
            return compute()

    def _reads_more(self, compute_loss: Any, model: nn.Module) -> bool:
        """Whether `compute_loss`, or what runs around the model, reads more than its loss."""
        assert self.ort_module is not None
        return bool(
            self.label_smoother
            or self.compute_loss_func
            or model._forward_hooks
            or self.ort_module._forward_hooks
            # Accelerate converts each result to float32.
            or self.accelerator.mixed_precision != "no"
            # That of another trainer, which a class of the user's inherits from as well.
            or compute_loss.__func__ is not Trainer.compute_loss
        )

    def _refuse_to_train_without(self, model: nn.Module) -> None:
        """Raise a ConfigError if a wrapper of the model does not contain its ORTModule."""
        ours = self.ort_module
        if ours is not None and any(each is ours for each in model.modules()):
            return
        raise ConfigError(
            [
                f"the Trainer trains the model in a {type(model).__name__} "
                f"({self.accelerator.distributed_type.value}), which ORTTrainer cannot put "
                "an ORTModule into, so PyTorch would run everything. Leave out deepspeed= and "
                "fsdp= (DistributedDataParallel is used), or write the loop with "
                "deepspeed.initialize(model=ORTModule(model), ...) or fully_shard(ORTModule(model))"
            ]
        )

    def _as_ort_module(self, model: nn.Module) -> ORTModule:
        if self.ort_module is None or self.ort_module.wrapped is not model:
            self.ort_module = ORTModule(model, self._ortmodule_options)
        return self.ort_module


class ORTSeq2SeqTrainer(ORTTrainer, Seq2SeqTrainer):
    """A `transformers.Seq2SeqTrainer` that trains as `ORTTrainer`; it generates in PyTorch."""


def _set_problem_type(model: nn.Module | None, labels: object) -> None:
    """Set it for a model with one class per row: equal results, by a loss without branches."""
    config = getattr(model, "config", None)
    if config is None or getattr(config, "model_type", None) not in BRANCH_ON_LABELS:
        return
    classes = isinstance(labels, Tensor) and labels.dim() == 1 and not labels.is_floating_point()
    if classes and config.problem_type is None and config.num_labels > 1:
        config.problem_type = "single_label_classification"


def _refuse_compilation(arguments: TrainingArguments | None) -> None:
    if arguments is None or not arguments.torch_compile:
        return
    raise ConfigError(
        [
            "torch_compile=True compiles the model for PyTorch, but ORTTrainer trains it in ONNX "
            "Runtime. Leave torch_compile out, or use transformers.Trainer"
        ]
    )
