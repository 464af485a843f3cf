"""Class files from sources."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ...emulation.toolchain import build

log = logging.getLogger(__name__)

JAVAC = "javac"
_LEVEL = "8"
"""The version of Java that every Android and every desktop still understands."""


def has_compiler() -> bool:
    """Whether there is a compiler for Java."""
    return shutil.which(JAVAC) is not None


def compile_classes(sources: Mapping[str, str], left_out: str) -> dict[str, bytes]:
    """The class files of ``sources``, by path, but for those of the source ``left_out``. Raises ``TOOLCHAIN`` where
    there is no compiler, or it fails."""
    with tempfile.TemporaryDirectory(prefix="ccml-") as name:
        folder = Path(name)
        for path, text in sources.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8", newline="\n")
        log.info("compiling the Java class")
        options = ["--release", _LEVEL, "-Xlint:-options", "-g:source,lines", "-encoding", "UTF-8", "-proc:none"]
        build([JAVAC, *options, "-d", "classes", *sources], folder)
        classes = folder / "classes"
        found = {path.relative_to(classes).as_posix(): path.read_bytes() for path in classes.rglob("*.class")}
    return {path: image for path, image in sorted(found.items()) if path != left_out.replace(".java", ".class")}
