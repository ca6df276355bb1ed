"""`workbench clean-cache`."""

from __future__ import annotations

from workbench.cli import options as opt
from workbench.cli.printing.output import echo, print_json, stderr


def clean_cache(json: opt.JsonOption = False) -> None:
    """Remove the exports that earlier runs left in the user's cache."""
    from workbench.export_cache.cache import ExportCache
    from workbench.files.user_cache import VARIABLE

    cache = ExportCache.of_user(lambda sentence: stderr.print(sentence, markup=False))
    removed_bytes = 0 if cache is None else cache.clear()
    if json:
        print_json({"folder": cache and str(cache.folder), "removed_bytes": removed_bytes})
    elif cache is None:
        echo(f"No export is cached here; see {VARIABLE}.")
    else:
        echo(f"Removed {removed_bytes / 1e6:.1f} MB from {cache.folder}")
