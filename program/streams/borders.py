"""Kernels that write borders before they loop over rows, as loops over rows.

Before::                                        After::

    for i: y[i + 1, 0] = 0     (border)             for n: y[0, n] = 0
    for n: y[0, n] = 0                              for i:
    for n: y[9, n] = 0                                y[i + 1, 0] = 0
    for i, j: y[i + 1, j + 1] = f(x, i, j)            for j: y[i + 1, j + 1] = f(x, i, j)
                                                    for n: y[9, n] = 0

Only the order changes in which elements are written that do not depend on each other.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.loops import Fetch, For, Invoke, Kernel, Stmt, Store, const_value
from ...ir.loops_rewrite import stmt_loads, substitute, walk_stmts
from ...memory.trace import OuterLoop, Touches, trace_kernel
from ...record import record


@record
class _Written:
    """The bytes of its result that a loop of a kernel writes."""

    begin: int
    end: int


def with_borders(kernel: Kernel) -> Kernel:
    """``kernel`` with the borders of a row written with the row."""
    number = _main(kernel)
    if number is None or number == 0:
        return kernel
    main = kernel.body[number]
    spans = {outer.position: _written(kernel, outer) for outer in trace_kernel(kernel).loops}
    own = spans.get(number)
    if not isinstance(main, For) or own is None:
        return kernel
    before: list[Stmt] = []
    inside: list[Stmt] = []
    behind: list[Stmt] = []
    for place, stmt in enumerate(kernel.body[:number]):
        span = spans.get(place)
        if not isinstance(stmt, For) or span is None or not _is_fill(stmt):
            return kernel
        if span.end <= own.begin:
            before.append(stmt)
        elif span.begin >= own.end:
            behind.append(stmt)
        elif stmt.extent == main.extent:
            inside += substitute(stmt.body, {stmt.var: main.var})
        else:
            return kernel
    merged = replace(main, body=(*inside, *main.body))
    return replace(kernel, body=(*before, merged, *behind, *kernel.body[number + 1 :]))


def _main(kernel: Kernel) -> int | None:
    """The longest of the outermost loops that read anything."""
    loops = {
        number: const_value(stmt.extent) or 0
        for number, stmt in enumerate(kernel.body)
        if isinstance(stmt, For) and any(_reads(inner) for inner in walk_stmts((stmt,)))
    }
    return max(loops, key=lambda number: loops[number], default=None)


def _reads(stmt: Stmt) -> bool:
    return isinstance(stmt, (Invoke, Fetch)) or bool(stmt_loads(stmt))


def _is_fill(stmt: For) -> bool:
    """Whether it does nothing but store what depends on no memory."""
    inner = list(walk_stmts(stmt.body))
    return all(isinstance(each, (For, Store)) and not _reads(each) for each in inner)


def _written(kernel: Kernel, outer: OuterLoop) -> _Written | None:
    """``None`` where a loop writes nothing, or several tensors."""
    parts = [part for touches in trace_kernel(kernel).writes.values() if (part := _inside(touches, outer)) is not None]
    return parts[0] if len(parts) == 1 else None


def _inside(touches: Touches, outer: OuterLoop) -> _Written | None:
    steps = outer.iterations(touches)
    chosen = (steps >= 0) & (steps < outer.extent)
    if not chosen.any():
        return None
    return _Written(int(touches.begin[chosen].min()), int(touches.end[chosen].max()))
