"""Runs artifacts where they are made for: on emulated Cortex-M boards (QEMU), under QEMU's user mode, or right here.

>>> build_and_run(program, select("cortex-m4"), [Path("out/libkws.a")], samples, include=Path("out"))
[{"scores": array(...)}, ...]

A driver in C (the folder ``c``) reads samples from a file, runs the model on each and writes the outputs to a file; on
bare metal through semihosting. It is built for the machine together with the artifact's files.
"""

from .run import Build, build_and_run

__all__ = ["Build", "build_and_run"]
