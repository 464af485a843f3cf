"""An independent check of a memory plan: it knows nothing of how the plan was made."""

from __future__ import annotations

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.loops import Access
from ..ir.program import Program, Storage


def check_plan(program: Program) -> None:
    """Simulates the calls, remembering which tensor owns each byte of the arena.

    Raises ``IR_INVALID`` where a tensor leaves the arena, is misaligned, or where a kernel reads bytes that are not
    (or no longer) those of the tensor it asks for.
    """
    plan = program.plan
    owner = np.full(plan.size, -1)
    number = {name: n for n, name in enumerate(plan.offsets)}
    for name, offset in plan.offsets.items():
        nbytes = program.buffers[name].nbytes
        if offset % plan.align or offset < 0 or offset + nbytes > plan.size:
            raise CcmlError(ErrorCode.IR_INVALID, f"{name} lies at {offset}..{offset + nbytes} of {plan.size}")
    kernels = {kernel.name: kernel for kernel in program.kernels}
    for step, call in enumerate(program.calls):
        params = kernels[call.kernel].params
        arena = [(p, a) for p, a in zip(params, call.args, strict=True) if _in_arena(program, a)]
        for param, name in arena:
            if param.access is not Access.WRITE:
                _expect(owner, number, program, name, f"call {step} ({call.loc})")
        _check_disjoint([name for _, name in arena], program, f"call {step} ({call.loc})")
        for param, name in arena:
            if param.access is not Access.READ:
                first = plan.offsets[name]
                owner[first : first + program.buffers[name].nbytes] = number[name]


def _in_arena(program: Program, name: str) -> bool:
    return program.buffers[name].storage is Storage.ARENA


def _expect(owner: np.ndarray, number: dict[str, int], program: Program, name: str, where: str) -> None:
    first = program.plan.offsets[name]
    strange = np.flatnonzero(owner[first : first + program.buffers[name].nbytes] != number[name])
    if strange.size:
        byte = first + int(strange[0])
        other = next((n for n, i in number.items() if i == owner[byte]), "nobody")
        raise CcmlError(ErrorCode.IR_INVALID, f"{where} reads {name}, but byte {byte} belongs to {other}")


def _check_disjoint(names: list[str], program: Program, where: str) -> None:
    spans = {name: (program.plan.offsets[name], program.buffers[name].nbytes) for name in names}
    for a, (start, size) in spans.items():
        for b, (other, extent) in spans.items():
            if a < b and start < other + extent and other < start + size:
                raise CcmlError(ErrorCode.IR_INVALID, f"{where}: {a} and {b} overlap")
