"""Row streaming: consecutive kernels become one, which runs them row by row through buffers of a few rows.

Before::                                  After::

    for o: t[o] = first(x, o)               for step:
    for o: y[o] = second(t, o)                if a row of the first is due:
                                                ring[row mod 4] = first(x, row)
                                              if a row of the second is due:
                                                y[row] = second(ring, row)   (its rows modulo 4)

What is read again later, such as the operand of a residual sum, needs no copy of its own: it stays where it is, and
rows of the result may overwrite it once they have been read.

For threads a stream is cut into chunks of rows (:mod:`.chunks`), each with buffers of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import gcd, lcm, prod

import numpy as np

from ...blocks import BLOCKS
from ...ir.build import all_of, ge, lt
from ...ir.chunks import chunk_loops, with_own_memory
from ...ir.independence import are_independent
from ...ir.loops import (
    Access,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    Fetch,
    For,
    If,
    Invoke,
    Kernel,
    Let,
    Load,
    LoopKind,
    Pointer,
    Prefetch,
    Stmt,
    Store,
    Var,
)
from ...ir.loops_rewrite import loop, map_block, substitute
from ...ir.program import BufferDecl, Storage
from ...ir.steps import Call
from ...record import record
from ...schedule.names import Names, rename_bound
from ...schedule.params import bind_parameters
from ..validity import is_valid
from .chunks import Chunks, chunked
from .steps import Pace, Stage, paces, stage_of, window


@record
class Stream:
    """One kernel for several calls. ``rings`` are the buffers of rows that replace intermediate tensors; in ``chunks``,
    these and working memory are as many times as large.

    ``unfolded`` is the kernel with each stage as a loop over all its rows in every step. It touches all that the kernel
    does, and is easier to verify.
    """

    kernel: Kernel
    call: Call
    rings: Mapping[str, BufferDecl]
    unfolded: Kernel
    chunks: int = 1

    @property
    def sound(self) -> bool:
        """Whether every access is in range, and chunks do not meet in memory."""
        if self.chunks > 1 and not are_independent(chunk_loops(self.kernel), BLOCKS):
            return False
        return is_valid(self.unfolded)


def stream(
    calls: Sequence[Call],
    kernels: Mapping[str, Kernel],
    buffers: Mapping[str, BufferDecl],
    kept: Collection[str],
    chunks: Sequence[int] = (),
) -> Stream | None:
    """The kernel that runs ``calls`` row by row. Tensors that are ``kept`` are used by other calls, too.

    It has the first possible number of ``chunks``, if any are wanted. ``None`` where it can have none of these, where a
    kernel is no loop over rows, or where no intermediate tensor would get smaller.
    """
    scratch = _scratch(calls, buffers, kept)
    stages = []
    for call in calls:
        stage = stage_of(kernels[call.kernel], call, [name for name in call.args if name in scratch])
        if stage is None:
            return None
        stages.append(stage)
    written = [name for stage in stages for name in stage.writes]
    if len(set(written)) < len(written) or _read_before_written(stages):
        return None
    found = paces(stages)
    rings = {}
    for name in written:
        if name not in kept and buffers[name].storage is Storage.ARENA and any(name in s.reads for s in stages):
            size = _ring_bytes(stages, found, name, buffers[name].nbytes)
            if size is not None:
                rings[name] = size
    if not rings:
        return None
    split = next((split for count in chunks if (split := chunked(stages, found, rings, count))), None)
    if chunks and split is None:
        return None
    return _Merged(stages, found, rings, scratch, buffers, split).stream()


def _scratch(calls: Sequence[Call], buffers: Mapping[str, BufferDecl], kept: Collection[str]) -> set[str]:
    """Tensors of the arena that one call alone uses."""
    users = Counter(name for call in calls for name in set(call.args))
    return {n for n, count in users.items() if count == 1 and n not in kept and buffers[n].storage is Storage.ARENA}


def _read_before_written(stages: Sequence[Stage]) -> bool:
    """Whether a tensor is read by a stage that does not come behind the one that writes it."""
    return any(
        name in stage.reads and name in later.writes
        for number, stage in enumerate(stages)
        for later in stages[number:]
        for name in later.writes
    )


def _ring_bytes(stages: Sequence[Stage], found: Sequence[Pace], tensor: str, nbytes: int) -> int | None:
    """The size of the buffer of rows; ``None`` where it were no smaller than the tensor, as that of a scalar is.

    It is a multiple of what a step of the leading dimension of every view takes, and no access goes across its end.
    """
    views = _views(stages, tensor)
    if not all(view.shape for view in views):
        return None
    unit = lcm(*(view.strides[_leading(view)] * view.dtype.size for view in views))
    if nbytes % unit:
        return None
    touched = [part for stage in stages for part in (stage.reads.get(tensor), stage.writes.get(tensor)) if part]
    pieces = [piece for part in touched for piece in part.pieces]
    least = -(-window(stages, found, tensor) // unit) * unit

    def holds_all(size: int) -> bool:
        return all(np.array_equal(begin // size, (end - 1) // size) for begin, end in pieces)

    return next((size for size in range(least, nbytes, unit) if holds_all(size)), None)


def _views(stages: Sequence[Stage], tensor: str) -> list[Buffer]:
    return [
        param
        for stage in stages
        for param, name in zip(stage.kernel.params, stage.call.args, strict=True)
        if name == tensor
    ]


def _leading(view: Buffer) -> int:
    """The first dimension that there is more than one of."""
    return next((dim for dim, extent in enumerate(view.shape) if extent > 1), len(view.shape) - 1)


class _Merged:
    """Builds the kernel of a stream."""

    def __init__(
        self,
        stages: Sequence[Stage],
        found: Sequence[Pace],
        rings: Mapping[str, int],
        scratch: Collection[str],
        buffers: Mapping[str, BufferDecl],
        split: Chunks | None,
    ) -> None:
        self.stages, self.paces, self.rings, self.scratch, self.buffers = stages, found, rings, scratch, buffers
        self.split = split
        self.names = Names()
        self.memory: dict[str, str] = {}
        self.chunk = Var(self.names.fresh("chunk"))

    def stream(self) -> Stream:
        t = Var(self.names.fresh("step"))
        before: list[Stmt] = []
        body: list[Stmt] = []
        rows: list[Stmt] = []
        for number, stage in enumerate(self.stages):
            own = self._own(stage)
            if not stage.first_row:
                before += own[: stage.loop]
            rows += own[0 if stage.first_row else stage.loop :]
            body += self._row(number, own, t)
        made = {*self.scratch, *(name for stage in self.stages for name in stage.writes)}
        private = [own for name, own in self.memory.items() if name in made]
        block, params, sources = bind_parameters(self._in_steps(t, before, body), private)
        unfolded, same, _ = bind_parameters(self._in_steps(t, before, rows), private)
        names = {own: name for name, own in self.memory.items()}
        loc = ", ".join(dict.fromkeys(stage.call.loc for stage in self.stages))
        macs = sum(stage.call.macs for stage in self.stages)
        generators = ", ".join(dict.fromkeys(stage.call.generator for stage in self.stages))
        summary = "; then ".join(stage.call.summary for stage in self.stages)
        call = Call("", tuple(names[source] for source in sources), loc, macs, generator=generators, summary=summary)
        rings = {name: self._ring(name, size) for name, size in self.rings.items()}
        if self.split is None:
            return Stream(Kernel("stream", params, block), call, rings, Kernel("stream", same, unfolded))
        rings |= {name: self._ring(name, self.buffers[name].nbytes) for name in self.scratch}
        kernel = Kernel("stream", params, block, chunked=1)
        return Stream(kernel, call, rings, Kernel("stream", same, unfolded), self.split.count)

    def _in_steps(self, t: Var, before: Sequence[Stmt], body: Sequence[Stmt]) -> Block:
        """``body`` in all steps; in chunks, in the steps of each."""
        if self.split is None:
            return (*before, *loop(t, self._steps, *body))
        step = Var(self.names.fresh("step"))
        inner = loop(step, self.split.steps, Let(t, self.split.begin.expr(self.chunk) + step), *body)
        return loop(self.chunk, self.split.count, *before, *inner, kind=LoopKind.PARALLEL)

    @cached_property
    def _steps(self) -> int:
        return 1 + max(pace.last_step for pace in self.paces)

    def _ring(self, name: str, nbytes: int) -> BufferDecl:
        decl, copies = self.buffers[name], 1 if self.split is None else self.split.count
        return BufferDecl(name, decl.dtype, (copies * (nbytes // decl.dtype.size),), Storage.ARENA)

    def _row(self, number: int, own: Block, t: Var) -> Block:
        """One row of a stage, if one is due in step ``t``."""
        pace, row = self.paces[number], Var(self.names.fresh("row"))
        p, q, lag = pace.numerator, pace.denominator, pace.lag
        tests: list[Expr] = []
        if self.split is not None:
            first, end = self.split.first[number], self.split.end[number]
            tests += [ge(row, first.expr(self.chunk)), lt(row, end.expr(self.chunk))]
        if lag or self.split is not None:
            tests.append(ge(row, 0))
        if pace.last_step + 1 < self._steps or self.split is not None:
            tests.append(lt(row, pace.rows))
        if q > 1:
            tests.append(lt(row, (t * p + (p - lag)) // q))
        body = _numbered_row(self.stages[number], own, row)
        if (cond := all_of(tests)) is not None:
            body = (If(cond, body),)
        return (Let(row, (t * p - lag) // q), *body)

    def _own(self, stage: Stage) -> Block:
        """The kernel's body with names of its own, and with rings in place of the intermediate tensors."""
        bound = {}
        for param, tensor in zip(stage.kernel.params, stage.call.args, strict=True):
            own = self.memory.get(tensor) or self.names.fresh(param.name.split("_")[0])
            self.memory[tensor] = own
            shape = param.shape
            if tensor in self.rings:
                dim = _leading(param)
                step = prod(shape[dim + 1 :]) * param.dtype.size
                shape = (*shape[:dim], self.rings[tensor] // step, *shape[dim + 1 :])
            bound[param] = replace(param, name=own, access=Access.READ_WRITE, shape=shape)
        return self._of_chunk(rename_bound(_rebound(stage.kernel.body, bound), self.names))

    def _of_chunk(self, block: Block) -> Block:
        """``block`` with buffers of rows and working memory of a chunk's own."""
        if self.split is None:
            return block
        own = {self.memory[name] for name in (*self.rings, *self.scratch) if name in self.memory}
        return with_own_memory(block, own, [self.chunk], [self.split.count])


def _numbered_row(stage: Stage, own: Block, row: Var) -> Block:
    """Row number ``row``: what stands before the loop, one of its iterations, or what stands behind it."""
    main = own[stage.loop]
    assert isinstance(main, For)
    first, last = own[: stage.loop], own[stage.loop + 1 :]
    skipped = int(stage.first_row)
    block = substitute(main.body, {main.var: row - skipped})
    if last:
        block = (If(lt(row, stage.rows - 1), block, last),)
    return (If(lt(row, 1), first, block),) if skipped else block


def _rebound(block: Block, bound: Mapping[Buffer, Buffer]) -> Block:
    """Other buffers for those that are ``bound``; where one is shorter, indices wrap around."""

    def index(buffer: Buffer, old: Sequence[Expr]) -> tuple[Expr, ...]:
        new = bound[buffer]
        pairs = zip(old, buffer.shape, new.shape, strict=True)
        return tuple(i if extent == size else _wrapped(i, size) for i, extent, size in pairs)

    def expr_rule(expr: Expr) -> Expr | None:
        if isinstance(expr, Load) and expr.buffer in bound:
            return replace(expr, buffer=bound[expr.buffer], index=index(expr.buffer, expr.index))
        return None

    def stmt_rule(stmt: Stmt) -> Block | None:
        if isinstance(stmt, Store) and stmt.buffer in bound:
            return (replace(stmt, buffer=bound[stmt.buffer], index=index(stmt.buffer, stmt.index)),)
        if isinstance(stmt, Invoke):
            moved = (
                Pointer(bound[p.buffer], index(p.buffer, p.index)) if p.buffer in bound else p for p in stmt.pointers
            )
            return (replace(stmt, pointers=tuple(moved)),)
        if isinstance(stmt, Fetch):
            target = Pointer(bound[stmt.target.buffer], index(stmt.target.buffer, stmt.target.index))
            return (Fetch(bound[stmt.source], stmt.row, target),)
        if isinstance(stmt, Prefetch) and stmt.pointer.buffer in bound:
            return ()
        return None

    return map_block(block, expr_rule, stmt_rule)


def _wrapped(index: Expr, size: int) -> Expr:
    """``index`` modulo ``size``; of a multiple, the multiple of something modulo less, as ``x * 4 mod 20`` is
    ``(x mod 5) * 4``."""
    base, offset = _split(index, "add", 0)
    number, factor = _split(base, "mul", 1)
    common = gcd(factor, size)
    if common == 1:
        return index % size
    return ((number * (factor // common) + offset // common) % (size // common)) * common + offset % common


def _split(index: Expr, op: str, neutral: int) -> tuple[Expr, int]:
    """``index`` as something ``op`` a constant."""
    if isinstance(index, Binary) and index.op == op and isinstance(index.y, Const):
        return index.x, int(index.y.value)
    return index, neutral
