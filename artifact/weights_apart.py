"""Programs whose constants are in a file beside the artifact."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..emit_c.contract import weights_file_name
from ..ir.external_weights import weights_file, with_external_weights
from ..ir.program import Program
from ..targets import Machine


def with_weights_apart(programs: Sequence[Program], machine: Machine) -> list[Program]:
    """Programs of one library, for ``machine`` and others of its ABI, with the layout of the one file that holds the
    constants of all. Where RAM is plentiful, so is alignment: large constants begin where the arena may."""
    target = machine.target
    return with_external_weights(programs, 1 if target.scarce_ram else target.arena_align)


def write_weights(name: str, programs: Sequence[Program], folder: Path) -> None:
    """Writes ``NAME.weights``, where ``programs`` have their constants in a file of their own."""
    if programs[0].weights is not None:
        (folder / weights_file_name(name)).write_bytes(weights_file(programs))
