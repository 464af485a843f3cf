"""Programs as text: buffers with their places, steps, kernels. It is for people and has no parser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .loops_text import content_summary, print_kernel
from .program import BufferDecl, Interface, Program, StateTensor, Storage
from .steps import Branch, Call, Repeat, Step
from .text import quoted, spell_loc, spell_name, spell_shape, spell_step


def print_program(program: Program) -> str:
    """Buffers with their places, steps in order, then every kernel; constants as summaries."""
    lines = [f"program {spell_name(program.name)} for {program.target}"]
    lines += [_interface("input", item) for item in program.inputs]
    lines += [_interface("output", item) for item in program.outputs]
    lines += [_state(state) for state in program.states]
    for extent in program.extents:
        dims = ", ".join(f"{quoted(name)}:{axis}" for name, axis in extent.dims)
        spelled = f"{extent.least} to {extent.bound}{spell_step(extent.step)}"
        lines.append(f"  extent {quoted(extent.value)} of {dims} in {spelled}")
    lines += [f"  for {program.threads} threads"] if program.threads else []
    lines += [f"  {pool.name} {pool.size} bytes, aligned to {pool.align}" for pool in program.plan.all_pools]
    lines += [_declaration(program, buffer) for buffer in program.buffers.values()]
    lines += _steps(program.body, "  ")
    lines += [f"  tap {quoted(value)} = {buffer}" for value, buffer in program.taps.items()]
    return "\n".join([*lines, "", *(print_kernel(kernel) for kernel in program.kernels)])


def _steps(body: Sequence[Step], indent: str) -> Iterator[str]:
    for step in body:
        match step:
            case Call():
                macs = f"   {step.macs} macs" if step.macs else ""
                given = ", ".join((*step.args, *map(str, step.scalars)))
                yield f"{indent}call {step.kernel}({given}){macs}{spell_loc(step.loc)}"
            case Branch():
                yield f"{indent}if {step.condition}:{spell_loc(step.loc)}"
                yield from _steps(step.then, indent + "  ")
                yield f"{indent}else:"
                yield from _steps(step.orelse, indent + "  ")
            case Repeat():
                times = [str(step.limit)] if step.limit is not None else []
                times += [step.count] if step.count is not None else []
                most = f" {' and '.join(times)}" if times else ""
                number = f" as {step.number}" if step.number is not None else ""
                going = f" while {step.condition}" if step.condition is not None else ""
                yield f"{indent}repeat{most}{number}{going}:{spell_loc(step.loc)}"
                yield from _steps(step.body, indent + "  ")


def _interface(direction: str, item: Interface) -> str:
    return f"  {direction} {item.c_name}: {item.type} in {item.buffer}   {quoted(item.name)}"


def _state(item: StateTensor) -> str:
    how = " by a copy" if item.copied else ""
    names = f"{quoted(item.name)} = {quoted(item.output)}"
    return f"  state {item.c_name}: {item.type} in {item.buffer}, then {item.updated}{how}   {names}"


def _declaration(program: Program, buffer: BufferDecl) -> str:
    place = buffer.storage.value
    if buffer.storage in (Storage.ARENA, Storage.STATE):
        found = program.plan.places.get(buffer.name)
        place = f"{place}+?" if found is None else f"{program.plan.all_pools[found.pool].name}+{found.offset}"
    elif buffer.storage is Storage.CONSTANT and buffer.name in program.constants:
        place = f"const {content_summary(program.constants[buffer.name])}"
    return f"  buffer {buffer.name}: {buffer.dtype.value}{spell_shape(buffer.shape)} {place}   # {buffer.nbytes} bytes"
