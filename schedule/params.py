"""The parameters of a kernel, found in its body."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..blocks import block_kernel
from ..ir.loops import Access, Block, Buffer, Fetch, Invoke, Load, Space, Store
from ..ir.loops_rewrite import map_accesses, stmt_exprs, walk_expr, walk_stmts


def bind_parameters(block: Block, scratch: Collection[str] = ()) -> tuple[Block, tuple[Buffer, ...], tuple[str, ...]]:
    """Gives every buffer that ``block`` uses its parameter, with the access that the body shows.

    A buffer that is seen under several shapes becomes one parameter a shape. Buffers named in ``scratch`` (temporaries,
    and results that a kernel works in) are ``out``: what is read there was written before in the same call. Returns the
    block, the parameters (what is read first, then what is written) and for each the name of the buffer that it stands
    for.
    """
    read, written = accessed(block)
    bound: dict[Buffer, Buffer] = {}
    count: dict[str, int] = {}
    for buffer in (*(b for b in read if b not in written), *written):
        number = count.get(buffer.name, 0)
        count[buffer.name] = number + 1
        access = Access.READ if buffer not in written else Access.READ_WRITE if buffer in read else Access.WRITE
        if buffer.name in scratch:
            access = Access.WRITE
        name = buffer.name if number == 0 else f"{buffer.name}_as{number}"
        bound[buffer] = replace(buffer, name=name, access=access)
    body = map_accesses(block, lambda buffer, index: (bound.get(buffer, buffer), index))
    return body, tuple(bound.values()), tuple(buffer.name for buffer in bound)


def accessed(block: Block) -> tuple[dict[Buffer, None], dict[Buffer, None]]:
    """Global buffers that are loaded, or fetched, and stored, in order of appearance."""
    read: dict[Buffer, None] = {}
    written: dict[Buffer, None] = {}
    for stmt in walk_stmts(block):
        for expr in stmt_exprs(stmt):
            for part in walk_expr(expr):
                if type(part) is Load and part.buffer.space is Space.GLOBAL:
                    read[part.buffer] = None
        if isinstance(stmt, Store) and stmt.buffer.space is Space.GLOBAL:
            written[stmt.buffer] = None
        if isinstance(stmt, Invoke):
            for param, pointer in zip(block_kernel(stmt.block, stmt.numbers).params, stmt.pointers, strict=True):
                if pointer.buffer.space is Space.GLOBAL:
                    (read if param.access is Access.READ else written)[pointer.buffer] = None
        if isinstance(stmt, Fetch):
            read[stmt.source] = None
            written[stmt.target.buffer] = None
    return read, written
