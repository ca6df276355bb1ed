"""Every command is there, and what cannot be done is said in one message."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.cli.command import Invoke

COMMANDS = (
    "doctor",
    "build-extensions",
    "clean-cache",
    "models",
    "check",
    "artifacts",
    "train",
    "federate",
    "personalise",
    "resume",
    "compare",
    "profile",
    "tune",
    "runs",
    "stop",
    "delete",
    "undelete",
    "export",
    "lab",
)


def test_the_commands_are_those_of_the_interface(workbench: Invoke) -> None:
    outcome = workbench("--help")
    assert outcome.status == 0
    assert re.findall(r"^│ ([a-z]+[a-z-]*) ", outcome.stdout, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(workbench: Invoke, command: str) -> None:
    outcome = workbench(command, "--help")
    assert outcome.status == 0
    assert f"workbench {command}" in outcome.stdout


@pytest.mark.fault
@pytest.mark.parametrize(
    "arguments",
    [
        ["tarin"],
        ["train"],
        ["train", "digits-mlp", "--epochs", "many"],
        ["train", "digits-mlp", "--no-such-option"],
        ["export", "only-a-run"],
    ],
)
def test_wrong_usage_is_status_2(workbench: Invoke, arguments: list[str]) -> None:
    outcome = workbench(*arguments)
    assert outcome.status == 2
    assert outcome.stdout == ""
    assert "Usage: workbench" in outcome.stderr


@pytest.mark.fault
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "digits-mpl"], "Did you mean 'digits-mlp'"),
        (["train", "nowhere.onnx"], "nowhere.onnx"),
        (["train", "digits-mlp", "--data", "nowhere.npz"], "nowhere.npz"),
        (["train", "digits-mlp", "--target", "y"], "--target y requires --data"),
        (["compare", "digits-mlp", "--engines", "fake,fake"], "'fake' twice"),
        (["compare", "digits-mlp", "--engines", ","], "give at least one engine"),
        (["runs", "no-such-run"], "No run 'no-such-run'"),
        (["export", "no-such-run", "m.onnx"], "No run 'no-such-run'"),
        (["check", "digits-mpl"], "Did you mean 'digits-mlp'"),
        (["artifacts", "digits-mpl"], "Did you mean 'digits-mlp'"),
        (["models", "digits-mpl"], "Did you mean 'digits-mlp'"),
    ],
)
def test_a_refusal_is_one_message_on_stderr(
    workbench: Invoke, arguments: list[str], said: str
) -> None:
    outcome = workbench(*arguments, "--json")
    assert outcome.status == 1
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("Error: ")
    assert said in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.fault
def test_every_wrong_setting_is_listed_at_once(workbench: Invoke) -> None:
    outcome = workbench(
        "train", "digits-mlp", "--engine", "ondevise", "--epochs", "0", "--loss", "mce"
    )
    assert outcome.status == 1
    assert "3 settings are wrong" in outcome.stderr
    for said in ("'ondevice'", "epochs=0", "'mse'"):
        assert said in outcome.stderr


INTERRUPTED_IMPORT = """
import sys
from importlib.abc import MetaPathFinder

class Interrupt(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "workbench.cli.options":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from workbench.cli import main
main()
"""


@pytest.mark.fault
def test_an_interrupt_during_the_imports_says_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
