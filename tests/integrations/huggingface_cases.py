"""Trainings by transformers' Trainer and ORTTrainer, by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from tests.integrations.huggingface_models import (
    ANSWERED,
    BATCH,
    LABELLED,
    MASKED,
    SOME_UNLABELLED,
    STEPS,
    TEXT,
    TRANSLATED,
    answers_questions,
    classifier,
    classifier_of_labels,
    language_model,
    masked_language_model,
    summarizer,
    trainer,
    translator,
    with_adapters,
)
from tests.integrations.trained import difference, in_bfloat16, told
from workbench import ORTModule
from workbench.errors import ConfigError
from workbench.integrations.huggingface import ORTSeq2SeqTrainer, ORTTrainer


def by_trainer(
    folder: Path, build: Callable[[], nn.Module] = classifier, rows: Any = LABELLED, **settings: Any
) -> dict[str, Any]:
    """Trainer against ORTTrainer, over the same rows."""
    expected = trainer(transformers.Trainer, build(), folder / "plain", rows, **settings)
    found = trainer(ORTTrainer, build(), folder / "ort", rows, **settings)
    expected.train()
    found.train()
    return {"difference": difference(found.model, expected.model), **told(found.ort_module)}


def by_trainer_in_bfloat16(folder: Path) -> dict[str, Any]:
    def trained(kind: Any, *, bf16: bool) -> Any:
        # One after the other: Accelerate has one precision at a time.
        rate: dict[str, Any] = {"optim": "sgd", "learning_rate": 0.1}
        made = trainer(kind, classifier(), folder / f"bfloat16-{bf16}", bf16=bf16, **rate)
        made.train()
        return made

    expected = trained(transformers.Trainer, bf16=True)
    found = trained(ORTTrainer, bf16=True)
    float32 = trained(transformers.Trainer, bf16=False)
    apart = in_bfloat16(found.model, expected.model, float32.model)
    return {**apart, **told(found.ort_module)}


class SmallLogitsTrainer(transformers.Trainer):
    """A trainer whose loss reads the logits beside the model's loss."""

    def compute_loss(
        self, model: nn.Module, inputs: Any, return_outputs: bool = False, **settings: Any
    ) -> Any:
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **settings)
        loss = loss + outputs.logits.square().mean()
        return (loss, outputs) if return_outputs else loss


class SmallLogitsORTTrainer(ORTTrainer, SmallLogitsTrainer):
    """The same, in ONNX Runtime."""


def by_another_trainer(folder: Path) -> dict[str, Any]:
    """A trainer of another package, whose model ORTTrainer trains."""
    made = []
    for kind in (SmallLogitsTrainer, SmallLogitsORTTrainer):
        made.append(trainer(kind, classifier(), folder / kind.__name__, LABELLED))
        made[-1].train()
    expected, found = made
    return {"difference": difference(found.model, expected.model), **told(found.ort_module)}


def by_plain_trainer(folder: Path) -> dict[str, Any]:
    """An ORTModule in the Trainer as it comes; the name of its class decides about labels."""
    settings = {"label_smoothing_factor": 0.1, "label_names": ["labels"]}
    module = ORTModule(language_model())
    found = trainer(transformers.Trainer, module, folder / "ort", TEXT, **settings)
    model = language_model()
    expected = trainer(transformers.Trainer, model, folder / "plain", TEXT, **settings)
    expected.train()
    found.train()
    losses = [each.evaluate()["eval_loss"] for each in (found, expected)]
    return {
        "difference": max(difference(module, model), abs(losses[0] - losses[1])),
        **told(module),
    }


def by_seq2seq_trainer(folder: Path) -> dict[str, Any]:
    """A translation, and what is generated of it when the Trainer predicts."""
    made = {
        name: trainer(
            kind,
            translator(),
            folder / name,
            TRANSLATED,
            arguments=transformers.Seq2SeqTrainingArguments,
            predict_with_generate=True,
            generation_max_length=8,
        )
        for name, kind in {
            "plain": transformers.Seq2SeqTrainer,
            "ort": ORTSeq2SeqTrainer,
        }.items()
    }
    written = []
    for each in made.values():
        each.train()
        written.append(each.predict(TRANSLATED[:BATCH]).predictions.tolist())
    return {
        "difference": difference(made["ort"].model, made["plain"].model),
        "written": written[1],
        "expected": written[0],
        **told(made["ort"].ort_module),
    }


def saved_and_resumed(folder: Path) -> dict[str, Any]:
    """Half of a training, saved, and the other half from there."""
    folder = folder / "resumed"
    whole = trainer(ORTTrainer, classifier(), folder, save_strategy="steps", save_steps=2)
    whole.train()
    resumed = trainer(ORTTrainer, classifier(), folder, save_strategy="steps", save_steps=2)
    resumed.train(resume_from_checkpoint=str(folder / f"checkpoint-{STEPS // 2}"))
    resumed.save_model(str(folder / "saved"))
    loaded = transformers.BertForSequenceClassification.from_pretrained(folder / "saved")
    return {
        "difference": max(difference(resumed.model, whole.model), difference(loaded, whole.model)),
        "eval_loss": resumed.evaluate()["eval_loss"],
        **told(resumed.ort_module),
    }


