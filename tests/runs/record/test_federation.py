"""The record and the figure of a federated run that is known to the last digit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from tests.runs.written import LAUNCHED, steps, write_run
from workbench.compare import compare_runs
from workbench.runs import Run
from workbench.runs.figures.federation_figure import CLIENT_COLOR, MOST_NAMED_CLASSES
from workbench.runs.record.federation import Federation

OPTIONS = {"clients": 2, "rounds": 3, "fraction": 0.5}
DIVIDED = [{"rows": 20, "test_rows": 4}, {"rows": 10, "test_rows": 2}]


def client(number: int, **fields: Any) -> dict[str, Any]:
    return {"client": number, **fields}


def trained(number: int, loss: float, accuracy: float | None) -> dict[str, Any]:
    return client(
        number, rows=20, samples=40, loss=loss, test_loss=loss / 2, accuracy=accuracy,
        seconds=1.5, peak_rss_bytes=7,
    )  # fmt: skip


def test_the_figure_draws_accuracy_against_epsilon() -> None:
    run = federated(
        privacy="local", clipping_norm=2.0, secure_aggregation=True, clients=3,
        divided=[*DIVIDED, DIVIDED[0]], spent=True,
    )  # fmt: skip
    figure = run.plot()
    last = figure.axes[5]
    assert lines(last) == [([9.0], [0.5])]
    assert last.get_xlabel() == "epsilon so far, at delta 1e-05"
    assert last.get_title(loc="left") == "Privacy (local)"
    caption = figure.get_supxlabel()
    assert "fixed clipping, noise 1 times its norm, secure aggregation; simulated" in caption
    rounds = federation_of(run).rounds
    assert rounds["epsilon"].tolist() == [4.5, 9.0]
    assert rounds["clipping_norm"].tolist() == [2.0, 2.0]


def test_the_length_of_federated_runs_is_in_rounds() -> None:
    two, three = federated(), federated()
    for run, rounds in ((two, 2), (three, 3)):
        config = {**run.spec["config"], "steps": rounds}
        run.folder.write_spec({**run.spec, "config": config})
    found = compare_runs([Run(two.folder), Run(three.folder)]).differences()
    assert found.loc["length"].tolist() == ["2 rounds", "3 rounds"]
    assert list(found.index) == ["length"]


def round_of(step: int, clients: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return {
        "event": "round", "step": step, "seconds": 2.0 * step, "sent_bytes": 3_000_000,
        "received_bytes": 1_000_000, "clients": clients, **fields,
    }  # fmt: skip


def federated(
    accuracy: float | None = 0.5,
    divided: list[dict[str, Any]] | None = None,
    spent: bool = False,
    simulated: bool = False,
    **options: Any,
) -> Run:
    """Two clients; the second takes part in the second round alone, in the first it is gone."""
    evaluation = {"event": "evaluation", "step": 2, "epoch": 2, "loss": 0.75, "accuracy": accuracy}
    further = [
        ({"epsilon": 4.5 * n, "clipping_norm": 2.0} if spent else {})
        | ({"simulated_seconds": 8.0 * n} if simulated else {})
        for n in (1, 2)
    ]
    first = [trained(0, 4.0, accuracy), client(1, left_out="it was not there")]
    second = [trained(0, 2.0, accuracy), trained(1, 6.0, accuracy)]
    run = write_run(
        "federated",
        [
            steps(1, [1.0], [4.0]),
            round_of(1, first, **further[0]),
            steps(2, [1.0], [3.0]),
            round_of(2, second, **further[1]),
            evaluation,
        ],
        {"status": "completed"},
        engine="pytorch",
    )
    options = {**OPTIONS, **options}
    record = {
        "clients": divided or DIVIDED,
        "options": options,
        "split": "by hand",
        "parameters": [],
    }
    run.folder.write_spec({**run.spec, "federation": record, "launched": LAUNCHED})
    return Run(run.folder)


def federation_of(run: Run) -> Federation:
    assert run.federation is not None
    return run.federation


def lines(axes: Axes) -> list[tuple[list[float], list[float]]]:
    return [
        (np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist())
        for line in axes.lines
    ]


def legend(axes: Axes) -> list[str]:
    found = axes.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def test_rounds_and_clients_are_the_record() -> None:
    federation = federation_of(federated())
    rounds = federation.rounds
    assert rounds["simulated_seconds"].isna().all(), "no device was slower than this machine"
    assert rounds.drop(columns="simulated_seconds").to_dict("list") == {
        "round": [1, 2], "seconds": [2.0, 4.0], "clients": [1, 2], "left_out": [1, 0],
        "sent_bytes": [3_000_000] * 2, "received_bytes": [1_000_000] * 2,
    }  # fmt: skip
    clients = federation.clients
    assert list(clients["round"]) == [1, 1, 2, 2]
    assert list(clients["client"]) == [0, 1, 0, 1]
    assert list(clients["left_out"]) == ["", "it was not there", "", ""]
    np.testing.assert_array_equal(clients["loss"], [4.0, np.nan, 2.0, 6.0])
    np.testing.assert_array_equal(clients["test_loss"], [2.0, np.nan, 1.0, 3.0])
    last = ["peak_rss_bytes", "left_out", "simulated_seconds"]
    assert list(clients.columns)[-3:] == last
    assert repr(federation) == "<Federation: 2 clients by by hand, 3 rounds of fedavg>"
    assert (federation.split, federation.options.fraction) == ("by hand", 0.5)


def test_the_rows_of_each_class_are_counted_where_rows_have_one() -> None:
    data = federation_of(federated()).data
    assert data.to_dict("list") == {"rows": [20, 10], "test_rows": [4, 2]}
    assert data.index.name == "client"
    with_classes = [{**DIVIDED[0], "classes": [15, 5]}, {**DIVIDED[1], "classes": [0, 10]}]
    data = federation_of(federated(divided=with_classes)).data
    assert list(data.columns) == ["rows", "test_rows", "class 0", "class 1"]
    assert data[["class 0", "class 1"]].to_numpy().tolist() == [[15, 5], [0, 10]]
    part = [with_classes[0], DIVIDED[1]]
    assert list(federation_of(federated(divided=part)).data.columns) == ["rows", "test_rows"]


def test_a_run_of_one_machine_has_no_federation() -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "completed"})
    assert run.federation is None
    assert len(run.plot().axes) == 3


def test_the_figure_draws_the_rounds() -> None:
    figure = federated().plot()
    reached, loss, data, traffic, seconds, counts = figure.axes
    assert lines(reached) == [
        ([1, 2], [0.5, 0.5]), ([2], [0.5]), ([2], [0.5]),
    ]  # fmt: skip
    assert legend(reached) == ["each client", "global weights"], "clients are named once"
    assert reached.get_ylabel() == "accuracy, 0 to 1"
    assert lines(loss) == [([1, 2], [4.0, 2.0]), ([2], [6.0]), ([1, 2], [4.0, 3.0])]
    assert [line.get_color() for line in loss.lines][:2] == [CLIENT_COLOR] * 2
    assert loss.lines[2].get_color() != CLIENT_COLOR
    assert lines(traffic) == [([1, 2], [3.0, 6.0]), ([1, 2], [1.0, 2.0])]
    assert legend(traffic) == ["sent by the server", "received by the server"]
    assert [line.get_linestyle() for line in traffic.lines] == ["-", "--"]
    assert traffic.get_ylim() == (0, pytest.approx(1.08 * 6))
    assert lines(seconds) == [([1, 2], [2.0, 4.0])]
    assert lines(counts) == [([1, 2], [1, 2]), ([1, 2], [1, 0])]
    assert legend(counts) == ["trained", "left out"]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [
        *("Test split", "Training loss", "Rows of the clients"),
        *("Traffic", "Time of a round", "Clients of a round"),
    ]
    units = [axes.get_ylabel() for axes in (loss, data, traffic, seconds, counts)]
    assert units == ["mean of a client's batches", "client", "MB in all", "s", "clients"]
    by_round = (reached, loss, traffic, seconds, counts)
    assert [axes.get_xlabel() for axes in by_round] == ["round"] * 5
    for axis in (*(axes.xaxis for axes in by_round), counts.yaxis, data.yaxis):
        assert axis.get_major_locator()._integer, "there are no half rounds"  # type: ignore[attr-defined]
    assert figure.get_suptitle() == "model-federated: 2 clients, fedavg"


def test_the_time_on_simulated_devices_is_drawn_beside_the_measured_one() -> None:
    seconds = federated(simulated=True).plot().axes[4]
    assert lines(seconds) == [([1, 2], [2.0, 4.0]), ([1, 2], [8.0, 16.0])]
    assert legend(seconds) == ["on this machine", "on devices (simulated)"]


def test_without_classes_the_rows_of_each_client_are_bars() -> None:
    data = federated().plot().axes[2]
    bars = [(bar.get_y() + bar.get_height() / 2, bar.get_width()) for bar in data.patches]  # type: ignore[attr-defined]
    np.testing.assert_allclose(bars, [(0, 20), (1, 10)], atol=1e-12)
    low, high = data.get_ylim()
    assert low > high, "the first client is on top"
    assert data.get_xlabel() == "training rows"


@pytest.mark.parametrize(("classes", "apart"), [(2, 1), (12, 1), (13, 2), (25, 3)])
def test_the_rows_of_each_class_are_an_image(classes: int, apart: int) -> None:
    assert MOST_NAMED_CLASSES == 12
    counts = [[3 + index for index in range(classes)], [9] * classes]
    divided = [{**each, "classes": own} for each, own in zip(DIVIDED, counts, strict=True)]
    figure = federated(divided=divided).plot()
    data, bar = figure.axes[2], figure.axes[6]
    [image] = data.images
    assert isinstance(image, AxesImage)
    np.testing.assert_array_equal(np.asarray(image.get_array()), counts)
    assert image.get_clim()[0] == 0, "so that white is none"
    assert data.get_xticks().tolist() == list(range(0, classes, apart))
    low, high = data.get_ylim()
    assert low > high
    assert data.get_xlabel() == "class"
    assert bar.get_ylabel() == "training rows"
    assert not any(line.get_visible() for line in data.get_xgridlines())
    assert data.yaxis.get_major_locator()._integer  # type: ignore[attr-defined]
    assert data.get_aspect() == "auto"


def test_without_accuracy_the_loss_of_the_test_split_is_drawn() -> None:
    reached = federated(accuracy=None).plot().axes[0]
    assert lines(reached) == [([1, 2], [2.0, 1.0]), ([2], [3.0]), ([2], [0.75])]
    assert reached.get_ylabel() == "loss"


@pytest.mark.parametrize(
    ("options", "passes"),
    [({"local_epochs": 3}, "3 local epochs"), ({"local_steps": 5}, "at most 5 local steps")],
)
def test_the_caption_says_how_clients_train(options: dict[str, int], passes: str) -> None:
    caption = federated(**options).plot().get_supxlabel()
    assert caption.startswith(
        f"rows divided by by hand, batch 10, {passes}, 50 % of the clients in a round; simulated "
        "on one machine; a processor"
    )
