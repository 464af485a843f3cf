"""Loops that store along one variable what they load along another: vectors are loaded, turned by shuffles and stored.

    for u:U                              for u:U/4                       x0 = x[v*4, u*4 : 4], ..., x3
      for v:V                              for v:V/4                     y0 = shuffle(x0, x1, ...), ...
        y[u, v] = f(x[v, u])     ->          four vectors of x, turned: each stage interleaves the first half of the
                                             vectors with the second (a perfect shuffle, log2(4) times)
                                             y[u*4 + k, v*4 : 4] = f(turned[k]), k = 0..3

What is left over at the sides is done in smaller squares, then element by element. Where V is small and the results of
one ``v`` after the other fill memory without gaps, as the colours of pixels do, vectors along ``u`` are computed for
each ``v`` and then interleaved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log2, prod

from ..ir.loops import INDEX, Block, Buffer, Const, Expr, For, Let, Load, LoopKind, Shuffle, Space, Stmt, Store, Var
from ..ir.loops_rewrite import flat_index, loop, map_block, map_expr, stmt_exprs, substitute, walk_expr
from ..ir.types import DType
from ..record import record
from ..targets.target import Cpu
from .affine import coefficient, occurs
from .names import Names, rename_bound
from .vectorize import stripes
from .vectorizer import NotVectorizable, Vectorizer

Widths = Mapping[DType, tuple[int, ...]]
"""The numbers of lanes of vectors that are shuffled, widest first, of each type that has any."""
REGISTER = 16
"""Bytes of the smallest vectors: what fills a part of a register is put together lane by lane."""
MOST_INTERLEAVED = 4
"""Results side by side that are interleaved; more of them are a square."""


def shuffled_widths(cpu: Cpu) -> Widths:
    """Those that fill registers. Vectors of bytes may have more lanes than any of floats."""
    kinds = (DType.F32, DType.I32, DType.U32, DType.I16, DType.U16, DType.I8, DType.U8)
    lanes = [width for width in cpu.f32_lanes if width > 1]
    found = {kind: tuple(width for width in lanes if width * kind.size >= REGISTER) for kind in kinds}
    if found[DType.F32]:
        found |= {kind: found[kind] or (REGISTER,) for kind in kinds if kind.size == 1}
    return {kind: widths for kind, widths in found.items() if widths}


def turn_copies(block: Block, widths: Widths, names: Names) -> Block:
    """``block`` with vectors in nests that store along one of their variables what they load along another. Nests of
    another kind stay as they are."""
    return tuple(stmt for old in block for stmt in _turned(old, widths, names)) if widths else block


def _turned(stmt: Stmt, widths: Widths, names: Names) -> Block:
    if not isinstance(stmt, For):
        return (stmt,)
    nest = _nest(stmt, names)
    if nest is not None:
        try:
            done = _interleaved(nest, widths, names) or _squares(nest, widths, names)
        except NotVectorizable:
            done = None
        if done is not None:
            return done
    return (For(stmt.var, stmt.extent, turn_copies(stmt.body, widths, names), stmt.kind),)


# ---------------------------------------------------------------- what a nest does


@record
class _Nest:
    """Loops around names and one store. All buffers have one dimension, along which indices grow linearly."""

    loops: tuple[tuple[Var, int], ...]
    lets: tuple[Let, ...]
    store: Store

    @property
    def body(self) -> Block:
        return (*self.lets, self.store)

    @property
    def loads(self) -> list[Load]:
        return list(dict.fromkeys(load for stmt in self.body for expr in stmt_exprs(stmt) for load in _loads(expr)))

    def extent(self, var: Var) -> int:
        return dict(self.loops)[var]

    def around(self, inner: Sequence[Var], block: Block) -> Block:
        """``block`` in all loops but those of ``inner``. Their variables are the same each time."""
        for var, extent in reversed(self.loops):
            if var not in inner:
                block = loop(var, extent, *block)
        return block


def _step(access: Load | Store, var: Var) -> int:
    step = coefficient(access.index[0], var)
    assert step is not None
    return step


def _nest(stmt: For, names: Names) -> _Nest | None:
    """What ``stmt`` is, if that; loops that go through all memory like a single one are joined."""
    loops: list[tuple[Var, int]] = []
    body: Block = (stmt,)
    while len(body) == 1 and isinstance(body[0], For):
        inner = body[0]
        if not isinstance(inner.extent, Const) or inner.kind is not LoopKind.SERIAL:
            return None
        loops.append((inner.var, int(inner.extent.value)))
        body = inner.body
    last, lets = body[-1], [each for each in body if isinstance(each, Let)]
    if not isinstance(last, Store) or last.active is not None or len(lets) + 1 < len(body):
        return None
    loads = [load for part in body for expr in stmt_exprs(part) for load in _loads(expr)]
    buffers = [last.buffer, *(load.buffer for load in loads)]
    if any(buffer.space is Space.REG or buffer.type.lanes > 1 for buffer in buffers):
        return None
    if any(load.lanes > 1 or load.active is not None or load.buffer.name == last.buffer.name for load in loads):
        return None
    indices = [*last.index, *(index for load in loads for index in load.index)]
    if any(occurs(let.var, index) for let in lets for index in indices):
        return None
    flat = _flattened(body)
    nest = _Nest(tuple(loops), tuple(part for part in flat if isinstance(part, Let)), _last(flat))
    places = [nest.store.index[0], *(load.index[0] for load in nest.loads)]
    known = (coefficient(place, var) for place in places for var, _ in loops)
    return None if None in known else _joined(nest, names)


def _last(block: Block) -> Store:
    store = block[-1]
    assert isinstance(store, Store)
    return store


def _loads(expr: Expr) -> list[Load]:
    return [part for part in walk_expr(expr) if isinstance(part, Load)]


def _flattened(body: Block) -> Block:
    """With buffers of one dimension."""

    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Load):
            return None
        buffer, place = _flat(part.buffer, tuple(map_expr(index, rule) for index in part.index))
        return Load(buffer, place)

    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Let):
            out.append(Let(stmt.var, map_expr(stmt.value, rule)))
        else:
            assert isinstance(stmt, Store)
            buffer, place = _flat(stmt.buffer, stmt.index)
            out.append(Store(buffer, place, map_expr(stmt.value, rule)))
    return tuple(out)


def _flat(buffer: Buffer, index: Sequence[Expr]) -> tuple[Buffer, tuple[Expr, ...]]:
    return replace(buffer, shape=(prod(buffer.shape),)), (flat_index(buffer, index),)


def _joined(nest: _Nest, names: Names) -> _Nest:
    """Neighbouring loops as one where all accesses go on from the inner to the outer one without a gap."""
    accesses: tuple[Load | Store, ...] = (nest.store, *nest.loads)
    computed = [map_expr(value, _without_access) for value in _values(nest)]
    for (outer, many), (inner, few) in zip(nest.loops, nest.loops[1:]):
        plain = not any(occurs(var, expr) for var in (outer, inner) for expr in computed)
        if plain and all(_step(each, outer) == few * _step(each, inner) for each in accesses):
            var = Var(names.fresh(inner.name))
            loops = [(var, many * few) if each == (inner, few) else each for each in nest.loops]
            body = substitute(nest.body, {outer: INDEX(0), inner: var})
            lets = tuple(part for part in body if isinstance(part, Let))
            return _joined(_Nest(tuple(each for each in loops if each[0] != outer), lets, _last(body)), names)
    return nest


def _without_access(part: Expr) -> Expr | None:
    """In the place of an access something of its type, on which no loop has an influence."""
    return Var("loaded", part.type) if isinstance(part, Load) else None


def _values(nest: _Nest) -> list[Expr]:
    return [*(let.value for let in nest.lets), nest.store.value]


# ---------------------------------------------------------------- results side by side


def _interleaved(nest: _Nest, all_widths: Widths, names: Names) -> Block | None:
    """Where results for a few ``v`` lie side by side, and those for ``u`` behind each other."""
    widths = all_widths.get(nest.store.buffer.dtype, ())
    if not _copies(nest):
        widths = tuple(width for width in widths if width in all_widths[DType.F32])
    if not widths:
        return None
    for v, few in nest.loops:
        for u, many in nest.loops:
            steps = {_step(load, u) for load in nest.loads}
            beside = (_step(nest.store, v), _step(nest.store, u)) == (1, few) and 1 < few <= MOST_INTERLEAVED
            if u != v and beside and steps <= {0, 1} and many >= widths[-1]:
                return _interleaved_loops(nest, (u, many), (v, few), widths, names)
    return None


def _copies(nest: _Nest) -> bool:
    """Whether nothing is computed."""
    return isinstance(nest.store.value, Load) and not nest.lets


def _interleaved_loops(
    nest: _Nest, along: tuple[Var, int], beside: tuple[Var, int], widths: tuple[int, ...], names: Names
) -> Block:
    (u, many), (v, few) = along, beside
    out: list[Stmt] = []
    for start, trips, lanes in stripes(many, widths):
        var = Var(names.fresh(u.name))
        first = var * lanes + start
        if lanes == 1:
            rest = loop(v, few, *substitute(nest.body, {u: first}))
            out += rename_bound(nest.around((u, v), loop(var, trips, *rest)), names)
            continue
        body: list[Stmt] = []
        results = [_along(nest, u, {v: INDEX(number)}, lanes, first, names, body) for number in range(few)]
        place = _placed(nest.store.index[0], {u: first, v: INDEX(0)})
        for number, vector in enumerate(_zipped(results, names, body)):
            body.append(Store(nest.store.buffer, (place + number * lanes,), vector))
        out += rename_bound(nest.around((u, v), loop(var, trips, *body)), names)
    return tuple(out)


def _along(
    nest: _Nest, u: Var, fixed: dict[Var, Expr], lanes: int, first: Expr, names: Names, out: list[Stmt]
) -> Var:  # fmt: skip
    """The vector of what is stored for ``u`` from ``first`` on, as a name; statements that it takes go to ``out``."""
    body = rename_bound(substitute(nest.body, fixed), names)
    vectorizer = Vectorizer(u, lanes, first, names)
    out += vectorizer.block(body[:-1])
    return _named("row", vectorizer.vector(_last(body).value), names, out)


def _zipped(vectors: Sequence[Var], names: Names, out: list[Stmt]) -> list[Var]:
    """The lanes of ``vectors`` in turn: all first ones, then all second ones, in as many vectors."""
    count, lanes = len(vectors), vectors[0].type.lanes
    found = []
    for number in range(count):
        places = [divmod(number * lanes + lane, count) for lane in range(lanes)]
        mixed = vectors[0]
        picks = tuple(lane for lane, _ in places)
        for source in range(1, count):
            kept = range(lanes) if source > 1 else picks
            chosen = tuple(
                lanes + lane if vector == source else keep for (lane, vector), keep in zip(places, kept, strict=True)
            )
            mixed = _named("zipped", Shuffle(mixed, vectors[source], chosen), names, out)
        found.append(mixed)
    return found


# ---------------------------------------------------------------- squares


def _squares(nest: _Nest, all_widths: Widths, names: Names) -> Block | None:
    """Where all loads that are not contiguous along the ``v`` of the stores are so along the same ``u``."""
    v = next((var for var, _ in nest.loops if _step(nest.store, var) == 1), None)
    if v is None:
        return None
    turned = [load for load in nest.loads if _step(load, v) not in (0, 1)]
    types = {nest.store.buffer.dtype, *(load.buffer.dtype for load in turned)}
    widths = tuple(
        width for width in all_widths[DType.F32] if all(width in all_widths.get(each, ()) for each in types)
    )
    if not turned or not widths:
        return None
    u = next((var for var, _ in nest.loops if all(_step(load, var) == 1 for load in turned)), None)
    if u is None or min(nest.extent(u), nest.extent(v)) < widths[-1]:
        return None
    area = _Area((u, 0, nest.extent(u)), (v, 0, nest.extent(v)))
    return _covered(nest, turned, area, widths, names)


@record
class _Area:
    """What is left to do: a variable, its first value and how many there are, for ``u`` and for ``v``."""

    u: tuple[Var, int, int]
    v: tuple[Var, int, int]


def _covered(nest: _Nest, turned: list[Load], area: _Area, widths: tuple[int, ...], names: Names) -> Block:
    """The largest squares that fit, then what is right of them and below, each in loops of its own: threads share the
    outermost."""
    (u, top, high), (v, left, wide) = area.u, area.v
    if not high or not wide:
        return ()
    lanes = next((width for width in widths if width <= min(high, wide)), 1)
    row, column = Var(names.fresh(u.name)), Var(names.fresh(v.name))
    if lanes == 1:
        body = loop(row, high, *loop(column, wide, *substitute(nest.body, {u: row + top, v: column + left})))
        return rename_bound(nest.around((u, v), body), names)
    rows, columns = high // lanes, wide // lanes
    square = _square(nest, turned, (u, row * lanes + top), (v, column * lanes + left), lanes, names)
    narrower = tuple(width for width in widths if width < lanes)
    right = _Area((u, top, rows * lanes), (v, left + columns * lanes, wide - columns * lanes))
    below = _Area((u, top + rows * lanes, high - rows * lanes), area.v)
    return (
        *rename_bound(nest.around((u, v), loop(row, rows, *loop(column, columns, *square))), names),
        *_covered(nest, turned, right, narrower, names),
        *_covered(nest, turned, below, narrower, names),
    )


def _square(
    nest: _Nest, turned: list[Load], row: tuple[Var, Expr], column: tuple[Var, Expr], lanes: int, names: Names
) -> Block:
    (u, top), (v, left) = row, column
    out: list[Stmt] = []
    rows: list[dict[Load, Var]] = [{} for _ in range(lanes)]
    for load in turned:
        loaded = []
        for number in range(lanes):
            place = _placed(load.index[0], {u: top, v: left + number})
            loaded.append(_named("column", Load(load.buffer, (place,), lanes), names, out))
        for found, vector in zip(rows, _transposed(loaded, names, out), strict=True):
            found[load] = vector
    elements = {load: Var(names.fresh("element"), load.type) for load in turned}
    plain = map_block(nest.body, lambda part: elements.get(part) if isinstance(part, Load) else None)
    for number, known in enumerate(rows):
        body = rename_bound(substitute(plain, {u: top + number}), names)
        seeds: dict[Var, Expr] = {elements[load]: vector for load, vector in known.items()}
        out += Vectorizer(v, lanes, left, names, seeds=seeds).block(body)
    return tuple(out)


def _transposed(vectors: list[Var], names: Names, out: list[Stmt]) -> list[Var]:
    """As many vectors as they have lanes, the first of all first lanes."""
    lanes = len(vectors)
    lower = tuple(lane // 2 + lanes * (lane % 2) for lane in range(lanes))
    upper = tuple(pick + lanes // 2 for pick in lower)
    for _ in range(int(log2(lanes))):
        halves = zip(vectors[: lanes // 2], vectors[lanes // 2 :], strict=True)
        vectors = [_named("turned", Shuffle(x, y, picks), names, out) for x, y in halves for picks in (lower, upper)]
    return vectors


def _named(stem: str, value: Expr, names: Names, out: list[Stmt]) -> Var:
    var = Var(names.fresh(stem), value.type)
    out.append(Let(var, value))
    return var


def _placed(index: Expr, places: dict[Var, Expr]) -> Expr:
    return map_expr(index, lambda part: places.get(part) if isinstance(part, Var) else None)
