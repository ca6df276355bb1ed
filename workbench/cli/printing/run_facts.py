"""The facts of a run, as the commands print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.cli.printing.output import echo, frame_rows, print_facts, print_json

if TYPE_CHECKING:
    from workbench.runs import Run


def show_run(run: Run, json: bool) -> None:
    """Print the facts of a run, and the statistics of its engine if there are any."""
    facts, statistics = run_facts(run), run.statistics
    if json:
        record = None if statistics is None else statistics.model_dump(mode="json")
        print_json({**facts, "statistics": record})
        return
    print_facts(facts)
    if statistics is not None:
        echo(f"\n{statistics!r}")


def run_facts(run: Run) -> dict[str, Any]:
    """The main facts of a run."""
    from workbench.run_folder.labels import labels_or_problem

    points = run.follow().poll()
    results = run.step_results(points)
    evaluations = frame_rows(run.evaluations)
    last = evaluations[-1] if evaluations else {}
    summary = run.summary or {}
    return {
        "id": run.id,
        **labels_or_problem(run.folder)[0].model_dump(),
        "model": run.spec["model"],
        "dataset": run.spec["dataset"],
        "engine": run.engine,
        "status": run.status,
        "error": run.error,
        "reason": run.reason or None,
        "steps": run.progress.done_steps,
        "loss": float(points.loss[-1]) if len(points.loss) else None,
        "test_loss": last.get("loss"),
        "test_accuracy": last.get("accuracy"),
        **{
            f"test_{name}": last[name]
            for name in ("perplexity", "r2", "mean_absolute_error")
            if last.get(name) is not None
        },
        "samples_per_s": results.samples_per_s,
        "other_cores": None if results.load is None else results.load.other_cores,
        "peak_rss_bytes": summary.get("peak_rss_bytes"),
        "startup_s": run.startup_s,
        "duration_s": run.duration_s,
        "checkpoint": run.checkpoint and str(run.checkpoint),
        "folder": str(run.folder.path),
    }
