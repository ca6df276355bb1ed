"""Trains transformers' models on padded batches and writes down what came of it.

python -m tests.ort.ortmodule.padding.padding_probe RESULT_JSON
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from tests.answers import write_answers
from tests.ort.ortmodule.padding.padding_cases import (
    MORE_PADDING,
    WIDTH,
    WORDS,
    Answer,
    MaskedWords,
    batches,
    trained,
)
from workbench import ORTModule

_BERT = {
    "vocab_size": WORDS,
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "max_position_embeddings": 32,
}


def bert() -> nn.Module:
    return transformers.BertForMaskedLM(transformers.BertConfig(**_BERT))


def roberta() -> nn.Module:
    return transformers.RobertaForMaskedLM(transformers.RobertaConfig(**_BERT))


def deberta() -> nn.Module:
    config = transformers.DebertaV2Config(
        **_BERT, relative_attention=True, pos_att_type=["p2c", "c2p"]
    )
    return transformers.DebertaV2ForMaskedLM(config)


def distilbert() -> nn.Module:
    config = transformers.DistilBertConfig(
        vocab_size=WORDS,
        dim=WIDTH,
        n_layers=2,
        n_heads=2,
        hidden_dim=32,
        dropout=0.0,
        attention_dropout=0.0,
        max_position_embeddings=32,
    )
    return transformers.DistilBertForMaskedLM(config)


def gpt2() -> nn.Module:
    config = transformers.GPT2Config(
        vocab_size=WORDS,
        n_embd=WIDTH,
        n_layer=2,
        n_head=2,
        n_positions=32,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
        bos_token_id=1,
        eos_token_id=2,
    )
    return transformers.GPT2LMHeadModel(config)


def llama() -> nn.Module:
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=32,
        max_position_embeddings=32,
        use_cache=False,
    )
    return transformers.LlamaForCausalLM(config)


def t5() -> nn.Module:
    config = transformers.T5Config(
        vocab_size=WORDS,
        d_model=WIDTH,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        dropout_rate=0.0,
        use_cache=False,
        decoder_start_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config)


def of_model(module: nn.Module, given: tuple[Tensor, ...]) -> Tensor:
    tokens, mask, labels = given
    loss: Tensor = module(input_ids=tokens, attention_mask=mask, labels=labels).loss
    return loss


class WithDropout(nn.Module):
    """Dropout before the model that is written out."""

    def __init__(self) -> None:
        super().__init__()
        self.model = MaskedWords()
        self.model.norm = nn.Sequential(self.model.norm, nn.Dropout(0.2))  # type: ignore[assignment]

    def forward(self, tokens: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        loss: Tensor = self.model(tokens, mask, labels)
        return loss


def dropout(draws: int = 200) -> Answer:
    """Mean losses over many draws, and the standard error of their difference."""
    torch.manual_seed(0)
    plain = WithDropout().train()
    module = ORTModule(copy.deepcopy(plain))
    given = next(iter(batches()))
    found = [torch.stack([each(*given).detach() for _ in range(draws)]) for each in (plain, module)]
    error = float(sum(each.var() / draws for each in found)) ** 0.5
    report = {each.option: each.reason for each in module.options_report}
    return {
        "difference": abs(float(found[0].mean() - found[1].mean())),
        "error": error,
        "spread": float(found[1].std()),
        "report": report["embedding_sparsity"],
    }


def main() -> None:
    torch.set_num_threads(1)
    loss: dict[str, Any] = {"training_outputs": ("loss",)}
    models = (bert, deberta, distilbert, gpt2, llama, roberta, t5)
    cases: dict[str, Callable[[], Any]] = {
        each.__name__: partial(trained, each, of_model, **loss) for each in models
    }
    cases["logits"] = partial(trained, bert, of_model)
    cases["dropout"] = dropout
    cases.update(MORE_PADDING)
    write_answers(cases)


if __name__ == "__main__":
    main()
