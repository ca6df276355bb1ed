"""Starts the job of a setup."""

from __future__ import annotations

from collections.abc import Callable

from workbench.compare import compare
from workbench.controller.forms.federation_fields import federate_settings
from workbench.controller.jobs.comparison_job import ComparisonJob
from workbench.controller.jobs.job import Job
from workbench.controller.jobs.training import Training
from workbench.controller.restore import setup_of
from workbench.controller.setup import Setup
from workbench.data import Dataset
from workbench.federated import federate
from workbench.models import Model
from workbench.runs import Run, prepare, train

Load = Callable[[], tuple[Model, Dataset]]


def start_training(setup: Setup, load: Load) -> Job:
    """Train with each chosen engine, one after another, or with clients."""
    setup.check_typed("train")
    model, dataset = load()
    if setup.federation is not None:
        settings = {**federate_settings(setup.federation), **setup.clients_settings()}
        return Training.of(federate(model, dataset, **settings))
    engines, settings = setup.chosen_engines(), setup.training_settings()
    config = setup.config_settings()
    for engine in engines:  # wrong settings of a later one are reported before the first trains
        prepare(model, dataset, {**config, "engine": engine})
    return Training(lambda engine: train(model, dataset, engine=engine, **settings), engines)


def start_like(run: Run, loading: Callable[[Setup], Load]) -> Callable[[str], Run]:
    """A function that trains with an engine as `run` was started, by its record.

    Args:
        run: the run.
        loading: returns what loads the model and the dataset of a setup.
    """
    setup = setup_of(run)
    load, settings = loading(setup), setup.training_settings()

    def start(engine: str) -> Run:
        model, dataset = load()
        return train(model, dataset, engine=engine, **settings)

    return start


def start_comparison(setup: Setup, load: Load) -> Job:
    """Compare the chosen engines in lockstep."""
    setup.check_typed("compare")
    model, dataset = load()
    engines, settings = setup.chosen_engines(), setup.comparison_settings()
    return ComparisonJob(compare(model, dataset, engines, **settings))