def saved_adapters(folder: Path) -> dict[str, Any]:
    """Adapters, trained and saved."""
    expected = trainer(transformers.Trainer, with_adapters(), folder / "plain")
    found = trainer(ORTTrainer, with_adapters(), folder / "ort")
    expected.train()
    found.train()
    found.save_model(str(folder / "adapters"))
    return {
        "difference": difference(found.model, expected.model),
        "files": sorted(path.name for path in (folder / "adapters").iterdir()),
        **told(found.ort_module),
    }


def given_an_ort_module(folder: Path) -> dict[str, Any]:
    """ORTTrainer trains by the one that it is given, in a second training too, and generates."""
    module = ORTModule(language_model())
    made = trainer(ORTTrainer, module, folder / "ort", TEXT)
    expected = trainer(transformers.Trainer, language_model(), folder / "plain", TEXT)
    for each in (made, made, expected, expected):
        each.train()
    written = []
    for each in (module, expected.model):
        each.eval()
        prompt = torch.tensor([[1, 2, 3], [7, 50, 99]])
        written.append(each.generate(prompt, max_new_tokens=8, do_sample=False).tolist())
    return {
        "same": made.ort_module is module,
        "model": type(made.model).__name__,
        "written": written[0],
        "expected": written[1],
        **told(made.ort_module),
    }


def trainer_with_deepspeed(folder: Path) -> str:
    """The error of ORTTrainer where DeepSpeed wraps the model itself, on one rank."""
    from tests.integrations import deepspeed_cases

    deepspeed_cases.join_alone()
    alone = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "RANK": "0", "WORLD_SIZE": "1"}
    os.environ.update(alone)
    configuration = {
        "zero_optimization": {"stage": 2},
        "train_micro_batch_size_per_gpu": BATCH,
        "zero_allow_untested_optimizer": True,
    }
    made = trainer(ORTTrainer, classifier(), folder / "ort", deepspeed=configuration)
    try:
        made.train()
    except ConfigError as error:
        return str(error)
    return "it trained"


def by_script(folder: Path, name: str) -> dict[str, Any]:
    """A script as it is, and with one line changed."""
    source = (Path(__file__).parent / "scripts" / f"{name}.py").read_text()
    line = "from transformers import Trainer\n"
    other = "from workbench.integrations.huggingface import ORTTrainer as Trainer\n"
    assert source.count(line) == 1
    trainers, losses = [], []
    for text in (source, source.replace(line, other)):
        script: dict[str, Any] = {"__name__": name}
        exec(compile(text, name, "exec"), script)
        written = folder / f"{name}-{len(trainers)}"
        settings = "--max_steps 6 --use_cpu --report_to none --disable_tqdm 1 --save_strategy no"
        found, metrics = script["main"](["--output_dir", str(written), *settings.split()])
        assert (written / "config.json").exists()
        assert (written / "eval_results.json").exists()
        trainers.append(found)
        losses.append(metrics["eval_loss"])
    expected, ort = trainers
    return {
        "difference": max(difference(ort.model, expected.model), abs(losses[0] - losses[1])),
        **told(ort.ort_module),
    }


def cases(folder: Path) -> dict[str, Callable[[], Any]]:
    # Those of the frameworks about their own settings are not ours to fail on.
    transformers.logging.set_verbosity_error()
    train = partial(by_trainer, folder)
    return {
        "trainer": train,
        "trainer-label-smoothing": partial(train, language_model, TEXT, label_smoothing_factor=0.1),
        "trainer-accumulation": partial(
            train, language_model, TEXT, gradient_accumulation_steps=2, max_steps=2
        ),
        "trainer-checkpointing": partial(train, gradient_checkpointing=True),
        "trainer-of-another-class": partial(by_another_trainer, folder),
        "trainer-bfloat16": partial(by_trainer_in_bfloat16, folder),
        "trainer-adapters": partial(saved_adapters, folder),
        "trainer-deberta": partial(train, classifier_of_labels, SOME_UNLABELLED),
        "trainer-roberta": partial(train, masked_language_model, MASKED),
        "trainer-bart": partial(train, summarizer, TRANSLATED),
        # Its last bias has a gradient of rounding alone, of which AdamW takes whole steps.
        "trainer-distilbert": partial(
            train, answers_questions, ANSWERED, optim="sgd", learning_rate=0.1
        ),
        "trainer-plain": partial(by_plain_trainer, folder),
        "trainer-seq2seq": partial(by_seq2seq_trainer, folder),
        "trainer-resumed": partial(saved_and_resumed, folder),
        "trainer-given": partial(given_an_ort_module, folder),
        "trainer-with-deepspeed": partial(trainer_with_deepspeed, folder),
        "script-classify-text": partial(by_script, folder, "classify_text"),
        "script-model-language": partial(by_script, folder, "model_language"),
    }
