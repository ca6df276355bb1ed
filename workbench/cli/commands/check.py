"""`workbench check`: whether a model can be trained, and optionally a check of its gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from workbench.cli import options as opt
from workbench.cli.printing.output import (
    as_text,
    echo,
    print_json,
    print_table,
    status_updater,
    stderr,
)
from workbench.cli.setting_options import LORA, LOSS, takes_settings

if TYPE_CHECKING:
    from workbench.check import Check
    from workbench.verification import EngineVerdict, Verification

_COLOURS = {"trains": "green", "rewritten": "cyan", "cannot": "bold red"}
_SHOWN = 10
"""Number of wrong gradients listed per engine."""

VerifyOption = Annotated[
    bool,
    typer.Option("--verify", help="Compare loss and gradients of one batch with PyTorch."),
]
EnginesOption = Annotated[
    str | None,
    typer.Option(help="Engines to verify, comma-separated. Default: ondevice,ortmodule."),
]


@takes_settings(*LOSS, "requires_grad", *LORA, "batch_size", "threads")
def check(
    model: opt.ModelArgument,
    verify: VerifyOption = False,
    data: opt.DataOption = None,
    target: opt.TargetOption = None,
    engines: EnginesOption = None,
    json: opt.JsonOption = False,
    **settings: Any,
) -> None:
    """List the operators of a model: which can be trained, which are rewritten, which cannot, why.

    Exit status 1 if it cannot be trained, or if --verify finds a wrong gradient.
    """
    import workbench as wb

    trained = {name: settings.pop(name, None) for name in ("requires_grad", "lora")}
    settings |= opt.given(
        data=data,
        target=target,
        engines=engines and [name.strip() for name in engines.split(",") if name.strip()],
    )
    if settings and not verify:
        _reject_without_verify(settings)
    with stderr.status("Exporting and checking the model"):
        loaded = wb.load_model(model)
        checked = wb.check(loaded, **trained)
    if not json:
        print_check(checked)
    verified = None
    if verify and checked.ok:
        verified = _verify(loaded, settings, trained["requires_grad"])
    if verified is not None and not json:
        echo()
        print_verification(verified)
    ok = checked.ok and (verified is None or verified.ok)
    if json:
        found = {} if verified is None else {"verification": verified.to_dict()}
        print_json({**checked.to_dict(), "ok": ok, **found})
    if not ok:
        raise typer.Exit(1)


def print_check(checked: Check) -> None:
    """Print the verdict, and a table with one row per operator and state."""
    echo(f"{checked.verdict} {checked.counts}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("op", no_wrap=True)
    table.add_column("nodes", justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("details")
    for row in checked.ops:
        state = as_text(row.state, style=_COLOURS[row.state])
        table.add_row(as_text(row.op), str(row.count), state, as_text(row.details))
    print_table(table)


def print_verification(verified: Verification) -> None:
    """Print the verdict, a table with one row per engine, and the wrong gradients."""
    echo(verified.verdict)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("engine", "result"):
        table.add_column(name, no_wrap=True)
    for name in ("loss", "loss error", "gradients", "largest error"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("parameter", overflow="fold")
    for verdict in verified.engines:
        table.add_row(*_cells(verified, verdict))
    print_table(table)
    for verdict in verified.engines:
        if verdict.failure:
            echo(f"\n{verdict.engine}: {verdict.failure}")
    wrong = [row for verdict in verified.engines for row in verified.wrong(verdict.engine)[:_SHOWN]]
    if not wrong:
        return
    echo()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("engine", "wrong gradient", "shape", "error", "index", "actual", "expected"):
        table.add_column(name, overflow="fold")
    for row in wrong:
        numbers = (f"{row.actual:.6g}", f"{row.expected + 0:.6g}")
        where = [str(list(row.shape)), f"{row.relative_error:.1e}", str(list(row.worst_entry))]
        table.add_row(*map(as_text, (row.engine, row.parameter, *where, *numbers)))
    print_table(table)


def _cells(verified: Verification, verdict: EngineVerdict) -> list[Text]:
    name = as_text(verdict.engine)
    if verdict.failure:
        return [name, Text("failed", style="bold red")]
    agrees = verified.agrees(verdict.engine)
    result = Text("ok", style="green") if agrees else Text("wrong", style="bold red")
    rows = verified.of(verdict.engine)
    worst = max(rows, key=lambda row: row.relative_error)
    numbers = (f"{verdict.loss:.6g}", f"{verdict.loss_error:.1e}", str(len(rows)))
    return [
        name,
        result,
        *map(as_text, numbers),
        as_text(f"{worst.relative_error:.1e}"),
        as_text(worst.parameter),
    ]


def _verify(model: Any, settings: dict[str, Any], requires_grad: list[str] | None) -> Verification:
    import workbench as wb
    from workbench.cli.commands.training import dataset

    source = dataset(settings.pop("data", None), settings.pop("target", None))
    with stderr.status("Verifying the gradients") as status:
        return wb.verify(
            model,
            source,
            requires_grad=requires_grad,
            report=status_updater(status),
            **settings,
        )


def _reject_without_verify(settings: dict[str, Any]) -> None:
    from workbench.errors import ConfigError

    raise ConfigError([f"--{name.replace('_', '-')} requires --verify." for name in settings])
