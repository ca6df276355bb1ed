"""`workbench profile`: the time of each operator in a training step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from workbench.cli import options as opt
from workbench.cli.printing.figure_file import check_plot, save_figure
from workbench.cli.printing.output import (
    as_text,
    echo,
    print_json,
    print_table,
    status_updater,
    stderr,
)
from workbench.cli.setting_options import LOSS, chosen_ortmodule, takes_settings

if TYPE_CHECKING:
    from workbench.profiling import EngineProfile, Profile

SHOWN = 15
"""Number of operators listed per engine."""

ProfileStepsOption = Annotated[
    int | None,
    typer.Option(help="Steps with and without profiler; medians are given. Default: 20."),
]


@takes_settings(
    "batch_size",
    "optimizer",
    *LOSS,
    "requires_grad",
    "seed",
    "threads",
    "tuning",
    "ortmodule",
    "warmup_steps",
)
def profile(
    model: opt.ModelArgument,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="ortmodule or ondevice, each compared with pytorch; or pytorch alone. "
            "Default: ortmodule."
        ),
    ] = None,
    steps: ProfileStepsOption = None,
    plot: opt.PlotOption = None,
    json: opt.JsonOption = False,
    **settings: Any,
) -> None:
    """Measure the time of each operator in a training step, with ORTModule and with PyTorch."""
    import workbench as wb
    from workbench.cli.commands.training import dataset
    from workbench.settings.engines import PROFILED_ENGINE

    settings |= opt.given(
        engine=engine,
        steps=steps,
        ortmodule=chosen_ortmodule(settings.pop("ortmodule", None), [engine or PROFILED_ENGINE]),
    )
    check_plot(plot)
    with stderr.status("Loading the model") as status:
        found = wb.profile(model, dataset(data, target), report=status_updater(status), **settings)
    if plot is not None:
        save_figure(found.plot(), plot)
    if json:
        print_json(found.to_dict())
    else:
        print_profile(found)


def print_profile(profile: Profile) -> None:
    """Print for each engine the step time and the slowest operators."""
    from workbench.profiling.engine_profile import wall_sentence

    for each in profile.engines:
        echo(wall_sentence(each))
        if not each.useless:
            print_table(_table(each))
        echo()
    echo(profile.caption)


def _table(profile: EngineProfile) -> Table:
    from workbench.profiling.engine_profile import by_operator

    rows = by_operator(profile)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("operator", overflow="fold")
    table.add_column("by", overflow="fold")
    for name in ("calls", "forward µs", "backward µs", "optimizer µs", "total µs", "share"):
        table.add_column(name, justify="right")
    for row in rows[:SHOWN]:
        parts = [row[f"{part}_us"] for part in ("forward", "backward", "optimizer")]
        table.add_row(
            as_text(row["op"]),
            as_text(row["provider"]),
            str(row["calls"]),
            *[f"{part:,.0f}" if part else "-" for part in parts],
            f"{row['us']:,.0f}",
            f"{100 * row['share']:.1f} %",
        )
    if len(rows) > SHOWN:
        rest = sum(row["us"] for row in rows[SHOWN:])
        table.add_row(f"{len(rows) - SHOWN} others", "", "", "", "", "", f"{rest:,.0f}", "")
    return table
