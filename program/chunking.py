"""Loops of a kernel in chunks that may run at the same time: ``program/partition.py`` shows them.

Where something stands behind an inner loop, such as the rows that fill no block, it becomes the last passage of that::

    for nb:4                                    for nb:4
      for rb:21: A                                for rb:22
      B                                             if rb < 21: A
                                                    else: B
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from itertools import pairwise, product
from math import ceil, prod

from ..blocks import BLOCKS
from ..ir.bounds import Bounds
from ..ir.build import lt
from ..ir.chunks import chunk_loops, with_own_memory
from ..ir.independence import are_independent, separating_dimensions
from ..ir.loops import (
    INDEX,
    Alloc,
    Binary,
    Block,
    Buffer,
    Expr,
    For,
    If,
    Invoke,
    Kernel,
    Let,
    Load,
    LoopKind,
    Space,
    Stmt,
    Store,
    Unary,
    Var,
    as_expr,
    binary,
    const_value,
)
from ..ir.loops import Call as Evaluated
from ..ir.loops_rewrite import most_passages, stmt_exprs, substitute, used_buffers, walk_expr, walk_stmts
from ..ir.private_memory import is_private
from ..ir.program import Storage
from ..memory.trace import pointed
from ..record import record

CHUNKS = 2
"""For each thread: more than one, so that a thread that comes late or is slow holds nobody up."""
_MOST_CHUNKS = 8
"""For each thread, where that gives all of them the same work."""
SMALLEST_PHASE = 16_000
"""Operations below which a phase is not split: some two microseconds, where handing it out takes half of one."""
SMALLEST_CHUNK = 4_000
"""Operations that a chunk has at least."""
KEPT_WEIGHTS = 512 << 10
"""Bytes of constants that each thread may read anew for each of its chunks, as a cache of its own keeps them."""
_DEEPEST = 2
"""Loops that are split at most."""
_BYTES = 4
"""Of memory that are read or written in the time of an operation."""
_FURTHER, _FEWER, _MORE = 0.02, 0.15, 0.002
"""What it costs to cut further than the first loop, for each part, to have a single chunk rather than those that are
wanted, and each chunk beyond these, as shares of the time of all threads."""
_SLOWER = 1.2
"""How many times as long as the constants for two chunks more take what is fetched from the cache of another core."""
_PER_CYCLE = 3
"""Operations in a cycle of what block instructions take, about."""


def phases(body: Block) -> Iterator[Block]:
    """The outermost loops, one by one; what is between them, together with all that uses names that are bound there, or
    is behind a block instruction that changes nothing but a state of the CPU."""
    together: list[Stmt] = []
    bound: set[str] = set()
    configured = False
    for number, stmt in enumerate(body):
        configured |= isinstance(stmt, Invoke) and not stmt.pointers
        if isinstance(stmt, For) and not configured and bound.isdisjoint(_names(body[number:])):
            if together:
                yield tuple(together)
            together, bound = [], set()
            yield (stmt,)
            continue
        if isinstance(stmt, Let):
            bound.add(stmt.var.name)
        if isinstance(stmt, Alloc):
            bound.add(stmt.buffer.name)
        together.append(stmt)
    if together:
        yield tuple(together)


@record
class Split:
    """A phase in chunks: how many loops are ``chunked``, and the parameters of which each chunk has its own, which are
    as many times as large along new dimensions in front."""

    body: Block
    chunked: int = 0
    own: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def split(
    phase: Block, threads: int, temporaries: Set[str], sizes: Mapping[Storage, int], decided: int | None = None
) -> Split:
    """The loops of a phase in chunks; as it is where that is not worth it, or cannot be proven to be sound.

    ``temporaries`` are parameters that nothing else uses than this phase, ``sizes`` the bytes of all parameters by
    where they are stored. So many chunks for each thread may be ``decided``.
    """
    work = operations(phase)
    if len(phase) != 1 or work < SMALLEST_PHASE:
        return Split(phase)
    wanted = min((CHUNKS if decided is None else decided) * threads, int(work / SMALLEST_CHUNK))
    most = min(_MOST_CHUNKS * threads if decided is None else 2 * wanted, 2 * int(work / SMALLEST_CHUNK))
    found = Split(phase)
    for depth in range(1, _DEEPEST + 1):
        loops = _nest(phase, depth)
        if loops is None:
            break
        chunked = _chunked(loops, wanted, most, threads, temporaries)
        if chunked is None:
            break
        found = chunked
        if prod(_extents(loops)) >= wanted and (depth > 1 or _read_once(sizes)):
            break
    return found


def _read_once(sizes: Mapping[Storage, int]) -> bool:
    """Whether constants are so many that each had better be read by one thread alone, though what others computed comes
    from their caches then."""
    weights = sizes.get(Storage.CONSTANT, 0)
    others = sum(size for storage, size in sizes.items() if storage is not Storage.CONSTANT)
    return weights > KEPT_WEIGHTS and weights * _SLOWER > others


def _chunked(loops: Sequence[For], wanted: int, most: int, threads: int, temporaries: Set[str]) -> Split | None:
    """``loops`` in chunks, of the loop first whose passages are furthest apart in memory, so that what a thread reads
    in the next layer is mostly what it wrote in this one."""
    dimensions = separating_dimensions(loops, BLOCKS)
    if dimensions is not None:
        order = sorted(range(len(loops)), key=dimensions.__getitem__)
        body, count = _in_chunks(loops, _counts(loops, wanted, most, threads, order), order)
        return Split(body, count) if count else None
    own = [name for name in temporaries if is_private(name, loops, pointed)]
    few = min(wanted, CHUNKS * threads)
    body, count = _in_chunks(loops, _counts(loops, few, few, threads, range(len(loops))), range(len(loops)))
    if not own or not count:
        return None
    outer = _chunks_of(body, count)
    extents = tuple(_extents(outer))
    body = with_own_memory(body, own, [loop.var for loop in outer], extents)
    return Split(body, count, dict.fromkeys(own, extents)) if are_independent(_chunks_of(body, count), BLOCKS) else None


def merged(one: Split, other: Split) -> Split | None:
    """Two phases as one, where their chunks are as many and may run one right behind the other."""
    loops, others = (_chunks_of(each.body, each.chunked) for each in (one, other))
    if not one.chunked or one.own or other.own or _extents(loops) != _extents(others):
        return None
    same = {again.var: loop.var for again, loop in zip(others, loops, strict=True)}
    body = (*loops[-1].body, *substitute(others[-1].body, dict(same)))
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return Split(body, one.chunked) if are_independent(_chunks_of(body, one.chunked), BLOCKS) else None


def _extents(loops: Sequence[For]) -> list[int]:
    return [most_passages(loop.extent) or 0 for loop in loops]


def _chunks_of(body: Block, depth: int) -> tuple[For, ...]:
    """The loops of chunks."""
    return chunk_loops(Kernel("", (), body, chunked=depth))


def _nest(phase: Block, depth: int) -> list[For] | None:
    """The ``depth`` outermost loops, each of which holds nothing but the next; ``None`` where there are not as many."""
    loops: list[For] = []
    body = phase
    for level in range(depth):
        body = body if level == 0 else _one_loop(body)
        if len(body) != 1 or not isinstance(body[0], For) or most_passages(body[0].extent) is None:
            return None
        loops.append(body[0])
        body = body[0].body
    for level in reversed(range(depth - 1)):
        loops[level] = replace(loops[level], body=(loops[level + 1],))
    return loops


def _one_loop(body: Block) -> Block:
    """A loop and what is behind it as one loop."""
    if len(body) < 2 or not isinstance(body[0], For) or not isinstance(const_value(body[0].extent), int):
        return body
    first, rest = body[0], body[1:]
    var = Var(f"{first.var.name}_or_rest")  # loops of the rest may be of the same variable as the first
    again = If(lt(var, first.extent), substitute(first.body, {first.var: var}), rest)
    return (For(var, first.extent + 1, (again,), first.kind),)


def _counts(loops: Sequence[For], wanted: int, most: int, threads: int, order: Sequence[int]) -> list[int]:
    """Of how many chunks each of ``loops`` is to be, rather ``wanted`` and at ``most`` so many of all together: those
    by which ``threads`` have least to wait for each other, of the first loop in ``order`` if that is the same."""
    extents = _extents(loops)
    choices: dict[tuple[int, ...], float] = {(1,) * len(loops): 0.0}
    for numbers in product(*(range(1, most + 1) for _ in loops)):
        if prod(numbers) > most:
            continue
        sizes = [ceil(extent / number) for extent, number in zip(extents, numbers, strict=True)]
        counts = tuple(ceil(extent / size) for extent, size in zip(extents, sizes, strict=True))
        if counts not in choices:
            further = sum(counts[number] - 1 for number in order[1:])
            missing, more = max(0, wanted - prod(counts)), max(0, prod(counts) - wanted)
            loss = _FURTHER * further + _FEWER * missing / wanted + _MORE * more
            choices[counts] = _share_at_work(extents, sizes, threads) - loss
    best, _ = max(choices.items(), key=lambda choice: choice[1])
    return list(best)


def _share_at_work(extents: Sequence[int], sizes: Sequence[int], threads: int) -> float:
    """The share of the time in which threads work, each of which begins with a part of the chunks of its own, as
    ``runtime_c/ccml_workers.c`` has them do."""
    chunks = [1]
    for extent, size in zip(extents, sizes, strict=True):
        chunks = [work * min(size, extent - begin) for work in chunks for begin in range(0, extent, size)]
    bounds = [len(chunks) * thread // threads for thread in range(threads + 1)]
    own = [chunks[first:end] for first, end in pairwise(bounds)]
    busy = [0] * threads
    for _ in chunks:
        thread = busy.index(min(busy))
        others = (own[(thread + step) % threads] for step in range(1, threads))
        busy[thread] += own[thread].pop(0) if own[thread] else next(filter(None, others)).pop()
    return sum(chunks) / (threads * max(busy))


def _in_chunks(loops: Sequence[For], counts: Sequence[int], order: Sequence[int]) -> tuple[Block, int]:
    """The passages of ``loops``, which may run in any order, in so many chunks, those of the first loop in ``order``
    outermost. Returns how many loops are split as well; 0: there is a single chunk."""
    body = loops[-1].body
    for loop, count in reversed(list(zip(loops, counts, strict=True))):
        body = _chunk_body(loop, count, body) if count > 1 else (replace(loop, body=body),)
    chunks = [number for number in order if counts[number] > 1]
    for number in reversed(chunks):
        body = (For(_chunk_variable(loops[number]), as_expr(counts[number]), body, LoopKind.PARALLEL),)
    return body, len(chunks)


def _chunk_variable(loop: For) -> Var:
    return Var(f"{loop.var.name}_chunk")


def _chunk_body(loop: For, count: int, body: Block) -> Block:
    """The passages of a loop that belong to one of ``count`` chunks of it."""
    most = most_passages(loop.extent) or 0
    known = const_value(loop.extent) == most
    size, chunk = ceil(most / count), _chunk_variable(loop)
    if size == 1:
        passage = substitute(body, {loop.var: chunk})
        return passage if known else (If(lt(chunk, loop.extent), passage),)
    passages = binary("min", size, loop.extent - chunk * size) if not known or most % count else as_expr(size)
    inner = Var(f"{loop.var.name}_inner")
    return (For(inner, passages, substitute(body, {loop.var: chunk * size + inner}), loop.kind),)


def operations(body: Block) -> float:
    """What statements take, about: some eight a nanosecond."""
    return _operations(body, Bounds())


def _operations(body: Block, bounds: Bounds) -> float:
    total = 0.0
    for stmt in body:
        if isinstance(stmt, Store):
            total += _access(stmt.buffer, stmt.value.type.lanes)
        total += sum(_cost(part) for expr in stmt_exprs(stmt) for part in _values(expr))
        if isinstance(stmt, Invoke):
            total += _of_block(stmt)
        if isinstance(stmt, For):
            _, most = bounds.range(stmt.extent)
            inside = _operations(stmt.body, bounds.in_loop(stmt.var, stmt.extent))
            total += (1 if most == math.inf else max(0, most)) * inside
        if isinstance(stmt, If):
            total += max(_operations(stmt.then, bounds), _operations(stmt.orelse, bounds))
    return total


def _of_block(stmt: Invoke) -> float:
    row = BLOCKS[stmt.block]
    cycles = row.own_cycles(stmt.numbers)
    return operations(row.kernel(stmt.numbers).body) if cycles is None else _PER_CYCLE * cycles


def _cost(part: Expr) -> float:
    if isinstance(part, Load):
        return _access(part.buffer, part.lanes)
    return isinstance(part, (Binary, Unary, Evaluated))


def _access(buffer: Buffer, lanes: int) -> float:
    """What comes from a cache takes longer than what is in registers, the longer the more it is."""
    return 0.0 if buffer.space is Space.REG else max(1.0, lanes * buffer.dtype.size / _BYTES)


def _values(expr: Expr) -> Iterator[Expr]:
    """The parts of an expression that compute something else than an index."""
    yield expr
    if isinstance(expr, Load):
        return
    for part in walk_expr(expr):
        if part is not expr and part.type != INDEX:
            yield part


def _names(body: Block) -> Iterator[str]:
    for stmt in walk_stmts(body):
        for expr in stmt_exprs(stmt):
            yield from (part.name for part in walk_expr(expr) if isinstance(part, Var))
    yield from (buffer.name for buffer in used_buffers(body))
