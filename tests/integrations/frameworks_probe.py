"""Trains small models by Hugging Face, Accelerate, Lightning and DeepSpeed, with ORTModule."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import accelerate
import torch
import transformers
from torch import nn
from torch.utils.data import DataLoader, default_collate

from tests.answers import write_answers
from tests.integrations import lightning_module
from tests.integrations.huggingface_models import (
    BATCH,
    LABELLED,
    SOME_UNLABELLED,
    STEPS,
    TEXT,
    classifier,
    classifier_of_labels,
    difference,
    language_model,
    trainer,
    weights,
    with_adapters,
)
from workbench import ORTModule
from workbench.errors import ConfigError
from workbench.integrations.huggingface import ORTTrainer

FOLDER = Path(sys.argv[1]).parent if len(sys.argv) > 1 else Path()


def told(module: ORTModule | None) -> dict[str, Any]:
    """What an ORTModule ran."""
    assert module is not None
    return {"graphs": len(module.built_graphs), "pytorch_calls": dict(module.pytorch_calls)}


def by_trainer(
    build: Callable[[], nn.Module] = classifier, rows: Any = LABELLED, **settings: Any
) -> Callable[[], dict[str, Any]]:
    """Trainer against ORTTrainer, over the same rows."""

    def case() -> dict[str, Any]:
        expected = trainer(transformers.Trainer, build(), FOLDER / "plain", rows, **settings)
        found = trainer(ORTTrainer, build(), FOLDER / "ort", rows, **settings)
        expected.train()
        found.train()
        assert isinstance(found, ORTTrainer)
        return {"difference": difference(found.model, expected.model), **told(found.ort_module)}

    return case


def by_plain_trainer() -> dict[str, Any]:
    """An ORTModule in the Trainer as it comes; the name of its class decides about labels."""
    settings = {"label_smoothing_factor": 0.1, "label_names": ["labels"]}
    module = ORTModule(language_model())
    found = trainer(transformers.Trainer, module, FOLDER / "ort", TEXT, **settings)
    model = language_model()
    expected = trainer(transformers.Trainer, model, FOLDER / "plain", TEXT, **settings)
    expected.train()
    found.train()
    losses = [each.evaluate()["eval_loss"] for each in (found, expected)]
    return {
        "difference": max(difference(module, model), abs(losses[0] - losses[1])),
        **told(module),
    }


def saved_and_resumed() -> dict[str, Any]:
    """Half of a training, saved, and the other half from there."""
    folder = FOLDER / "resumed"
    whole = trainer(ORTTrainer, classifier(), folder, save_strategy="steps", save_steps=2)
    whole.train()
    resumed = trainer(ORTTrainer, classifier(), folder, save_strategy="steps", save_steps=2)
    resumed.train(resume_from_checkpoint=str(folder / f"checkpoint-{STEPS // 2}"))
    resumed.save_model(str(folder / "saved"))
    loaded = transformers.BertForSequenceClassification.from_pretrained(folder / "saved")
    assert isinstance(resumed, ORTTrainer)
    return {
        "difference": max(difference(resumed.model, whole.model), difference(loaded, whole.model)),
        "eval_loss": resumed.evaluate()["eval_loss"],
        **told(resumed.ort_module),
    }


def saved_adapters() -> dict[str, Any]:
    made = trainer(ORTTrainer, with_adapters(), FOLDER / "ort")
    made.train()
    made.save_model(str(FOLDER / "adapters"))
    return {"files": sorted(path.name for path in (FOLDER / "adapters").iterdir())}


def given_an_ort_module() -> dict[str, Any]:
    """ORTTrainer trains by the one that it is given, in a second training too, and generates."""
    module = ORTModule(language_model())
    made = trainer(ORTTrainer, module, FOLDER / "ort", TEXT)
    made.train()
    made.train()
    assert isinstance(made, ORTTrainer)
    module.eval()
    written = module.generate(torch.tensor([[1, 2, 3]]), max_new_tokens=4, do_sample=False)
    return {
        "same": made.ort_module is module,
        "model": type(made.model).__name__,
        "written": list(written.shape),
        **told(made.ort_module),
    }


def by_accelerate(precision: str = "no") -> dict[str, Any]:
    """A loop of one's own: accumulation, clipping, a saved and restored state."""
    models = []
    # One process has one precision, which the Trainer has chosen already.
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    for wrapped in (False, True):
        accelerator = accelerate.Accelerator(
            cpu=True, gradient_accumulation_steps=2, mixed_precision=precision
        )
        model = ORTModule(classifier()) if wrapped else classifier()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        loader = DataLoader(LABELLED, batch_size=BATCH, collate_fn=default_collate)
        prepared, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for _ in range(2):
            for batch in loader:
                with accelerator.accumulate(prepared):
                    accelerator.backward(prepared(**batch).loss)
                    accelerator.clip_grad_norm_(prepared.parameters(), 1.0)
                    optimizer.step()
                    optimizer.zero_grad()
        accelerator.save_state(str(FOLDER / f"state-{wrapped}"))
        before = {name: value.clone() for name, value in weights(model).items()}
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
        accelerator.load_state(str(FOLDER / f"state-{wrapped}"))
        assert all(value.equal(before[name]) for name, value in weights(model).items())
        models.append(model)
    return {"difference": difference(models[1], models[0]), **told(models[1])}


