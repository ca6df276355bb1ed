"""Installs packages into an environment: install.py PYTHON CONSTRAINTS REQUIREMENTS...

uv installs in seconds what takes pip minutes. It does not read pip's settings, such as an index or
a certificate: they are handed to it. What it cannot install, pip does.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib import invalidate_caches
from importlib.util import find_spec

SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "constraint": "UV_CONSTRAINT",
    "trusted-host": "UV_INSECURE_HOST",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
"""A setting of pip -> the environment variable by which uv takes it."""

COMMAS = ("find-links",)
"""Settings whose values uv parts by commas, all others by spaces."""


def main(python: str, constraints: str, *requirements: str) -> int:
    """Install with uv, else with pip; returns pip's exit status."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    what = ["--constraint", constraints, *requirements]
    # Not compiled: of all these packages a part is ever imported, and is compiled when it is.
    options = ["install", "-qq", "--no-compile"]
    if not find_spec("uv"):
        subprocess.run([*pip, *options, "--constraint", "constraints.txt", "uv"], check=False)
        invalidate_caches()
    if find_spec("uv"):
        # pip takes the best version of all indexes, uv by default of the first that has any.
        uv = [sys.executable, "-m", "uv", "pip", "install", "--index-strategy=unsafe-best-match"]
        installed = subprocess.run(
            [*uv, "--quiet", "--python", python, *what],
            env=environment(pip_settings(pip)),
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if installed.returncode == 0:
            return 0
        print(installed.stderr.strip(), "\nuv could not install this. pip does, in minutes.")
    return subprocess.run([*pip, "--python", python, *options, *what], check=False).returncode


def pip_settings(pip: list[str]) -> dict[str, str]:
    """Name -> value of pip's settings, of its files and, before these, of the environment."""
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False)
    lines = sorted(listed.stdout.splitlines(), key=lambda line: line.startswith(":env:"))
    named = (line.partition("=") for line in lines)
    return {name.rpartition(".")[2]: ast.literal_eval(value) for name, _, value in named}


def environment(settings: dict[str, str]) -> dict[str, str]:
    """The environment of uv: this one, and pip's settings where it says nothing else."""
    handed = {
        variable: ("," if name in COMMAS else " ").join(settings[name].split())
        for name, variable in SETTINGS.items()
        if name in settings
    }
    return handed | dict(os.environ)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
