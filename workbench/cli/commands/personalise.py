"""`workbench personalise`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli import options as opt
from workbench.cli.printing.output import echo, print_facts, print_json
from workbench.cli.setting_options import takes_settings
from workbench.errors import ModelError
from workbench.files.output_file import check_place

if TYPE_CHECKING:
    from workbench.personalisation import Outcome, Personalisation


@takes_settings("steps", "learning_rate", "seed", "threads")
def personalise(
    examples: Annotated[
        Path, typer.Argument(metavar="EXAMPLES.npz", help="File written by Examples.save.")
    ],
    model: Annotated[
        str | None, typer.Option(help="Default: the sample for this kind of examples.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Engine that trains the model. Default: ondevice.")
    ] = None,
    train: Annotated[
        str, typer.Option(help="head: train the last layer; all: all parameters.")
    ] = "head",
    held_out: Annotated[
        float, typer.Option(help="Fraction of the examples held out for evaluation.")
    ] = 0.4,
    prompt: Annotated[str | None, typer.Option(help="Texts only: the prompt to continue.")] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the trained model to this .onnx file.")
    ] = None,
    json: opt.JsonOption = False,
    **settings: Any,
) -> None:
    """Fine-tune a base model on your own examples, and evaluate both on held-out ones."""
    import workbench as wb

    settings |= opt.given(prompt=prompt, engine=engine)
    if export is not None:
        check_place(export, ModelError)
    # The command line gives text; `personalise` checks it.
    chosen: Any = train
    with contextlib.closing(
        wb.personalise(
            wb.Examples.load(examples),
            model,
            train=chosen,
            held_out=held_out,
            **settings,
        )
    ) as made:
        made.wait()
        if export is not None:
            made.export(export)
        _show(made, export, json)


def _show(made: Personalisation, export: Path | None, json: bool) -> None:
    assert made.before is not None
    assert made.after is not None
    if json:
        print_json(
            {
                "run": made.run.id,
                "seconds": made.seconds,
                "before": made.before.record(),
                "after": made.after.record(),
                "export": None if export is None else str(export),
            }
        )
        return
    print_facts({"run": made.run.id, "seconds": round(made.seconds or 0, 1)})
    for name, outcome in (("before", made.before), ("after", made.after)):
        echo(f"{name}: {sentence(outcome)}")
    if export is not None:
        echo(f"Exported to {export}.")


def sentence(outcome: Outcome) -> str:
    """An outcome in words."""
    if outcome.perplexity is not None:
        return f"perplexity {outcome.perplexity:.2f}; {outcome.prompt!r} {outcome.continuation!r}"
    count = 0 if outcome.confusion is None else int(outcome.confusion.sum())
    if outcome.accuracy is None:
        return "no held-out example can be scored"
    return f"{outcome.accuracy:.0%} of the {count} held-out examples"
