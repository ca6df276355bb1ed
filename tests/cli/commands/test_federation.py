"""`workbench federate`: a simulated run, and a project for real devices."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.command import Invoke
from workbench.cli.commands.federation import federate
from workbench.cli.federation_options import OPTIONS
from workbench.settings.federation import FederationOptions


def test_every_setting_of_federated_training_is_an_option() -> None:
    settings = set(FederationOptions.model_fields) - {"strategy_options"}
    assert settings | {"strategy_option", "split"} == OPTIONS.keys()
    assert OPTIONS.keys() <= inspect.signature(federate).parameters.keys()


@pytest.mark.sweep  # notebooks/04_federated
def test_a_federated_run_by_command(workbench: Invoke) -> None:
    outcome = workbench(
        *("federate", "digits-mlp", "--clients=3", "--rounds=1", "--local-steps=2", "--json"),
        *("--split=dirichlet=0.5", "--strategy=fedprox", "--strategy-option=proximal_mu=0.1"),
        *("--privacy=central", "--noise-multiplier=0.5", "--plot=run.png"),
    )
    assert outcome.status == 0, outcome.stderr
    federation = wb.load_run(outcome.json["id"]).federation
    assert federation is not None
    assert federation.split == "dirichlet(0.5)"
    assert federation.options.strategy_options == {"proximal_mu": 0.1}
    assert federation.rounds["epsilon"].iloc[0] == pytest.approx(9.9973, abs=1e-3)


@pytest.mark.sweep
def test_clients_by_a_column(workbench: Invoke, tmp_path: Path) -> None:
    rows = "".join(
        f"{','.join([str(row % 5)] * 30)},user {row % 3},{row % 2}.0\n" for row in range(60)
    )
    header = ",".join(f"c{column}" for column in range(30))
    (tmp_path / "people.csv").write_text(f"{header},user,kind\n{rows}", encoding="utf-8")
    outcome = workbench(
        *("federate", "breast-cancer-mlp", f"--data={tmp_path / 'people.csv'}", "--target=kind"),
        *("--split=groups=user", "--rounds=1", "--json"),
    )
    assert outcome.status == 0, outcome.stderr
    run = wb.load_run(outcome.json["id"])
    assert run.federation is not None
    assert run.federation.split == "groups"
    assert run.federation.data["rows"].sum() == 48


@pytest.mark.fault
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--split=groups",), "--split groups: give the column, as in groups=user."),
        (("--split=groups=user",), "--split groups=user requires --data"),
        (("--split=dirichlet",), "--split dirichlet: give a number, such as dirichlet=0.3."),
        (("--split=dirichlt=1",), "'dirichlet'"),
        (("--strategy-option=eta",), "--strategy-option eta: give NAME=VALUE."),
        (("--privacy=secret",), "privacy='secret'"),
        (("--app=there", "--plot=a.png"), "does not train"),
        (("--app=there", "--unavailable=0.5"), "unavailable= is for simulated clients."),
    ],
)
def test_an_impossible_request_is_one_sentence(
    workbench: Invoke, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    outcome = workbench("federate", "digits-mlp", *arguments)
    assert outcome.status == 1
    assert sentence in outcome.stderr
    assert not (tmp_path / "there").exists()
