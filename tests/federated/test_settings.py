"""Wrong settings of a federated run are refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")
import workbench as wb
from workbench.errors import ConfigError, DataError, EngineError


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"clients": 0}, ConfigError, "clients=0"),
        ({"rounds": "many"}, ConfigError, "rounds='many'"),
        ({"strategy": "fedavgg"}, ConfigError, "'fedavg'"),
        ({"strategy_options": {"proximal_mu": 1}}, ConfigError, "not an option of strategy"),
        ({"fraction": 1.5}, ConfigError, "fraction=1.5"),
        ({"epochs": 3}, ConfigError, "local_epochs="),
        ({"steps": 3}, ConfigError, "rounds="),
        ({"learning_rat": 3}, ConfigError, "learning_rate"),
        ({"split": "dirichlet"}, ConfigError, "one of wb.federated"),
        ({"engine": "pytorch"}, EngineError, "clients are devices"),
        ({"clients": 5000, "batch_size": 5000}, DataError, "each client needs one"),
        ({"clients": 4, "split": wb.federated.groups(["a"] * 9)}, DataError, "one group per row"),
        ({"clients": 1.5, "split": wb.federated.iid()}, ConfigError, "clients=1.5"),
        ({"privacy": "secret"}, ConfigError, "privacy='secret'"),
        ({"privacy": "central", "strategy": "fedadam"}, ConfigError, "privacy='local'"),
        ({"clipping": "adaptive"}, ConfigError, "needs privacy='central'"),
        ({"secure_aggregation": True, "strategy": "krum"}, ConfigError, "compares clients"),
        ({"secure_aggregation": True, "clients": 2}, ConfigError, "needs 3 to 1000"),
        ({"noise_multiplier": 0}, ConfigError, "noise_multiplier=0"),
        ({"noise_multiplier": 1.0}, ConfigError, "needs privacy='central' or 'local'"),
        ({"clipping_norm": 2, "delta": 1e-6}, ConfigError, "2 settings are wrong"),
        (
            {"strategy": "multikrum", "strategy_options": {"num_nodes_to_select": 9}},
            ConfigError,
            "num_nodes_to_select=9 of clients=8 leaves none out",
        ),
        (
            {
                "strategy": "krum",
                "strategy_options": {"num_malicious_nodes": 1},
                "fraction": 0.5,
            },
            ConfigError,
            "is 4 in a round, but krum needs 5",
        ),
        (
            {"secure_aggregation": True, "fraction": 0.3},
            ConfigError,
            "is 2 in a round, but secure_aggregation=True needs 3",
        ),
        ({"devices": ["phonee"]}, ConfigError, "'phone'"),
        ({"speed_spread": 0.5}, ConfigError, "speed_spread=0.5"),
        (
            {"strategy": "bulyan", "clients": 4, "strategy_options": {"num_malicious_nodes": 1}},
            ConfigError,
            "strategy='bulyan' needs 7 or more in a round",
        ),
    ],
)
def test_wrong_settings_are_sentences(
    settings: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        wb.federate("digits-mlp", **settings)
    assert wb.runs().empty
