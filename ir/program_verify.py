"""Invariants of programs, checked after every step that makes or changes one.

1. Names of kernels, and of buffers of the interface, are unique; every declaration stands under its own name.
2. Every call names a kernel of the program, and every kernel is called.
3. A call has an argument, the name of a buffer, for each parameter, of the parameter's element type and element count
   (or not shorter, where the kernel has scalars), and a value for each scalar.
4. Only buffers of other storage than ``CONSTANT`` are written.
5. The arrays of ``constants`` are the contents of all buffers of that storage.
6. Once there are pools, every buffer of the arena that a step uses has a place, and in no more than one of them; those
   of states are in the pool of states.
7. Inputs, outputs, states and taps name buffers of the program.
8. A Branch or Repeat has a step in a body, and a Repeat something that ends it; limits are not negative. The buffers
   that it looks at have one element: conditions are bool, counts i64, and so are numbers, which are not constant.
9. The buffers of a state are of its storage, and its updated one updates the other, or is that. A buffer that updates
   one is as large, and of its element type.
"""

from __future__ import annotations

from math import prod

from ..errors import CcmlError, ErrorCode
from .loops import Access, Kernel
from .program import Program, Storage
from .steps import Branch, Call, Repeat, Step, bodies_of, buffers_of, walk_steps
from .types import DType


def verify_program(program: Program) -> None:
    """Raises ``IR_INVALID`` that says which invariant does not hold, and where."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    if len(kernels) < len(program.kernels):
        raise _invalid(1, "two kernels have one name")
    for name, decl in program.buffers.items():
        if decl.name != name:
            raise _invalid(1, f"buffer {decl.name} stands under the name {name}")
    sides = [side.buffer for side in (*program.inputs, *program.outputs)]
    if len(set(sides)) < len(sides):
        raise _invalid(1, "two inputs or outputs have one buffer")
    for number, call in enumerate(program.calls):
        _verify_call(program, kernels, call, f"call {number} ({call.kernel})")
    for step in walk_steps(program.body):
        _verify_control(program, step)
    unused = kernels.keys() - {call.kernel for call in program.calls}
    if unused:
        raise _invalid(2, f"{min(unused)} is not called")
    stored = {name for name, decl in program.buffers.items() if decl.storage is Storage.CONSTANT}
    if stored != program.constants.keys():
        raise _invalid(5, f"constant {min(stored ^ program.constants.keys())} has no array, or no buffer")
    kept = [name for state in program.states for name in (state.buffer, state.updated)]
    for name in (*sides, *kept, *program.taps.values()):
        if name not in program.buffers:
            raise _invalid(7, f"there is no buffer {name}")
    _verify_states(program)
    _verify_places(program)


def _verify_states(program: Program) -> None:
    for state in program.states:
        old, new = program.buffers[state.buffer], program.buffers[state.updated]
        if old.storage is not Storage.STATE or new.storage is not Storage.STATE:
            raise _invalid(9, f"the state {state.name} is {old.storage.value}")
        if new is not old and new.updates != old.name:
            raise _invalid(9, f"{new.name} does not update {old.name}")
    for decl in program.buffers.values():
        if decl.updates is not None:
            old = program.buffers.get(decl.updates, decl)
            if old is decl or (old.dtype, old.nbytes, old.storage) != (decl.dtype, decl.nbytes, decl.storage):
                raise _invalid(9, f"{decl.name} cannot update {decl.updates}")


def _verify_call(program: Program, kernels: dict[str, Kernel], call: Call, where: str) -> None:
    kernel = kernels.get(call.kernel)
    if kernel is None:
        raise _invalid(2, f"{where}: there is no such kernel")
    if len(call.args) != len(kernel.params) or len(call.scalars) != len(kernel.scalars):
        raise _invalid(3, f"{where}: {len(call.args)} arguments and {len(call.scalars)} scalars do not fit")
    for param, name in zip(kernel.params, call.args, strict=True):
        decl = program.buffers.get(name)
        if decl is None:
            raise _invalid(3, f"{where}: there is no buffer {name}")
        wanted, given = prod(param.shape), prod(decl.shape)
        fits = given >= wanted if kernel.scalars else given == wanted
        if decl.dtype is not param.dtype or not fits:
            types = f"{decl.dtype.value}{list(decl.shape)}, not {param.type}{list(param.shape)}"
            raise _invalid(3, f"{where}: {name} is {types} as {param.name} is")
        if param.access is not Access.READ and decl.storage is Storage.CONSTANT:
            raise _invalid(4, f"{where}: the constant {name} is written")


def _verify_control(program: Program, step: Step) -> None:
    if isinstance(step, Call):
        return
    if not any(bodies_of(step)):
        raise _invalid(8, f"{step.loc}: it holds no step")
    match step:
        case Branch():
            _verify_element(program, step.condition, DType.BOOL, step.loc)
        case Repeat():
            if step.limit is None and step.count is None and step.condition is None:
                raise _invalid(8, f"{step.loc}: nothing ends it")
            if step.limit is not None and step.limit < 0:
                raise _invalid(8, f"{step.loc}: {step.limit} passes")
            for name, dtype in ((step.count, DType.I64), (step.condition, DType.BOOL), (step.number, DType.I64)):
                if name is not None:
                    _verify_element(program, name, dtype, step.loc)
            if step.number is not None and program.buffers[step.number].storage is Storage.CONSTANT:
                raise _invalid(8, f"{step.loc}: the constant {step.number} is written")


def _verify_element(program: Program, name: str, dtype: DType, where: str) -> None:
    decl = program.buffers.get(name)
    if decl is None or decl.dtype is not dtype or prod(decl.shape) != 1:
        raise _invalid(8, f"{where}: {name} is not one {dtype.value}")


def _verify_places(program: Program) -> None:
    placed = [name for pool in program.plan.all_pools for name in pool.offsets]
    if len(set(placed)) < len(placed):
        raise _invalid(6, "a buffer has places in two pools")
    for name in buffers_of(program.body) if program.plan.pools else ():
        storage = program.buffers[name].storage
        if storage in (Storage.ARENA, Storage.STATE) and name not in program.plan.places:
            raise _invalid(6, f"{name} has no place")
        if storage is Storage.STATE and program.plan.places[name].pool != len(program.plan.pools):
            raise _invalid(6, f"{name} is not in the pool of states")


def _invalid(number: int, reason: str) -> CcmlError:
    return CcmlError(ErrorCode.IR_INVALID, f"invariant {number} of programs: {reason}")