def by_lightning() -> dict[str, Any]:
    """Two epochs; then one, saved, and the other from there, with and without ORTModule."""
    expected, _ = lightning_module.fit(FOLDER, wrapped=False)
    whole, trained = lightning_module.fit(FOLDER, wrapped=True)
    _, half = lightning_module.fit(FOLDER, wrapped=True, max_epochs=1)
    path = FOLDER / "lightning.ckpt"
    half.save_checkpoint(path)
    resumed, _ = lightning_module.fit(FOLDER, wrapped=True, resumed=path)
    without, _ = lightning_module.fit(FOLDER, wrapped=False, resumed=path)
    others = (whole, resumed, without)
    return {
        "difference": max(difference(each, expected) for each in others),
        "resumed_apart": difference(resumed, whole),
        "val_loss": float(trained.callback_metrics["val_loss"]),
        **told(whole.net),
    }


def by_lightning_in_bfloat16() -> dict[str, Any]:
    expected, _ = lightning_module.fit(FOLDER, wrapped=False, precision="bf16-mixed")
    found, _ = lightning_module.fit(FOLDER, wrapped=True, precision="bf16-mixed")
    return {"difference": difference(found, expected), **told(found.net)}


def by_deepspeed(name: str) -> Any:
    """On the one rank that this process is."""
    from tests.integrations import deepspeed_cases

    deepspeed_cases.join_alone()
    return deepspeed_cases.cases(FOLDER)[name]()


def trainer_with_deepspeed() -> str:
    """What ORTTrainer says where DeepSpeed wraps the model itself, on the one rank that this is."""
    from tests.integrations import deepspeed_cases

    deepspeed_cases.join_alone()
    alone = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "RANK": "0", "WORLD_SIZE": "1"}
    os.environ.update(alone)
    configuration = {
        "zero_optimization": {"stage": 2},
        "train_micro_batch_size_per_gpu": BATCH,
        "zero_allow_untested_optimizer": True,
    }
    made = trainer(ORTTrainer, classifier(), FOLDER / "ort", deepspeed=configuration)
    try:
        made.train()
    except ConfigError as error:
        return str(error)
    return "it trained"


def by_script(name: str) -> dict[str, Any]:
    """A script as it is, and with one line changed."""
    source = (Path(__file__).parent / "scripts" / f"{name}.py").read_text()
    line = "from transformers import Trainer\n"
    other = "from workbench.integrations.huggingface import ORTTrainer as Trainer\n"
    assert source.count(line) == 1
    trainers, losses = [], []
    for text in (source, source.replace(line, other)):
        script: dict[str, Any] = {"__name__": name}
        exec(compile(text, name, "exec"), script)
        folder = FOLDER / f"{name}-{len(trainers)}"
        settings = "--max_steps 6 --use_cpu --report_to none --disable_tqdm 1 --save_strategy no"
        found, metrics = script["main"](["--output_dir", str(folder), *settings.split()])
        assert (folder / "config.json").exists()
        assert (folder / "eval_results.json").exists()
        trainers.append(found)
        losses.append(metrics["eval_loss"])
    plain, ort = trainers
    return {
        "difference": max(difference(ort.model, plain.model), abs(losses[0] - losses[1])),
        **told(ort.ort_module),
    }


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "trainer": by_trainer(),
    "trainer-label-smoothing": by_trainer(language_model, TEXT, label_smoothing_factor=0.1),
    "trainer-accumulation": by_trainer(
        language_model, TEXT, gradient_accumulation_steps=2, max_steps=2
    ),
    "trainer-checkpointing": by_trainer(gradient_checkpointing=True),
    "trainer-bfloat16": by_trainer(bf16=True),
    "trainer-adapters": by_trainer(with_adapters),
    "trainer-deberta": by_trainer(classifier_of_labels, SOME_UNLABELLED),
    "trainer-plain": by_plain_trainer,
    "trainer-resumed": saved_and_resumed,
    "trainer-saved-adapters": saved_adapters,
    "trainer-given": given_an_ort_module,
    "script-classify-text": partial(by_script, "classify_text"),
    "script-model-language": partial(by_script, "model_language"),
    "accelerate": by_accelerate,
    "accelerate-bfloat16": partial(by_accelerate, "bf16"),
    "lightning": by_lightning,
    "lightning-bfloat16": by_lightning_in_bfloat16,
    **{
        case: partial(by_deepspeed, case)
        for case in ("deepspeed-2-resumed", "deepspeed-refused", "deepspeed-3")
    },
    "trainer-with-deepspeed": trainer_with_deepspeed,
}

if __name__ == "__main__":
    # Those of the frameworks about their own settings are not ours to fail on.
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    write_answers({name: CASES[name] for name in sys.argv[2:]})
