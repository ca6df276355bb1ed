"""Models of the transformers library as they come: keyword inputs, named outputs, caches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from workbench.load import load_model
from workbench.ort.native import native

SMALL: dict[str, Any] = {"vocab_size": 40, "hidden_size": 16, "num_attention_heads": 2}


def tokens(batch: int, length: int) -> np.ndarray:
    return np.random.default_rng(length).integers(3, 40, (batch, length))


def bert() -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(**SMALL, num_hidden_layers=1, intermediate_size=24, num_labels=3)
    return BertForSequenceClassification(config)


def gpt2() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=40, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=2
    )
    assert config.use_cache
    return GPT2LMHeadModel(config)


def t5() -> nn.Module:
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2}
    return T5ForConditionalGeneration(
        T5Config(vocab_size=40, **sizes, decoder_start_token_id=0, output_hidden_states=True)
    )


CASES: dict[str, tuple[Any, dict[str, str]]] = {
    "bert": (bert, {"input_ids": "sequence", "attention_mask": "sequence"}),
    "gpt2": (gpt2, {"input_ids": "sequence"}),
    "t5": (t5, {"decoder_input_ids": "target", "input_ids": "source"}),
}


@pytest.mark.sweep
@pytest.mark.parametrize(
    # tests/integrations trains some of them in `make test`.
    "name",
    ["gpt2", "bert", "t5"],
)
def test_a_model_of_transformers_loads_and_exports(name: str, tmp_path: Path) -> None:
    native()  # first, so that onnxruntime leaves its own front end and torch alone
    from onnxruntime import InferenceSession

    build, axes = CASES[name]
    torch.manual_seed(0)
    lengths = {"sequence": 6, "source": 6, "target": 4}

    def inputs(batch: int, longer: int) -> dict[str, np.ndarray]:
        made = {n: tokens(batch, lengths[axis] + longer) for n, axis in axes.items()}
        if "attention_mask" in made:
            made["attention_mask"] = np.ones_like(made["attention_mask"])
            made["attention_mask"][0, -2:] = 0
        return made

    module = build()
    model = load_model(
        module,
        example_inputs=inputs(2, 0),
        dynamic_axes={n: {1: axis} for n, axis in axes.items()},
    )
    assert [spec.name for spec in model.inputs] == list(axes)
    assert model.outputs[0].name == "logits"
    assert "past_key_values" not in " ".join(spec.name for spec in model.outputs)
    assert set(model.parameters) == set(dict(module.named_parameters()))
    session = InferenceSession(model.export(tmp_path / "model.onnx"))
    names = [spec.name for spec in model.outputs]
    assert [value.name for value in session.get_outputs()] == names
    for batch, longer in ((2, 0), (3, 5)):
        feed = inputs(batch, longer)
        with torch.no_grad():
            expected = module.eval()(**{n: torch.from_numpy(v) for n, v in feed.items()}).logits
        (got,) = session.run(["logits"], feed)
        difference = np.abs(got - expected.numpy()).max()
        assert difference < 1e-4, f"largest difference {difference:.2e}"
