"""Layers in several calls, for runs whose steps have to be short.

What a kernel does is a list of statements, and a loop a list of passages; consecutive parts of it are kernels of their
own, called one behind the other. Every access is made that was made before, in the same order, so that neither the bits
nor the plan of memory change. The parts of a loop are one kernel, whose scalar is the number
of the part::

    kernel conv(x, y)                           kernel conv_part(x, y, part: index)      called with 0, 1
      for i:25                                    for i:10
        (row i)                                     (row part*10 + i)
                                                kernel conv_rest(x, y)
                                                  for i:5
                                                    (row i + 20)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..ir.loops import INDEX, Alloc, Block, Const, Expr, For, Kernel, Let, Var, const_value
from ..ir.loops_rewrite import loop, substitute, used_buffers
from ..ir.program import Program
from ..ir.program_verify import verify_program
from ..ir.steps import Call, map_calls, walk_calls
from ..record import record


@record
class _Part:
    """A kernel, how often it is called, with numbers from 0 on if ``numbered``, and its share of the whole."""

    kernel: Kernel
    kept: tuple[int, ...]
    count: int
    numbered: bool
    share: float


def split_calls(program: Program, counts: Mapping[int, int]) -> Program:
    """``program`` with each call of ``counts``, by its number, in that many parts at least, where its kernel can be
    taken apart."""
    maker = _Maker(program)

    def parts(number: int, call: Call) -> list[Call]:
        found = maker.parts(call.kernel, counts[number]) if number in counts else []
        return _calls(call, found) or [call]

    body = map_calls(program.body, parts)
    called = {call.kernel for call in walk_calls(body)}
    kernels = tuple(kernel for kernel in (*program.kernels, *maker.made) if kernel.name in called)
    found = replace(program, body=body, kernels=kernels)
    verify_program(found)
    return found


def can_be_split(kernel: Kernel) -> bool:
    """Whether :func:`split_calls` can take calls of ``kernel`` apart."""
    if kernel.foreign is not None or kernel.fetches or kernel.chunked:
        return False
    if any(isinstance(stmt, (Alloc, Let)) for stmt in kernel.body):
        return False
    return len(kernel.body) > 1 or (len(kernel.body) == 1 and _extent(kernel.body) > 1)


def _extent(body: Block) -> int:
    """The passages of the only statement."""
    (stmt,) = body
    return int(const_value(stmt.extent) or 0) if isinstance(stmt, For) else 0


def _calls(call: Call, parts: list[_Part]) -> list[Call]:
    """The calls of ``parts`` instead of ``call``, whose multiplications they share."""
    found: list[Call] = []
    left = call.macs
    for part in parts:
        args = tuple(call.args[place] for place in part.kept)
        for number in range(part.count):
            scalars = (*call.scalars, number) if part.numbered else call.scalars
            macs = min(left, round(call.macs * part.share))
            left -= macs
            found.append(replace(call, kernel=part.kernel.name, args=args, scalars=scalars, macs=macs))
    return [*found[:-1], replace(found[-1], macs=found[-1].macs + left)] if found else []


class _Maker:
    """Makes the parts of kernels, each once."""

    def __init__(self, program: Program) -> None:
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.names = {*self.kernels, *(block.name for block in program.blocks)}
        self.made: list[Kernel] = []
        self._known: dict[tuple[str, int], list[_Part]] = {}

    def parts(self, name: str, count: int) -> list[_Part]:
        """The parts of a kernel, in order; none where it cannot be taken apart."""
        kernel = self.kernels[name]
        if not can_be_split(kernel):
            return []
        if len(kernel.body) > 1:
            count = 0
        if (name, count) not in self._known:
            self._known[name, count] = self._of_loop(kernel, count) if count else self._of_list(kernel)
        return self._known[name, count]

    def _of_list(self, kernel: Kernel) -> list[_Part]:
        share = 1 / len(kernel.body)
        return [self._part(kernel, (stmt,), "part", share=share) for stmt in kernel.body]

    def _of_loop(self, kernel: Kernel, count: int) -> list[_Part]:
        (stmt,) = kernel.body
        assert isinstance(stmt, For)
        extent = _extent(kernel.body)
        size = max(1, extent // count)
        whole, rest = divmod(extent, size)
        part = Var(f"{stmt.var.name}_part")
        inner = Var(f"{stmt.var.name}_inner")
        index: Expr = part if size == 1 else part * size + inner
        body = loop(inner, size, *substitute(stmt.body, {stmt.var: index}))
        found = [self._part(kernel, body, "part", part, whole, size / extent)]
        if rest:
            body = loop(inner, rest, *substitute(stmt.body, {stmt.var: inner + Const(whole * size, INDEX)}))
            found.append(self._part(kernel, body, "rest", share=rest / extent))
        return found

    def _part(
        self, kernel: Kernel, body: Block, stem: str, number: Var | None = None, count: int = 1, share: float = 1.0
    ) -> _Part:
        used = {buffer.name for buffer in used_buffers(body)}
        kept = tuple(place for place, param in enumerate(kernel.params) if param.name in used)
        scalars = kernel.scalars if number is None else (*kernel.scalars, number)
        made = replace(
            kernel, name=self._name(f"{kernel.name}_{stem}"), params=tuple(kernel.params[place] for place in kept),
            body=body, scalars=scalars,
        )  # fmt: skip
        self.made.append(made)
        return _Part(made, kept, count, number is not None, share)

    def _name(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self.names:
            number += 1
            name = f"{wanted}{number}"
        self.names.add(name)
        return name
