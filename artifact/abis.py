"""What a package for every ABI needs of each."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..bindings.languages import CPP
from ..bindings.write import write_bindings
from ..emit_c.contract import weights_file_name
from ..packages.aar import AbiBuild
from .build import Plan
from .emit import Emit, emit


def build_for_abi(plan: Plan) -> AbiBuild:
    """The headers for C and C++ and the static library of ``plan``. Raises ``TOOLCHAIN`` where nothing links libraries
    for its machine."""
    name = plan.program.name
    with tempfile.TemporaryDirectory(prefix="ccml-") as scratch:
        folder = Path(scratch)
        emit(plan.program, plan.machine, [Emit.LIBRARY], folder, plan.levels)
        write_bindings(plan.program, plan.machine, [CPP], folder)
        headers = {file: (folder / file).read_bytes() for file in (f"{name}.h", f"{name}.hpp")}
        weights = None if plan.program.weights is None else (folder / weights_file_name(name)).read_bytes()
        library = folder / plan.machine.abi.objects.library.format(name=name)
        return AbiBuild(plan.program, plan.linked, headers, library.read_bytes(), weights)
