"""ORTModule's options: every problem at once, written as JSON and read back, as text too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.cli.ortmodule_arguments import parse_options
from workbench.errors import ConfigError
from workbench.settings.config import make_config
from workbench.settings.ortmodule_options import ORTModuleOptions, make_options


def problems(settings: object) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        make_options(settings)  # type: ignore[arg-type]
    return caught.value.problems


def test_every_problem_is_listed_at_once_with_the_nearest_name() -> None:
    found = problems(
        {"memory_optimiser_level": 1, "threads": 0, "log_level": "warn", "spinning": "perhaps"}
    )
    text = "\n".join(found)
    assert len(found) == 4
    assert "memory_optimiser_level: no such setting. Did you mean 'memory_optimizer_level'" in text
    assert "threads=0" in text
    assert "log_level='warn': Did you mean 'warning'" in text
    assert "spinning='perhaps'" in text


@pytest.mark.fault
def test_messages_name_the_place_within_a_config() -> None:
    with pytest.raises(ConfigError) as caught:
        make_config({"epochs": 0, "ortmodule": {"thread": 1, "recompute_config": "Gelu"}})
    found = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 3
    assert "ortmodule.thread: no such setting. Did you mean 'threads'?" in found
    assert "ortmodule.recompute_config='Gelu': must be operators:kind:count" in found


def test_a_level_is_one_of_the_levels() -> None:
    assert problems({"memory_optimizer_level": 3}) == ("memory_optimizer_level=3: Known: 0, 1, 2.",)


def test_a_level_and_a_config_exclude_each_other() -> None:
    (found,) = problems({"memory_optimizer_level": 1, "recompute_config": ["Gelu+:1:-1"]})
    assert found.startswith("memory_optimizer_level=1: cannot be combined")


@pytest.mark.fault
def test_something_else_is_refused() -> None:
    assert problems(3) == ("options=3: must be an ORTModuleOptions or a dict of its fields.",)


def test_the_config_keeps_them_through_json() -> None:
    options = ORTModuleOptions(
        memory_optimizer_level=2, threads=1, cast_propagation_allow=("MatMul",), saved_graphs="a"
    )
    config = make_config({"engine": "ortmodule", "ortmodule": options})
    assert make_config(json.loads(config.model_dump_json())) == config
    assert config.ortmodule is options
    assert make_config({"ortmodule": {"threads": 1}}).ortmodule == ORTModuleOptions(threads=1)


def test_a_folder_is_absolute_for_the_worker_may_run_elsewhere() -> None:
    assert ORTModuleOptions(saved_graphs="graphs").saved_graphs == str(Path.cwd() / "graphs")
    assert ORTModuleOptions(saved_graphs=Path("~/g")).saved_graphs == str(Path.home() / "g")  # type: ignore[arg-type]
    assert ORTModuleOptions(saved_graphs="").saved_graphs is None


def test_assignments_are_read_as_on_the_command_line() -> None:
    given = parse_options(
        [
            "memory-optimizer-level=0",
            "recompute_config=Gelu+:1:-1,FusedMatMul+Add+:2:3",
            "spinning=true",
            "threads=2",
            "saved-graphs=/tmp/graphs",
            'cast_propagation_allow=["MatMul"]',
        ]
    )
    assert make_options(given).changed == {
        "recompute_config": ("Gelu+:1:-1", "FusedMatMul+Add+:2:3"),
        "spinning": True,
        "threads": 2,
        "saved_graphs": "/tmp/graphs",
        "cast_propagation_allow": ("MatMul",),
    }


@pytest.mark.fault
def test_wrong_assignments_are_refused_all_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_options(["thread=2", "spinning", "log_level=error"])
    assert caught.value.problems == (
        "--ortmodule 'thread=2': no such option. Did you mean 'threads'?",
        "--ortmodule 'spinning': write it as spinning=VALUE.",
    )


def test_every_option_has_a_description() -> None:
    for name, field in ORTModuleOptions.model_fields.items():
        assert field.title, name
        assert field.description, name
        assert field.description.endswith("."), name
