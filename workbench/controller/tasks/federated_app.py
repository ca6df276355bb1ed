"""Writes a project that trains on real devices, as `wb.federated.app`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.controller.call_text import call_text
from workbench.controller.forms.federation_fields import federate_settings, split_code
from workbench.controller.forms.setting_fields import SettingField
from workbench.controller.setup import Setup
from workbench.controller.tasks.task import Inputs, Report, Task, TaskResult
from workbench.federated import app
from workbench.federated.prepared import SIMULATED

PATH = "federated-app"
LEFT_OUT = (*SIMULATED, "detached", "split", "alpha")
"""Settings that apply to simulated clients alone, or that are given by other means."""


class FederatedAppTask(Task):
    """A server and the clients of Flower, for a network of real devices."""

    name = "app"
    step = "train"
    title = "App for real devices"
    explanation = (
        "Writes a project with these settings that flwr run starts on a server and on devices. "
        "What is simulated is left out: Unreachable, Speed spread, Client devices, Processes."
    )
    action = "Write app"
    fields = (SettingField("path", "Folder to write", "new or empty", "text", PATH),)

    def run(self, inputs: Inputs, report: Report) -> TaskResult:
        report("loading the model and its data")
        setup = inputs.setup
        settings = {**_settings(setup), **_split(setup)}
        folder = app(
            inputs.values.get("path", PATH),
            inputs.model(),
            inputs.data(),
            report=report,
            **settings,
        )
        return TaskResult(
            f"Wrote {folder}. Its README.md has the commands for the server and for each device. "
            "data/ holds the rows of each client, to try it on one machine."
        )

    def code(self, setup: Setup, values: Mapping[str, Any], given: Sequence[str]) -> list[str]:
        split = split_code(setup.federation or {})
        arguments = [repr(values.get("path", PATH)), *given]
        arguments += [f"split={split}"] if split else []
        return [call_text("wb.federated.app", arguments, _settings(setup))]

    def applies(self, setup: Setup) -> bool:
        return setup.federation is not None


def _settings(setup: Setup) -> dict[str, Any]:
    given = {**(setup.federation or {}), **setup.clients_settings()}
    return {name: value for name, value in given.items() if name not in LEFT_OUT}


def _split(setup: Setup) -> dict[str, Any]:
    """The split as an object, after a check of all options."""
    checked = federate_settings(setup.federation or {})
    return {"split": checked["split"]} if "split" in checked else {}
