"""The Python code equivalent to the last action on recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from workbench.controller.code.comparison_lines import DISPLAY, SHOWN, runs_compared


def action_code(action: str, run_ids: Sequence[str], text: str) -> str:
    """A program of public names.

    Args:
        action: name of a button of the list, or of its action.
        run_ids: ids of its runs.
        text: the text typed for it; of "train_further" the setting, as "steps=200".
    """
    lines = ["import workbench as wb", "", *_lines(action, list(run_ids), text)]
    if any("display(" in line for line in lines):
        lines = [DISPLAY, "", *lines]
    return "\n".join(lines) + "\n"


def _lines(action: str, run_ids: list[str], text: str) -> list[str]:
    if run_ids and action in OF_ONE:
        given = text.strip() if action in EXPORTS else text
        return OF_ONE[action](repr(run_ids[0]), given)
    if run_ids and action in OF_EACH:
        tags = [tag.strip() for tag in text.split(",") if tag.strip()]
        lines = OF_EACH[action].format(tags=tags).splitlines()
        return [f"for run_id in {run_ids!r}:", *(f"    {line}" for line in lines)]
    if run_ids and action == "compare":
        return runs_compared(run_ids)
    return ["wb.runs()"]


def comparison_code(comparison_id: str) -> str:
    """A program of the public names that opens a recorded comparison."""
    opened = f"comparison = wb.load_comparison({comparison_id!r})"
    return "\n".join([DISPLAY, "", "import workbench as wb", "", opened, *SHOWN]) + "\n"


def _of_run(line: str) -> Callable[[str, str], list[str]]:
    """Code for a run; `line` has a placeholder for the text."""
    return lambda run, text: [f"run = wb.load_run({run})", line.format(text=repr(text))]


WAIT = ("run.wait()", "run.plot()")
"""The run ends with the process that resumed it."""

OF_ONE: Mapping[str, Callable[[str, str], list[str]]] = {
    "open": _of_run("run.plot()"),
    "export": _of_run("run.export({text})"),
    "export_unmerged": _of_run("run.export({text}, merge_lora=False)"),
    "quantize": _of_run("run.quantize({text})"),
    "rename": _of_run("run.rename({text})"),
    "note": _of_run("run.notes = {text}"),
    "resume": lambda run, _: [f"run = wb.resume({run})", *WAIT],
    "resume_paused": _of_run("run.resume()"),
    "train_further": lambda run, total: [f"run = wb.resume({run}, {total})", *WAIT],
    "personalise": lambda run, _: [
        f"run = wb.load_run({run})",
        "# With examples that a pad has saved as a file:",
        "# wb.personalise(wb.Examples.load('examples.npz'), run.spec['model'], base=run)",
    ],
}
EXPORTS = ("export", "export_unmerged", "quantize")
OF_EACH: Mapping[str, str] = {
    "stop": "wb.load_run(run_id).stop()",
    "delete": "wb.load_run(run_id).delete()",
    "tag": "wb.load_run(run_id).tags = {tags}",
    "add_tags": "run = wb.load_run(run_id)\nrun.tags = [*run.tags, *{tags}]",
    "remove_tags": (
        "run = wb.load_run(run_id)\nrun.tags = [tag for tag in run.tags if tag not in {tags}]"
    ),
}
