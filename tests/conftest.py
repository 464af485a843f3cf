"""What holds for all tests."""

from __future__ import annotations

import gc
import os
from pathlib import Path

gc.set_threshold(100_000, 10, 10)  # as the command line: searches for cycles took a tenth of the time of the tests

# Processes that tests start took as long to compile modules as for all the rest, where bytecode may not be kept beside
# the sources.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(__file__).resolve().parents[1] / "build" / "bytecode"))
