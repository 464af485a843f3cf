"""The object with the run-time helpers that a model's code calls, where the artifact has to bring them."""

from __future__ import annotations

from collections.abc import Iterable

from ..targets import Machine
from . import backend
from .expressions import ROOT_HELPERS, SCALE_HELPER
from .placement import shared_comdat
from .runtime_ir import HELPER_GROUPS, Helper, square_roots
from .scale_runtime import scale_helper


def helper_object(needed: Iterable[str], machine: Machine) -> bytes | None:
    """An object that defines those of ``needed`` that ccml has for ``machine``, weak and hidden; ``None`` for none."""
    table, convention = _helpers(machine)
    pending, chosen = sorted(set(needed) & table.keys(), reverse=True), {}
    while pending:
        name = pending.pop()
        if name not in chosen:
            chosen[name] = table[name]
            pending.extend(table[name].calls)
    if not chosen:
        return None
    parts = [f'target triple = "{backend.triple(machine)}"', "declare double @llvm.fabs.f64(double)"]
    # Square roots are called by name from the kernels, with their convention; the others by what LLVM makes of them.
    own = ROOT_HELPERS.values()
    for name in sorted(chosen):
        group, words = shared_comdat(machine, name)
        parts.append(group + chosen[name].text("" if name in own else convention, words))
    generator = backend.target_machine(machine, reloc=backend.relocation(machine))
    return generator.emit_object(backend.optimize("\n".join(parts), generator))


def _helpers(machine: Machine) -> tuple[dict[str, Helper], str]:
    """The table for a machine and the calling convention of its helpers."""
    table = {SCALE_HELPER: scale_helper(machine), **dict(zip(ROOT_HELPERS.values(), square_roots()))}
    for group in machine.abi.helpers.groups:
        table |= HELPER_GROUPS[group]
    for name, code in machine.abi.helpers.code.items():
        table[name] = Helper(f"void @{name}()", "  unreachable\n", code=bytes.fromhex(code))
    return table, machine.abi.helpers.convention
