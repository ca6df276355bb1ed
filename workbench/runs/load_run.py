"""`wb.load_run` and `wb.undelete`: runs that are on the disk."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import RunFolderError, did_you_mean, value_text
from workbench.run_folder.run_folder import RunFolder, home, is_id
from workbench.runs.run import Run
from workbench.runs.table import run_paths
from workbench.runs.trash import is_deleted, restore_from_trash

NEWEST = 3
"""Number of runs that are named where none is similar."""


def load_run(run_id: str | Path) -> Run:
    """Load a run by its id, or by the path of its folder.

    The folder is untrusted: no code that it names is imported, unpickled or executed.

    Raises:
        RunFolderError: it does not exist, is corrupt, or is from a newer version.
    """
    if not isinstance(run_id, str | Path):
        raise RunFolderError(
            f"{run_id!r} is not a run: pass its id or the path of its folder. "
            "wb.runs() lists the runs of this directory."
        )
    text = str(run_id)
    # Anything that cannot be an id is a path.
    inside = home() / "runs" / text if is_id(text) else None
    path = next((each for each in (inside, run_id) if each and _is_folder(Path(each))), None)
    if path is None:
        hint = _hint(text)
        if is_deleted(text):
            hint = f"It was deleted; wb.undelete({text!r}) restores it."
        raise RunFolderError(f"No run {value_text(text)} in {home() / 'runs'}. {hint}")
    return Run(RunFolder(Path(path)))


def undelete(run_id: str) -> Run:
    """Restore a run that `Run.delete` moved to the trash.

    Raises:
        RunFolderError: the trash holds no such run; or it cannot be moved, or read.
    """
    return Run(restore_from_trash(run_id))


def _hint(text: str) -> str:
    """The ids of similar runs, or of the newest."""
    known = sorted((folder.name for folder in run_paths()), reverse=True)
    if not known:
        return "There are no runs here yet."
    return did_you_mean(text, known) or f"The newest: {', '.join(known[:NEWEST])}."


def _is_folder(path: Path) -> bool:
    try:
        return str(path) not in ("", ".") and path.is_dir()
    except (OSError, ValueError):  # a name too long, or with a NUL in it
        return False
