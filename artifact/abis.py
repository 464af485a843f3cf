"""What a package for every ABI needs of each."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..bindings.languages import CPP
from ..bindings.write import write_bindings
from ..emit_c.contract import weights_file_name
from ..packages.every_abi import AbiBuild
from .build import Plan
from .emit import Emit, emit


def build_for_abi(plan: Plan, written: Path | None = None) -> AbiBuild:
    """The headers for C and C++ and the static library of ``plan``, taken from the folder where they are ``written``
    already. Raises ``TOOLCHAIN`` where nothing links libraries for its machine."""
    name = plan.program.name
    with tempfile.TemporaryDirectory(prefix="ccml-") as scratch:
        folder = written or Path(scratch)
        if written is None:
            emit(plan.program, plan.machine, [Emit.LIBRARY], folder, plan.levels)
        write_bindings(plan.program, plan.machine, [CPP], Path(scratch))
        headers = {f"{name}.h": (folder / f"{name}.h").read_bytes()}
        headers[f"{name}.hpp"] = (Path(scratch) / f"{name}.hpp").read_bytes()
        weights = None if plan.program.weights is None else (folder / weights_file_name(name)).read_bytes()
        library = folder / plan.machine.abi.objects.library.format(name=name)
        return AbiBuild(plan.program, plan.linked, headers, library.read_bytes(), weights)
