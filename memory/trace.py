"""Which bytes of its parameters a kernel reads and writes, and in what order.

Time counts the steps of a kernel: a statement's loads come before its store, a loop takes as long as all its
iterations, both sides of an If follow each other. Because only "is this read after a write of the same byte?" matters,
reads are noted as late and writes as early as they may happen: what is not known exactly (a loop with too many
iterations to follow, an index loaded from memory) stays on the safe side. Within an ``Invoke``, reads and writes have
no order, unless its block goes in steps.

Loops run as the printers write them, one iteration after the other, whatever their kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from math import prod

import numpy as np

from ..blocks import BLOCKS, block_kernel
from ..ir.loops import Access, Block, Buffer, Const, Expr, Fetch, For, If, Invoke, Kernel, Let, Load, Space, Store
from ..ir.loops_rewrite import most_passages, stmt_exprs, walk_expr
from ..record import record
from .index_ranges import Scope

FOLLOWED = 1 << 18
"""Iterations of nested loops that are followed step by step."""


@record
class Touches:
    """Accesses of one parameter: the bytes from ``begin`` to before ``end``."""

    time: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    @staticmethod
    def together(parts: list[Touches]) -> Touches:
        """The accesses in all ``parts``, one part behind the other."""
        time, begin, end = (
            np.concatenate([getattr(part, name) for part in parts] or [np.zeros(0, np.int64)])
            for name in ("time", "begin", "end")
        )
        return Touches(time, begin, end)

    @staticmethod
    def joined(parts: list[Touches]) -> Touches:
        """The accesses in all ``parts``, which need not be sorted, by time."""
        all_ = Touches.together(parts)
        order = np.argsort(all_.time, kind="stable")
        return Touches(all_.time[order], all_.begin[order], all_.end[order])


@record
class OuterLoop:
    """A loop, statement number ``position`` of a kernel's body: when it begins, and how long an iteration takes."""

    position: int
    start: int
    step: int
    extent: int

    def iterations(self, touches: Touches) -> np.ndarray:
        """The iteration in which each access happens; negative: before the loop, ``extent``: behind it."""
        return np.minimum((touches.time - self.start) // max(self.step, 1), self.extent)

    def contains_some_of(self, touches: Touches) -> bool:
        """Whether an access happens in an iteration."""
        end = self.start + self.extent * max(self.step, 1)
        return bool(((touches.time >= self.start) & (touches.time < end)).any())

    def begins_after(self, touches: Touches) -> bool:
        """Whether an access happens before the loop."""
        return bool(touches.time.size and touches.time.min() < self.start)


@record
class Trace:
    """The accesses of a kernel by parameter name. ``loops`` are the body's own loops with constant extents whose
    iterations are followed one by one. ``spans`` are the memory between the first and the last access of each
    ``Invoke``, whose block takes it to be in one piece."""

    reads: TouchesByName
    writes: TouchesByName
    spans: TouchesByName
    loops: tuple[OuterLoop, ...]


@lru_cache(maxsize=256)
def trace_kernel(kernel: Kernel) -> Trace:
    """Every access of the parameters of ``kernel``; one that outer loops repeat only once, but for the outermost."""
    tracer = _Tracer(kernel.body)
    tracer.block(kernel.body, Scope(tracer.depth), ())
    reads, writes, spans = (TouchesByName(tracer.events, kind) for kind in (_Kind.READ, _Kind.WRITE, _Kind.SPAN))
    return Trace(reads, writes, spans, tuple(tracer.outer))


class _Kind(Enum):
    READ = auto()
    WRITE = auto()
    SPAN = auto()


class TouchesByName(Mapping[str, Touches]):
    """The touches of each parameter, put in order where they are asked for: of weights nobody asks."""

    def __init__(self, events: Sequence[_Event], kind: _Kind) -> None:
        self.events: dict[str, list[_Event]] = {}
        for event in events:
            if event.kind is kind:
                self.events.setdefault(event.name, []).append(event)
        self.found: dict[str, Touches] = {}

    def __getitem__(self, name: str) -> Touches:
        if name not in self.found:
            self.found[name] = Touches.joined(self.each(name))
        return self.found[name]

    def each(self, name: str) -> list[Touches]:
        """The touches of a parameter by the place in the code that makes them, which are not sorted."""
        return [event.touches() for event in self.events[name]]

    def pieces(self, name: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each place in the code the begins and the ends of what it touches of a parameter, at whatever time."""
        return [event.pieces() for event in self.events[name]]

    def hulls(self, name: str) -> list[Touches]:
        """For each place in the code that touches a parameter, what an iteration of the outermost loop touches there,
        as one access from the first byte to the last."""
        return [event.hulls() for event in self.events[name]]

    def __contains__(self, name: object) -> bool:
        return name in self.events

    def __iter__(self) -> Iterator[str]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)


@lru_cache(maxsize=1024)
def pointed(block: str, scalars: tuple[int, ...]) -> tuple[tuple[Access, int], ...]:
    """For each pointer of an Invoke how it is used, and how many bytes."""
    params = block_kernel(block, scalars).params
    return tuple((param.access, prod(param.shape) * param.dtype.size) for param in params)


_Parts = tuple[tuple[Access, tuple[tuple[int, int], ...]], ...]
"""For each pointer of an Invoke how it is used, and the bytes: from where on, to before where."""


@lru_cache(maxsize=1024)
def _invoked(block: str, scalars: tuple[int, ...]) -> tuple[tuple[_Kind, _Parts], ...]:
    """What an Invoke reads and writes, one after the other."""
    step = BLOCKS[block].in_steps
    if not step:
        return tuple((kind, _parts(block, scalars)) for kind in (_Kind.WRITE, _Kind.READ))
    params = block_kernel(block, scalars).params
    return tuple(
        (kind, tuple((p.access, ((at * p.dtype.size, (at + step) * p.dtype.size),)) for p in params))
        for at in range(0, params[0].shape[0], step)
        for kind in (_Kind.READ, _Kind.WRITE)
    )


@lru_cache(maxsize=1024)
def _parts(block: str, scalars: tuple[int, ...]) -> _Parts:
    """For each pointer of an Invoke how it is used, and the bytes: from where on, to before where."""
    if not BLOCKS[block].in_parts:
        return tuple((access, ((0, nbytes),)) for access, nbytes in pointed(block, scalars))
    meaning = block_kernel(block, scalars)
    trace = trace_kernel(meaning)
    found = []
    for param in meaning.params:
        touched = np.zeros(prod(param.shape) * param.dtype.size + 2, np.int8)
        for touches in (trace.reads, trace.writes):
            if param.name in touches.events:
                for begin, end in zip(touches[param.name].begin.tolist(), touches[param.name].end.tolist()):
                    touched[begin + 1 : end + 1] = 1
        edges = np.flatnonzero(np.diff(touched)).tolist()
        found.append((param.access, tuple(zip(edges[::2], edges[1::2], strict=True))))
    return tuple(found)


def _depth(block: Block) -> int:
    """How deep loops are nested."""
    inner = [1 + _depth(s.body) for s in block if isinstance(s, For)]
    inner += [max(_depth(s.then), _depth(s.orelse)) for s in block if isinstance(s, If)]
    return max(inner, default=0)


@record
class _Leave:
    """Out of a loop, number ``axis`` from outside, which begins at ``start`` and whose iterations take ``step``."""

    axis: int
    extent: int
    start: int
    step: int
    followed: bool


_Bytes = tuple[np.ndarray, np.ndarray, np.ndarray]
"""From where on, to before where, and whether it may happen: with an axis for each loop around."""


@dataclass
class _Event:
    """One access in all iterations. ``time`` is that within the innermost loop around it, and grows with every loop
    that is left; which ``bytes`` are meant is found out where somebody asks."""

    kind: _Kind
    name: str
    time: int
    depth: int
    bytes: Callable[[], _Bytes]
    left: list[_Leave] = field(default_factory=list)

    def touches(self) -> Touches:
        every = begin, end, mask = self.bytes()
        time, chosen = self._times(every), mask & (begin < end)
        shape = np.broadcast(time, chosen).shape
        parts = [_flat(array, shape) for array in (time, begin, end)]
        if not chosen.all():
            happens = _flat(chosen, shape)
            parts = [array[happens] for array in parts]
        return Touches(*parts)

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        begin, end, mask = np.broadcast_arrays(*self.bytes())
        chosen = mask & (begin < end)
        return begin[chosen], end[chosen]

    def hulls(self) -> Touches:
        begin, end, mask = self.bytes()
        chosen, inner = mask & (begin < end), tuple(range(1, self.depth))
        least = np.where(chosen, begin, np.iinfo(np.int64).max).min(axis=inner)
        most = np.where(chosen, end, 0).max(axis=inner)
        time, least, most = np.broadcast_arrays(self._times(()).reshape(-1), least, most)
        some = least < most
        return Touches(time[some], least[some], most[some])

    def _times(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """What is the same in all iterations of a loop is noted once."""
        time = np.full((1,) * self.depth, self.time, np.int64)
        for loop in self.left:
            if loop.followed and (loop.axis == 0 or any(array.shape[loop.axis] > 1 for array in arrays)):
                shape = [1] * self.depth
                shape[loop.axis] = loop.extent
                time = time + (np.arange(loop.extent, dtype=np.int64).reshape(shape) * loop.step + loop.start)
            else:
                time = time + (loop.start + ((loop.extent - 1) * loop.step if self.kind is _Kind.READ else 0))
        return time


def _flat(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The elements in order, each as often as ``shape`` has it."""
    return (array if array.shape == shape else np.broadcast_to(array, shape)).reshape(-1)


class _Tracer:
    """Walks through a kernel once. ``now`` is the time within the innermost loop."""

    def __init__(self, body: Block) -> None:
        self.body = body
        self.depth = max(_depth(body), 1)
        self.now = 0
        self.events: list[_Event] = []
        self.outer: list[OuterLoop] = []

    def block(self, block: Block, scope: Scope, loops: tuple[int, ...], mask: np.ndarray | None = None) -> None:
        """``loops`` are the extents of the loops around, ``mask`` says where the block may run."""
        runs = np.full((1,) * self.depth, True) if mask is None else mask
        for stmt in block:
            for expr in stmt_exprs(stmt):
                self._loads(expr, scope, runs)
            self.now += 1
            if isinstance(stmt, Let):
                scope = scope.with_let(stmt.var, stmt.value)
            elif isinstance(stmt, If):
                holds, fails = scope.truth(stmt.cond)
                self.block(stmt.then, scope, loops, runs & holds)
                self.block(stmt.orelse, scope, loops, runs & fails)
            elif isinstance(stmt, For):
                self._for(stmt, scope, loops, runs)
            elif isinstance(stmt, Store):
                self._touch(_Kind.WRITE, stmt.buffer, stmt.index, stmt.value.type.lanes, scope, runs, stmt.active)
                self.now += 1
            elif isinstance(stmt, Fetch):
                self._touch(_Kind.WRITE, stmt.target.buffer, stmt.target.index, stmt.elements, scope, runs)
                self.now += 1
            elif isinstance(stmt, Invoke):
                self._invoke(stmt, scope, runs)

    def _for(self, stmt: For, scope: Scope, loops: tuple[int, ...], runs: np.ndarray) -> None:
        count, most = scope.range(stmt.extent), most_passages(stmt.extent)
        if count is None and most is not None:
            count = scope.constant(0, most)
        extent = 2 if count is None else int(count.high.max(initial=0))
        if extent <= 0:
            return
        axis = len(loops)
        followed = count is not None and extent * prod(loops) <= FOLLOWED
        if followed and count is not None:
            inner = scope.stepped(stmt.var, axis, extent)
            if not isinstance(stmt.extent, Const):
                runs = runs & (inner.ranges[stmt.var].low < count.high)
        else:
            inner = scope if count is None else scope.bound(stmt.var, scope.constant(0, extent - 1))
            extent = min(extent, 2)
        first, start = len(self.events), self.now
        self.now = 0
        self.block(stmt.body, inner, (*loops, extent if followed else 1), runs)
        left = _Leave(axis, extent, start, self.now, followed)
        for event in self.events[first:]:
            event.left.append(left)
        if not loops and any(stmt is part for part in self.body) and followed and isinstance(stmt.extent, Const):
            self.outer.append(OuterLoop(self.body.index(stmt), start, self.now, extent))
        self.now = start + extent * self.now

    def _loads(self, expr: Expr, scope: Scope, runs: np.ndarray) -> None:
        for part in walk_expr(expr):
            if isinstance(part, Load):
                self._touch(_Kind.READ, part.buffer, part.index, part.lanes, scope, runs, part.active)

    def _invoke(self, stmt: Invoke, scope: Scope, runs: np.ndarray) -> None:
        """Writes, and a step later reads, where their order inside is not known."""
        for kind, touched in _invoked(stmt.block, stmt.numbers):
            for (access, parts), pointer in zip(touched, stmt.pointers, strict=True):
                if access is Access.READ_WRITE or (access is Access.READ) == (kind is _Kind.READ):
                    size = pointer.buffer.dtype.size
                    for begin, end in parts:
                        lanes = (end - begin) // size
                        self._touch(kind, pointer.buffer, pointer.index, lanes, scope, runs, behind=begin // size)
            self.now += 1
        for (_, nbytes), pointer in zip(pointed(stmt.block, stmt.numbers), stmt.pointers, strict=True):
            lanes = nbytes // pointer.buffer.dtype.size
            self._touch(_Kind.SPAN, pointer.buffer, pointer.index, lanes, scope, runs)

    def _touch(
        self,
        kind: _Kind,
        buffer: Buffer,
        index: tuple[Expr, ...],
        elements: int,
        scope: Scope,
        runs: np.ndarray,
        active: Expr | None = None,
        behind: int = 0,
    ) -> None:
        """``elements`` from ``index`` on, or from so many ``behind`` it, as many as are ``active``; what is out of
        range is known not to happen."""
        if buffer.space is not Space.GLOBAL:
            return

        def touched() -> _Bytes:
            begin, last = (each + behind for each in _elements(buffer, index, scope))
            size, total = buffer.dtype.size, prod(buffer.shape)
            lanes = None if active is None else scope.range(active)
            end = np.minimum(last + (elements if lanes is None else np.minimum(lanes.high, elements)), total)
            return begin * size, end * size, runs

        self.events.append(_Event(kind, buffer.name, self.now, self.depth, touched))


def _elements(buffer: Buffer, index: tuple[Expr, ...], scope: Scope) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last element that ``index`` may mean."""
    begin = last = np.zeros((1,) * scope.depth, np.int64)
    for expr, extent, stride in zip(index, buffer.shape, buffer.strides, strict=True):
        place = scope.range(expr) or scope.constant(0, extent - 1)
        least = begin + _within(place.low, extent) * stride
        last = least if begin is last and place.low is place.high else last + _within(place.high, extent) * stride
        begin = least
    return begin, last


def _within(places: np.ndarray, extent: int) -> np.ndarray:
    """``places``, or the nearest of ``extent`` elements; ``np.clip`` looks up the limits of the type each time."""
    return np.minimum(np.maximum(places, 0), extent - 1)
