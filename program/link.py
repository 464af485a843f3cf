"""Several programs as one library: kernels and constants that are equal are there once, and layers of different models
share kernels as those of one model do.

The programs are brought together as one, whose body is theirs one behind the other; the steps that look at all calls
(``sharing``) work on that, and what they made is taken apart again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..ir.aliasing import disjoint_params
from ..ir.by_content import ByContent
from ..ir.linked import OF_MODEL, renamed_buffers, taken_apart
from ..ir.loops import Kernel
from ..ir.loops_text import print_kernel
from ..ir.program import BufferDecl, MemoryPlan, Pool, Program, Storage
from ..ir.program_verify import verify_program
from ..ir.steps import Step, map_calls
from ..memory.check import check_plan
from ..record import record
from ..targets.target import Machine
from .build import share
from .goal import Goal


@record
class Linked:
    """``whole`` has all kernels and constants, under the name of the library, and the steps of all ``models``. These
    have interfaces and plans of their own, and refer to the kernels and constants of ``whole``."""

    whole: Program
    models: tuple[Program, ...]


def link_programs(name: str, programs: Sequence[Program], machine: Machine, goal: Goal) -> Linked:
    """The library ``name`` of programs that ``lower_graph(..., shared=False)`` made for one machine."""
    whole = share(_together(name, programs), machine, goal)
    models = taken_apart(whole, programs)
    for model in models:
        verify_program(model)
        check_plan(model)
    return Linked(whole, models)


def _together(name: str, programs: Sequence[Program]) -> Program:
    kernels = _Kernels()
    constants = _Constants(name for program in programs for name in program.buffers)
    buffers: dict[str, BufferDecl] = {}
    body: list[Step] = []
    for number, program in enumerate(programs):
        own = {
            buffer: constants.name_of(program, buffer)
            if decl.storage is Storage.CONSTANT
            else OF_MODEL.format(number=number, buffer=buffer)
            for buffer, decl in program.buffers.items()
        }
        buffers |= {own[buffer]: replace(decl, name=own[buffer]) for buffer, decl in program.buffers.items()}
        called = kernels.names_of(program)
        renamed = map_calls(program.body, lambda _, call: [replace(call, kernel=called[call.kernel])])  # noqa: B023
        body += renamed_buffers(renamed, own)
    blocks = {(block.name): block for program in programs for block in program.blocks}
    return replace(
        programs[0], name=name, inputs=(), outputs=(), buffers=buffers, constants=constants.arrays,
        kernels=tuple(kernels.found), body=tuple(body), plan=common_plan(programs), blocks=tuple(blocks.values()),
        taps={}, extents=(), states=(), small_code=any(program.small_code for program in programs),
    )  # fmt: skip


def common_plan(programs: Sequence[Program]) -> MemoryPlan:
    """Pools that are as large as the largest of that number, with all buffers; states have a pool each."""
    pools: list[Pool] = []
    state: dict[str, int] = {}
    most = max(len(program.plan.pools) for program in programs)
    for place in range(most):
        own = [(number, p.plan.pools[place]) for number, p in enumerate(programs) if place < len(p.plan.pools)]
        pools.append(
            Pool(
                name=own[0][1].name,
                offsets={
                    OF_MODEL.format(number=number, buffer=buffer): offset
                    for number, pool in own
                    for buffer, offset in pool.offsets.items()
                },
                size=max(pool.size for _, pool in own),
                align=max(pool.align for _, pool in own),
                whole=max(pool.ram for _, pool in own),
            )
        )
    for number, program in enumerate(programs):
        if program.plan.state is not None:
            offsets = program.plan.state.offsets
            state |= {OF_MODEL.format(number=number, buffer=buffer): offset for buffer, offset in offsets.items()}
    return MemoryPlan(tuple(pools), Pool("state", state, 0, 1) if state else None)


class _Kernels:
    """Kernels of several programs: those of equal text, which tells 0.0 from -0.0, and which may be told the same of
    overlaps, are one. What fetches rows is a program's own: in C, it takes a structure of that program's header."""

    def __init__(self) -> None:
        self.found: list[Kernel] = []
        self._known: dict[tuple[str, str, frozenset[str]], str] = {}
        self._names: set[str] = set()

    def names_of(self, program: Program) -> dict[str, str]:
        disjoint = disjoint_params(program)
        return {kernel.name: self._name_of(kernel, disjoint[kernel.name], program.name) for kernel in program.kernels}

    def _name_of(self, kernel: Kernel, disjoint: frozenset[str], program: str) -> str:
        key = program if kernel.fetches else "", print_kernel(replace(kernel, name="", loc="")), disjoint
        if key not in self._known:
            name, count = kernel.name, 1
            while name in self._names:
                count += 1
                name = f"{kernel.name}_{count}"
            self._names.add(name)
            self._known[key] = name
            self.found.append(replace(kernel, name=name))
        return self._known[key]


class _Constants:
    """Constants of several programs: equal ones are one."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._taken = set(taken)
        self._known: ByContent[str] = ByContent()
        self._count = 0

    def name_of(self, program: Program, buffer: str) -> str:
        array = program.constants[buffer]
        name = self._known.get(array)
        while name is None:
            candidate = f"w{self._count}"
            self._count += 1
            if candidate not in self._taken:
                name = candidate
                self._known.set(array, name)
                self.arrays[name] = array
        return name
