"""Compilations that are only tried: without messages, into a folder that is gone when they are judged."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..driver import Compiled
from ..report.schema import Report
from .build import make_plan, write_artifacts
from .emit import Emit
from .options import ArtifactOptions


def trial_report(compiled: Compiled, kinds: Sequence[Emit], *, every_cpu: bool, options: ArtifactOptions) -> Report:
    """What the artifact is reported to take. Parameters are those of :func:`make_plan`."""
    plan = make_plan(compiled, kinds, every_cpu=every_cpu, options=options)
    with tempfile.TemporaryDirectory(prefix="ccml-") as folder:
        (artifact,) = write_artifacts([plan], kinds, Path(folder) / "out", subfolders=False)
    return artifact.report


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings and notes: they are of what is only tried."""
    logger = logging.getLogger("ccml")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
