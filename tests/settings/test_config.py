"""Settings are refused as a whole, with every problem at once."""

from typing import Any

import pytest
from pydantic import ValidationError

from workbench.errors import ConfigError
from workbench.settings.config import TrainingConfig, make_config, read_config
from workbench.settings.federation import FederationOptions
from workbench.settings.setting_problems import OTHER_NAMES, problems_of


@pytest.mark.fault
def test_every_problem_is_listed_at_once_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as caught:
        make_config({"engine": "ondevise", "epochs": 0, "lerning_rate": 1.0, "batch_size": "many"})
    assert len(caught.value.problems) == 4
    message = str(caught.value)
    assert "engine='ondevise': Did you mean 'ondevice'" in message
    assert "lerning_rate: no such setting. Did you mean 'learning_rate'" in message
    assert "epochs=0" in message
    assert "batch_size='many'" in message


def test_names_of_other_libraries_are_translated() -> None:
    fields = TrainingConfig.model_fields.keys()
    for name, others in OTHER_NAMES.items():
        assert name in fields
        assert not others & fields
        for other in others:
            with pytest.raises(ConfigError, match=f"{other}: no such setting. It is '{name}' here"):
                make_config({"engine": "ondevice", other: 1})


@pytest.mark.fault
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_learning_rate_is_a_positive_number(value: float) -> None:
    with pytest.raises(ConfigError, match="learning_rate"):
        make_config({"learning_rate": value})


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"steps": True}, "steps=True: must be an integer"),
        ({"learning_rate": "0.1"}, "learning_rate='0.1': must be a number"),
        ({"lora": {"rank": "8"}}, "lora.rank='8': must be an integer"),
        ({"device": {"cores": True}}, "device.cores=True: must be an integer"),
        (
            {"ortmodule": {"memory_optimizer_level": True}},
            "ortmodule.memory_optimizer_level=True: must be an integer",
        ),
    ],
)
def test_text_and_truth_values_are_no_numbers(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_config(settings)
    assert sentence in str(caught.value)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"clients": "8"}, "clients='8': must be an integer."),
        ({"fraction": True}, "fraction=True: must be a number."),
        (
            {"strategy": "fedprox", "strategy_options": {"proximal_mu": "0.1"}},
            "strategy_options['proximal_mu']='0.1': must be a number.",
        ),
    ],
)
def test_nor_are_they_in_a_federation(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as caught:
        FederationOptions(**settings)
    assert problems_of(caught.value, FederationOptions) == [sentence]
    given = FederationOptions(strategy="fedprox", strategy_options={"proximal_mu": 1}, fraction=1)
    assert given.secure_aggregation is False


def test_weight_decay_defaults_are_those_of_torch_optim() -> None:
    import torch

    parameter = torch.nn.Parameter(torch.zeros(1))
    for name, kind in {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}.items():
        expected = kind([parameter]).defaults["weight_decay"]
        assert make_config({"optimizer": name}).effective_weight_decay == expected


def test_a_config_is_frozen() -> None:
    config = TrainingConfig()
    with pytest.raises(ValueError, match="frozen"):
        config.epochs = 2  # type: ignore[misc]


def test_a_record_may_hold_an_option_of_older_versions() -> None:
    record = {"ortmodule": {"execution_provider": "cpu", "threads": 1}}
    assert read_config(record).ortmodule.threads == 1
    with pytest.raises(ConfigError, match="execution_provider"):
        make_config(record)
