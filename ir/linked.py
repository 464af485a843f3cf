"""Programs that share kernels and constants: the program of all of them, taken apart into those of the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .program import Program, Storage
from .steps import Body, Branch, Call, Repeat, Step

OF_MODEL = "{number}.{buffer}"
"""What the buffers of a model are called among those of others."""


def taken_apart(whole: Program, programs: Sequence[Program]) -> tuple[Program, ...]:
    """The programs with the kernels, the constants and the steps of ``whole``, which their own became."""
    found, first = [], 0
    kernels = {kernel.name: kernel for kernel in whole.kernels}
    for number, program in enumerate(programs):
        behind = first + len(program.body)
        begins = OF_MODEL.format(number=number, buffer="")
        own = {begins + name: name for name in program.buffers}
        body = renamed_buffers(whole.body[first:behind], own)
        model = replace(program, body=body, small_code=whole.small_code, library=whole.name)
        constants = {name: array for name, array in whole.constants.items() if _calls_with(model, name)}
        buffers = {name: decl for name, decl in program.buffers.items() if decl.storage is not Storage.CONSTANT}
        buffers |= {name: whole.buffers[name] for name in constants}
        used = dict.fromkeys(call.kernel for call in model.calls)
        found.append(
            replace(
                model, buffers=buffers, constants=constants, kernels=tuple(kernels[kernel] for kernel in used),
                blocks=whole.blocks, taps={},
            )
        )  # fmt: skip
        first = behind
    return tuple(found)


def _calls_with(program: Program, buffer: str) -> bool:
    return any(buffer in call.args for call in program.calls)


def renamed_buffers(body: Sequence[Step], names: Mapping[str, str]) -> Body:
    """``body`` with other names of buffers."""

    def new(name: str | None) -> str | None:
        return None if name is None else names.get(name, name)

    found: list[Step] = []
    for step in body:
        match step:
            case Call():
                found.append(replace(step, args=tuple(names.get(name, name) for name in step.args)))
            case Branch():
                then, orelse = renamed_buffers(step.then, names), renamed_buffers(step.orelse, names)
                found.append(Branch(names.get(step.condition, step.condition), then, orelse, step.loc))
            case Repeat():
                inner = renamed_buffers(step.body, names)
                found.append(
                    replace(
                        step, body=inner, count=new(step.count), condition=new(step.condition), number=new(step.number)
                    )
                )
    return tuple(found)
