"""Which weights LoRA adapts, and what is said of the others."""

from __future__ import annotations

import copy
from collections import OrderedDict

import pytest
import torch
from torch import nn

from workbench.errors import ConfigError
from workbench.lora.linear_weight import LinearWeight, targeted_weights
from workbench.lora.module import add_lora, module_linear_weights
from workbench.settings.config import make_config
from workbench.settings.lora import LoraOptions

LAYERS = nn.Sequential(
    OrderedDict(conv=nn.Conv2d(3, 8, 3), fc=nn.Linear(6, 10), grouped=nn.Conv2d(4, 4, 1, groups=2))
)
SHAPES = {name: tuple(value.shape) for name, value in LAYERS.named_parameters()}


class Mixed(nn.Module):
    """A layer of each kind that has a matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 8)
        self.tied = nn.Linear(8, 7, bias=False)
        self.tied.weight = self.embedding.weight
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.head(self.encoder(self.embedding(tokens)))
        return output


NAMES_OF_MIXED = [name for name, _ in Mixed().named_parameters()]


def test_the_weights_of_linear_layers_alone_are_adapted() -> None:
    """Those of attention are read without a call; one that an embedding shares is not adapted."""
    module = Mixed()
    linear = module_linear_weights(module)
    assert list(linear) == [
        "encoder.self_attn.in_proj_weight",
        "encoder.self_attn.out_proj.weight",
        "encoder.linear1.weight",
        "encoder.linear2.weight",
        "head.weight",
    ]
    assert linear["head.weight"].in_features == 8
    assert linear["head.weight"].out_features == 3
    assert add_lora(module, LoraOptions(rank=2)) == list(linear)
    added = {name for name, _ in module.named_parameters()} - {*NAMES_OF_MIXED}
    attention = ("encoder.self_attn.in_proj", "encoder.self_attn.out_proj")
    assert added == {
        f"{layer}.lora_{each}.weight"
        for layer in (*attention, "encoder.linear1", "encoder.linear2", "head")
        for each in "AB"
    }


def test_a_layer_alone_is_adapted() -> None:
    """Its weight is called `weight`, without a dot."""
    module = nn.Linear(4, 3)
    add_lora(module, LoraOptions(rank=2))
    assert [*module.state_dict()] == ["weight", "bias", "lora_A.weight", "lora_B.weight"]


def test_a_copy_has_adapters_of_its_own() -> None:
    module = Mixed()
    add_lora(module, LoraOptions(rank=2))
    copied, tokens = copy.deepcopy(module), torch.arange(6).reshape(2, 3)
    before = module(tokens)
    with torch.no_grad():
        copied.get_parameter("encoder.self_attn.in_proj.lora_B.weight").fill_(1.0)
    assert torch.equal(module(tokens), before)
    assert not torch.allclose(copied(tokens), before)


def test_the_fast_path_of_evaluation_does_not_pass_adapters_by() -> None:
    module = Mixed().eval()
    add_lora(module, LoraOptions(rank=2, targets=("encoder.*",)))
    tokens = torch.arange(6).reshape(2, 3)
    with torch.no_grad():
        before = module(tokens)
        module.get_parameter("encoder.linear1.lora_B.weight").fill_(1.0)
        after = module(tokens)
    assert float((after - before).abs().max()) > 1e-2


def test_adding_adapters_draws_nothing_at_random() -> None:
    module = Mixed()
    before = torch.get_rng_state()
    add_lora(module, LoraOptions(rank=2))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"targets": ("fd.*",)},
            r"pattern 'fd\.\*' matches no parameter\. Known: conv\.bias",
        ),
        ({"targets": ("conv*",)}, r"matches 'conv\.weight' \[8, 3, 3, 3\], .* of no linear layer"),
        ({"targets": ("*.bias",)}, "of no linear layer. LoRA adapts the weights of linear layers"),
        ({"targets": ("grouped.*",)}, r"matches 'grouped\.weight' \[4, 2, 1, 1\], .* of no linear"),
        (
            {"rank": 7},
            r"lora\.rank=7 is larger than a dimension of 'fc\.weight', of shape \[10, 6\]",
        ),
    ],
)
def test_targets_that_cannot_be_adapted(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        targeted_weights(module_linear_weights(LAYERS), SHAPES, LoraOptions.model_validate(options))


@pytest.mark.fault
def test_the_rank_that_is_advised_fits_all_targets() -> None:
    layers = nn.Sequential(nn.Linear(12, 32), nn.Linear(32, 3))
    shapes = {name: tuple(each.shape) for name, each in layers.named_parameters()}
    linear = module_linear_weights(layers)
    with pytest.raises(ConfigError, match=r"of '1\.weight', of shape \[3, 32\]\. Choose 3 or less"):
        targeted_weights(linear, shapes, LoraOptions(rank=40))
    targeted_weights(linear, shapes, LoraOptions(rank=3))


@pytest.mark.fault
def test_a_matrix_of_no_linear_layer_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"matches 'embedding\.weight' \[7, 8\], of no linear"):
        add_lora(Mixed(), LoraOptions(targets=("embedding.weight",), rank=2))
    with pytest.raises(ConfigError, match=r"matches .*self_attn\.in_proj_bias"):
        add_lora(Mixed(), LoraOptions(targets=("*self_attn.*bias",), rank=2))


@pytest.mark.fault
def test_a_taken_name_is_refused() -> None:
    linear = module_linear_weights(nn.Sequential(nn.Linear(6, 10)))
    shapes = {"0.weight": (10, 6), "0.lora_A.weight": (2, 6)}
    taken = r"the name '0\.lora_A\.weight' of an adapter is taken"
    with pytest.raises(ConfigError, match=taken):
        targeted_weights(linear, shapes, LoraOptions(targets=("0.weight",), rank=2))
    alike = {name: LinearWeight(name, 6, 10) for name in ("fc", "fc_weight")}
    with pytest.raises(ConfigError, match=r"the name 'fc\.lora_B\.weight' of an adapter is taken"):
        targeted_weights(alike, dict.fromkeys(alike, (10, 6)), LoraOptions(rank=2))


@pytest.mark.fault
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"alpha": -1}, r"lora\.alpha=-1: must be more than 0"),
        ({"rank": 0}, r"lora\.rank=0: must be 1 or more"),
        ({"rnk": 4}, r"lora\.rnk: no such setting\. Did you mean 'rank'\?"),
        ({"targets": "fc"}, r"lora\.targets='fc': must be a tuple of names"),
        ({"targets": ()}, r"lora\.targets=\(\)"),
        (4, r"lora=4: must be a dict of its settings, such as \{'rank': 4,"),
    ],
)
def test_wrong_settings(value: object, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make_config({"lora": value})
