"""Loops run to the extents of a run: what lies beyond is not computed.

A kernel stores elements that nobody needs where extents are smaller than their bounds (``program/needed.py``). Of a
loop whose passages, from some number on, store nothing else, the end becomes that number, or its bound if that is
less::

    kernel conv_0(x, w, y: f32[8,16,16,32] out)      kernel conv_0(x, w, y, batch: i64[] const)
      for nb:4, n:8, o:16: (a row)                     for nb:4, n:min(8, convert<index>(batch[])), o:16: (a row)

Tiles of rows are rounded up. Where a needed part repeats within a loop, as that of each sequence in the rows of all of
them, passages are left out one by one. Memory of the kernel's own must carry nothing between passages. A kernel reads
an extent from memory, so that the call that computes it comes first; calls are put in an order in which that is so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, gcd, prod

from ..ir.bounds import Bounds, Linear
from ..ir.build import ge, lt, minimum
from ..ir.loops import (
    I64,
    INDEX,
    Access,
    Alloc,
    Binary,
    Block,
    Buffer,
    Expr,
    Fetch,
    For,
    If,
    Invoke,
    Kernel,
    Let,
    Load,
    Stmt,
    Store,
    Var,
    as_expr,
    const_value,
)
from ..ir.loops_rewrite import stmt_loads, used_buffers, walk_stmts
from ..ir.private_memory import is_private
from ..memory.trace import pointed
from ..record import record
from .needed import Limit


@record
class Within:
    """Elements of a tensor, counted from its beginning as ``flat``, that may be needed: those of which
    ``flat // stride % size`` is below ``limit``."""

    stride: int
    size: int
    limit: Limit


def withins(shape: Sequence[int], limits: Sequence[Limit | None]) -> tuple[Within, ...]:
    """The limits along dimensions. One of the outermost is said of all elements, whatever their dimensions."""
    found = []
    for axis, limit in enumerate(limits):
        if limit is None or shape[axis] < 2:
            continue
        stride = prod(shape[axis + 1 :])
        if prod(shape[:axis]) == 1:
            found.append(Within(1, prod(shape), limit.moved(stride, 0)))
        else:
            found.append(Within(stride, shape[axis], limit))
    return tuple(found)


_ONCE = Var("once")
"""The variable of a loop of one passage, as which a block is looked at."""


@record
class Clipped:
    """A kernel, and the extents that are its further parameters."""

    kernel: Kernel
    extents: tuple[str, ...]


def clip(
    kernel: Kernel, needed: Mapping[str, Sequence[Within]], temporary: Collection[str]
) -> Clipped | None:
    """``kernel`` without passages that store nothing that is needed; ``None`` where there are none.

    ``needed`` says it of parameters, by name. Nobody needs what the kernel leaves in ``temporary`` ones.
    """
    work = _Clipping(kernel, {name: each for name, each in needed.items() if each}, temporary)
    body = work.block(kernel.body, Bounds(), (), frozenset())
    if not work.used:
        return None
    params = (*kernel.params, *work.used.values())
    return Clipped(replace(kernel, params=params, body=body), tuple(work.used))


@record
class _Stored:
    """A store to a parameter: the place, what holds there, the loops around it within the loop that is looked at, and
    how many elements it reaches over; 0 where that is not known."""

    buffer: Buffer
    index: tuple[Expr, ...]
    scope: Bounds
    inner: tuple[Var, ...]
    lanes: int


