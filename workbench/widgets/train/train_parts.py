"""The widgets of the step Train that show a job."""

from __future__ import annotations

from typing import NamedTuple

from workbench.widgets.charts import Charts
from workbench.widgets.run_statistics import RunStatistics
from workbench.widgets.train.engine_choice import EngineChoice
from workbench.widgets.train.evaluation_view import EvaluationView
from workbench.widgets.train.federation_view import FederationView
from workbench.widgets.train.layer_statistics_view import LayerStatisticsView
from workbench.widgets.train.worst_predictions_view import WorstPredictionsView


class TrainParts(NamedTuple):
    """The widgets of the step that show a job."""

    engines: EngineChoice
    charts: Charts
    federation: FederationView
    layers: LayerStatisticsView
    evaluation: EvaluationView
    worst: WorstPredictionsView
    statistics: RunStatistics
