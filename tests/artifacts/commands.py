"""Runs compilers and other tools; a failure shows what they said."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WARNINGS = (
    "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wdouble-promotion", "-Werror",
)  # fmt: skip


def run(*command: str | Path, quiet: bool = True, **environment: str) -> str:
    """What the command prints. With ``quiet``, any word on stderr (a warning) is an error as well."""
    argv = [str(part) for part in command]
    done = subprocess.run(argv, capture_output=True, text=True, env=os.environ | environment, check=False)
    assert done.returncode == 0 and not (quiet and done.stderr), f"{' '.join(argv)}\n{done.stderr}"
    return done.stdout


def make(folder: Path, *arguments: str) -> str:
    """Runs the Makefile of an artifact. ``MAKEFLAGS`` of a ``make test`` around this are not for it."""
    return run("make", "-C", folder, *arguments, MAKEFLAGS="")