@record
class _End:
    """A store of a loop reaches places from ``step * passage + low`` on, and ``span`` further. Those below ``factor *
    extent + offset`` are needed, and so on every ``size`` places where that is not 0."""

    step: int
    low: Linear
    span: int
    factor: int
    offset: int
    size: int

    @property
    def kind(self) -> tuple[object, ...]:
        """What is the same of stores whose ends are compared."""
        return self.step, self.factor, self.size, frozenset(self.low.terms.items())

    def reduced(self) -> _End:
        """The same end of passages in smaller numbers."""
        divisor = gcd(self.step, self.factor)
        if self.size or any(number % divisor for number in self.low.terms.values()):
            return self
        low = Linear({atom: number // divisor for atom, number in self.low.terms.items()}, 0)
        offset = ceil((self.offset - self.low.const) / divisor)
        return _End(self.step // divisor, low, 0, self.factor // divisor, offset, 0)


@dataclass
class _Clipping:
    kernel: Kernel
    needed: Mapping[str, Sequence[Within]]
    temporary: Collection[str]
    used: dict[str, Buffer] = field(default_factory=dict)

    def block(self, block: Block, scope: Bounds, loops: tuple[Var, ...], done: frozenset[str]) -> Block:
        """``done`` are the extents to which loops around this block run."""
        out: list[Stmt] = []
        for number, stmt in enumerate(block):
            if isinstance(stmt, For):
                loop = self._loop(stmt, scope, loops, done)
                rest = block[number + 1 :]
                guards = self._remainder(rest, scope, done) if loop.extent != stmt.extent else []
                if guards:
                    rest = self.block(rest, scope, loops, done)
                    for guard in guards:
                        rest = (If(guard, rest),)
                    return (*out, loop, *rest)
                stmt = loop
            elif isinstance(stmt, If):
                then = self.block(stmt.then, scope, loops, done)
                stmt = replace(stmt, then=then, orelse=self.block(stmt.orelse, scope, loops, done))
            elif isinstance(stmt, Let):
                scope = scope.with_let(stmt.var, stmt.value)
            out.append(stmt)
        return tuple(out)

    def _loop(self, loop: For, scope: Bounds, loops: tuple[Var, ...], done: frozenset[str]) -> For:
        inner, extent, guards = scope.in_loop(loop.var, loop.extent), loop.extent, list[Expr]()
        passages = const_value(loop.extent)
        names = [name for name in self._extents() if name not in done] if isinstance(passages, int) else []
        if names and self._may_end(loop):
            for name in names:
                ends = self._ends(loop, name, inner, loops)
                if not ends:
                    continue
                if ends[0].size:
                    guards.append(self._guard(loop.var, name, ends))
                else:
                    extent = minimum(extent, self._end(name, ends))
                done |= {name}
        body = self.block(loop.body, inner, (*loops, loop.var), done)
        for guard in guards:
            body = (If(guard, body),)
        return replace(loop, extent=extent, body=body)

    def _remainder(self, rest: Block, scope: Bounds, done: frozenset[str]) -> list[Expr]:
        """Whether what is behind a loop, as rows that fill no tile, stores something that is needed."""
        once, found = For(_ONCE, as_expr(1), rest), list[Expr]()
        for name in self._extents() if self._may_end(once) else ():
            ends = None if name in done else self._ends(once, name, scope, ())
            if ends:
                limit = self._extent(name) * ends[0].factor + max(end.offset for end in ends)
                found.append(lt(min(int(end.low.const) for end in ends), limit))
        return found

    def _extents(self) -> Sequence[str]:
        return list(dict.fromkeys(within.limit.extent for each in self.needed.values() for within in each))

    # ---- what a loop stores

    def _may_end(self, loop: For) -> bool:
        """Whether a loop may end early for all that is not needed of parameters: what else it stores is used in the
        same passage alone."""
        stmts = list(walk_stmts(loop.body))
        if any(isinstance(stmt, Fetch) for stmt in stmts):
            return False
        own = {stmt.buffer.name for stmt in stmts if isinstance(stmt, Alloc)}
        params = {param.name for param in self.kernel.params}
        for name in {buffer.name for stmt in stmts for buffer, _, _ in _stored_by(stmt)} - own:
            if name in self.needed:
                if _is_read(self.kernel.body, name):
                    return False
                continue
            if name in params and name not in self.temporary:
                return False
            if _uses(self.kernel.body, name) > _uses((loop,), name) or not is_private(name, (loop,), pointed):
                return False
        return True

    def _ends(self, loop: For, name: str, scope: Bounds, loops: Sequence[Var]) -> list[_End] | None:
        """Where the stores of a loop end by an extent; ``None`` where that is not known of all of them, or where it is
        not worth it."""
        found: list[_End] = []
        for stored in self._stores(loop.body, scope, ()):
            ends = [end for end in self._ends_of(stored, loop.var, name, loops) if end is not None]
            if not ends:
                return None
            found.append(min(ends, key=lambda end: end.size))
        if loop.var == _ONCE:
            return found if len({(end.factor, end.size) for end in found}) == 1 and not found[0].size else None
        alike: dict[tuple[object, ...], list[_End]] = {}
        for end in found:
            alike.setdefault(end.kind, []).append(end)
        if any(_span(ends) >= (ends[0].size // 2 or 2 * ends[0].step) for ends in alike.values()):
            return None
        found = [end.reduced() for end in found]
        if not found or len({end.kind for end in found}) > 1:
            return None
        return found

    def _stores(self, body: Block, scope: Bounds, inner: tuple[Var, ...]) -> Iterator[_Stored]:
        """The stores to parameters that are needed."""
        for stmt in body:
            if isinstance(stmt, For):
                yield from self._stores(stmt.body, scope.in_loop(stmt.var, stmt.extent), (*inner, stmt.var))
            elif isinstance(stmt, If):
                yield from self._stores(stmt.then, scope, inner)
                yield from self._stores(stmt.orelse, scope, inner)
            elif isinstance(stmt, Let):
                scope = scope.with_let(stmt.var, stmt.value)
            for buffer, index, lanes in _stored_by(stmt):
                if buffer.name in self.needed:
                    yield _Stored(buffer, index, scope, inner, lanes)

    def _ends_of(self, stored: _Stored, var: Var, name: str, loops: Sequence[Var]) -> Iterator[_End | None]:
        """The ends of a store by what is needed of its parameter."""
        buffer = stored.buffer
        forms = [stored.scope.linear(expr) for expr in stored.index]
        for within in self.needed[buffer.name]:
            if within.limit.extent != name:
                continue
            if (within.stride, within.size) == (1, prod(buffer.shape)):
                flat = Linear()
                for form, stride in zip(forms, buffer.strides, strict=True):
                    flat = flat.plus(form, stride)
                yield _end(flat, stored, within.limit, var, loops, 0)
                continue
            for form, stride, size in zip(forms, buffer.strides, buffer.shape, strict=True):
                if stride == within.stride and size % within.size == 0 and stored.lanes:
                    yield _end(form, stored, within.limit, var, loops, 0 if size == within.size else within.size)

    # ---- its end

    def _extent(self, name: str) -> Expr:
        """The extent, from memory."""
        if name not in self.used:
            taken = {buffer.name for buffer in (*self.kernel.params, *self.used.values())}
            taken |= {buffer.name for buffer in used_buffers(self.kernel.body)}
            for stmt in walk_stmts(self.kernel.body):
                if isinstance(stmt, (For, Let)):
                    taken.add(stmt.var.name)
            fresh = next(stem for k in range(len(taken) + 1) if (stem := f"extent{k}") not in taken)
            self.used[name] = Buffer(fresh, I64, (), access=Access.READ)
        return INDEX(Load(self.used[name], ()))

    def _end(self, name: str, ends: Sequence[_End]) -> Expr:
        """The number of passages: (factor * extent + offset - low) / step, rounded up."""
        first, more = ends[0], max(int(end.offset - end.low.const) for end in ends)
        total = self._extent(name) * first.factor + (more + first.step - 1)
        for atom, number in first.low.terms.items():
            total = total - atom * int(number)
        return total // first.step

    def _guard(self, var: Var, name: str, ends: Sequence[_End]) -> Expr:
        """Whether a passage may store something that is needed: it begins at such a place, or reaches the next."""
        first = ends[0]
        place = var * first.step + min(int(end.low.const) for end in ends)
        for atom, number in first.low.terms.items():
            place = place + atom * int(number)
        place = place % first.size
        limit = self._extent(name) * first.factor + max(end.offset for end in ends)
        return Binary("or", lt(place, limit), ge(place, first.size - _span(ends)))


def _span(ends: Sequence[_End]) -> int:
    """How far the places of a passage are apart."""
    low = min(int(end.low.const) for end in ends)
    return max(int(end.low.const) + end.span for end in ends) - low


def _end(
    form: Linear, stored: _Stored, limit: Limit, var: Var, loops: Sequence[Var], size: int
) -> _End | None:
    """The end of a store to a place; ``None`` where the place does not grow with the loop's passages, or where it is
    not known from where on it lies."""
    scope, low, high = stored.scope, Linear({}, form.const), Linear({}, form.const)
    step: int | Fraction = form.terms.get(var, 0)
    if step <= 0 and var != _ONCE:
        return None
    for atom, number in form.without(var).terms.items():
        if atom in loops and step > 0 and not -step < number < step:
            low, high = (side.plus(Linear({atom: 1}), number) for side in (low, high))
            continue
        least, most = scope.span(Linear({atom: number}))
        if isinstance(least, float) or isinstance(most, float):
            return None
        low, high = low.shifted(least), high.shifted(most)
    if any(int(number) != number for number in (step, *low.terms.values(), low.const)):
        return None
    span = int(high.const - low.const) + max(stored.lanes, 1) - 1
    return _End(int(step), low, span, limit.factor, limit.offset, size)


def _stored_by(stmt: Stmt) -> Iterator[tuple[Buffer, tuple[Expr, ...], int]]:
    """What a statement stores itself: where, and how many elements, 0 if they may be in several rows."""
    if isinstance(stmt, Store):
        yield stmt.buffer, stmt.index, stmt.value.type.lanes
    elif isinstance(stmt, Invoke):
        for (access, _), pointer in zip(pointed(stmt.block, stmt.numbers), stmt.pointers, strict=True):
            if access is not Access.READ:
                yield pointer.buffer, pointer.index, 0
    elif isinstance(stmt, Fetch):
        yield stmt.target.buffer, stmt.target.index, 0


def _is_read(body: Block, name: str) -> bool:
    """Whether statements read a buffer."""
    for stmt in walk_stmts(body):
        if any(load.buffer.name == name for load in stmt_loads(stmt)):
            return True
        if isinstance(stmt, Invoke):
            for (access, _), pointer in zip(pointed(stmt.block, stmt.numbers), stmt.pointers, strict=True):
                if pointer.buffer.name == name and access is not Access.WRITE:
                    return True
    return False


def _uses(body: Block, name: str) -> int:
    """How many accesses of a buffer there are."""
    return sum(buffer.name == name for buffer in used_buffers(body))
