"""Commands of build tools, with those of the test environment in front."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_BIN = Path(sys.executable).parent


def run(*command: object, cwd: Path, **environment: str) -> str:
    """What a command prints; an error shows it."""
    paths = {"PATH": f"{_BIN}:{os.environ['PATH']}", "MAKEFLAGS": ""}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False, timeout=120,
        env=os.environ | paths | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
