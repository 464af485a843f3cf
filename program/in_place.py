"""Kernels whose result lies in the place of an operand: what they only copy is there already.

A scatter is a copy of all rows, then some of them anew::

    for i: y[i] = x[i]              (nothing)
    y[at] = row                     y[at] = row
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace

from ..ir.loops import Access, Block, For, If, Kernel, Let, Load, Stmt, Store
from ..ir.loops_rewrite import map_accesses, map_block, used_buffers, walk_stmts
from ..ir.program import BufferDecl, Storage
from ..ir.steps import Body, Call, has_control_flow, walk_calls
from ..record import record


@record
class InPlace:
    """A kernel without copies, and the arguments that are left."""

    kernel: Kernel
    args: tuple[str, ...]


def without_copies(kernel: Kernel, call: Call, old: str, new: str) -> InPlace | None:
    """``kernel`` for a ``call`` in which the buffer ``new`` lies in the place of ``old``: without the statements that
    copy elements of the one to the same place of the other before anything else is written there.

    ``None`` where there are none. What is left of the new tensor was there before, so that it is ``inout``.
    """
    sources = {param.name for param, name in zip(kernel.params, call.args, strict=True) if name == old}
    targets = {param.name for param, name in zip(kernel.params, call.args, strict=True) if name == new}
    if kernel.scalars or not sources or len(targets) != 1:
        return None
    body = _without_copies(kernel.body, sources, targets)
    if body == kernel.body:
        return None
    used = {buffer.name for buffer in used_buffers(body)}
    kept = [
        (replace(param, access=Access.READ_WRITE) if param.name in targets else param, name)
        for param, name in zip(kernel.params, call.args, strict=True)
        if name != old or param.name in used
    ]
    params = {param.name: param for param, _ in kept}
    body = map_accesses(body, lambda buffer, index: (params.get(buffer.name, buffer), index))
    return InPlace(replace(kernel, params=tuple(params.values()), body=body), tuple(name for _, name in kept))


def update_in_place(
    body: Body, buffers: Mapping[str, BufferDecl], kernels: Mapping[str, Kernel], add_kernel: Callable[[Kernel], str]
) -> tuple[Body, frozenset[str]]:
    """``body`` with results in the place of operands of the arena that they copy and that nobody else needs any more:
    both are one buffer, and the copy is left out. So are results of foreign kernels that allow it. Returns the buffers
    that are gone as well.

    ``add_kernel`` gives the name of a new kernel. Straight lines only.
    """
    if has_control_flow(body):
        return body, frozenset()
    calls = list(walk_calls(body))
    copying = {name for name, kernel in kernels.items() if _copies(kernel)}
    before = Counter(name for call in calls for name in set(call.args))
    behind: set[str] = set()
    moved: dict[str, str] = {}
    for number in reversed(range(len(calls))):
        call = calls[number]
        calls[number] = call = replace(call, args=tuple(moved.get(name, name) for name in call.args))
        before.subtract(set(call.args))
        for old, new in _allowed(kernels[call.kernel], call, buffers):
            if not before[new] and old not in behind and old not in moved:
                calls[number] = call = replace(call, args=tuple(new if name == old else name for name in call.args))
                moved[old], before[new] = new, before.pop(old)
        for old, new in _candidates(kernels[call.kernel], call, buffers) if call.kernel in copying else ():
            found = None if before[new] or old in behind else without_copies(kernels[call.kernel], call, old, new)
            if found is not None and found.kernel.body and old not in found.args:
                name = add_kernel(replace(found.kernel, name=in_place_name(found.kernel)))
                calls[number] = replace(call, kernel=name, args=found.args)
                moved[old], before[new] = new, before.pop(old)
                break
        behind.update(call.args)
    return tuple(calls), frozenset(moved)


def _allowed(kernel: Kernel, call: Call, buffers: Mapping[str, BufferDecl]) -> Iterator[tuple[str, str]]:
    """Operands of a foreign kernel, read once, with the results that may be in their place."""
    for written, read in kernel.foreign.in_place if kernel.foreign is not None else ():
        old, new = call.args[read], call.args[written]
        a, b = buffers[old], buffers[new]
        same = a.storage is Storage.ARENA and (a.dtype, a.nbytes) == (b.dtype, b.nbytes)
        if same and call.args.count(old) == call.args.count(new) == 1:
            yield old, new


def in_place_name(kernel: Kernel) -> str:
    """What a kernel is called after that was one of the name ``scatter_0``."""
    return f"{kernel.name.rpartition('_')[0]}_in_place"


def _copies(kernel: Kernel) -> bool:
    """Whether some statement stores what was loaded, as it is."""
    return any(isinstance(stmt, Store) and isinstance(stmt.value, Load) for stmt in walk_stmts(kernel.body))


def _candidates(kernel: Kernel, call: Call, buffers: Mapping[str, BufferDecl]) -> Iterator[tuple[str, str]]:
    """Operands of the arena with results of the same type and size."""
    params = list(zip(kernel.params, call.args, strict=True))
    for written, new in params:
        for read, old in params:
            a, b = buffers[old], buffers[new]
            same = old != new and a.storage is Storage.ARENA and (a.dtype, a.nbytes) == (b.dtype, b.nbytes)
            if same and read.access is Access.READ and written.access is Access.WRITE:
                yield old, new


def _without_copies(body: Block, sources: Set[str], targets: Set[str]) -> Block:
    """Statements in order, up to the first that writes something else to the target."""
    found: list[Stmt] = []
    for place, stmt in enumerate(body):
        rest = map_block((stmt,), lambda expr: None, lambda inner: _reduced(inner, sources, targets))
        if any(buffer.name in targets for buffer in used_buffers(rest)):
            return (*found, *body[place:])
        found += rest
    return tuple(found)


def _reduced(stmt: Stmt, sources: Set[str], targets: Set[str]) -> Block | None:
    """Nothing for a copy and for control flow that does nothing any more; ``None`` for all other statements."""
    match stmt:
        case Store(buffer, index, Load(source, place, _, active), stored):
            same = (buffer.shape, index, stored) == (source.shape, place, active)
            copies = buffer.name in targets and source.name in sources and same
            return () if copies else None
        case For(body=body):
            return () if all(isinstance(inner, Let) for inner in body) else None
        case If(then=then, orelse=orelse):
            return () if all(isinstance(inner, Let) for inner in (*then, *orelse)) else None
    return None
