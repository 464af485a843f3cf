"""A proof that memory of a kernel carries nothing from one passage of a loop to another, so that each may have its own.

That is so where, in a passage, nothing is read that has not been written in it before, and what is accessed does not
depend on which passage it is::

    for block:7
      for t:14, c:64:   scratch[t, c] = ...            all of scratch[0..13, 0..63]
      for n:8:          ... = scratch[t, c] ...        nothing else

Statements are looked at in their order: those of a loop that reads and writes the memory, one by one, for any of its
passages; those of others by going through all elements that they touch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from math import prod

import numpy as np

from .bounds import Bounds
from .loops import Access, Block, Buffer, Expr, For, If, Invoke, Let, Space, Stmt, Store, Var, const_value
from .loops_rewrite import most_lanes, stmt_loads, substitute, used_buffers, walk_stmts

MOST_ELEMENTS = 1 << 22
"""Accesses of one statement that are gone through at most."""


Pointed = Callable[[str, tuple[int, ...]], Sequence[tuple[Access, int]]]
"""For each pointer of a block instruction with its scalars: how it is used, and how many bytes it is to."""


def is_private(buffer: str, loops: Sequence[For], pointed: Pointed) -> bool:
    """Whether passages of ``loops``, each of which holds nothing but the next, provably leave each other nothing in the
    buffer of that name, if it is theirs alone. ``pointed`` tells what block instructions touch."""
    body = loops[-1].body
    found = next((each for each in used_buffers(body) if each.name == buffer), None)
    if found is None:
        return False
    return _Proof(found, pointed).block(body, np.zeros(prod(found.shape), bool))


class _Proof:
    def __init__(self, buffer: Buffer, pointed: Pointed) -> None:
        self.buffer = buffer
        self.pointed = pointed

    def block(self, body: Block, written: np.ndarray) -> bool:
        """Whether everything that ``body`` reads of the buffer is ``written``, which is brought up to date."""
        lets: dict[Var, Expr] = {}
        for stmt in body:
            (stmt,) = substitute((stmt,), lets)
            if isinstance(stmt, Let):
                lets[stmt.var] = stmt.value
            reads, writes = self._touches((stmt,))
            if reads and writes and isinstance(stmt, For):
                if not self.block(stmt.body, written):
                    return False
                continue
            if reads and writes and isinstance(stmt, If):
                if not self.block(stmt.then, written.copy()) or not self.block(stmt.orelse, written.copy()):
                    return False
                continue
            if reads and not self._read((stmt,), {}, written):
                return False
            if writes:
                self._write((stmt,), {}, written)
        return True

    def _touches(self, body: Block) -> tuple[bool, bool]:
        """Whether statements read the buffer, and whether they write it."""
        stmts = list(walk_stmts(body))
        reads = any(load.buffer.name == self.buffer.name for load in chain.from_iterable(map(stmt_loads, stmts)))
        writes = any(isinstance(stmt, Store) and stmt.buffer.name == self.buffer.name for stmt in stmts)
        for access, _, _ in chain.from_iterable(map(self._pointers, stmts)):
            reads, writes = reads or access is not Access.WRITE, writes or access is not Access.READ
        return reads, writes

    def _pointers(self, stmt: Stmt) -> list[tuple[Access, tuple[Expr, ...], int]]:
        """What a block instruction does with the buffer: where, and with how many elements."""
        if not isinstance(stmt, Invoke) or all(each.buffer.name != self.buffer.name for each in stmt.pointers):
            return []
        return [
            (access, pointer.index, nbytes // self.buffer.dtype.size)
            for (access, nbytes), pointer in zip(self.pointed(stmt.block, stmt.numbers), stmt.pointers, strict=True)
            if pointer.buffer.name == self.buffer.name
        ]

    def _read(self, body: Block, loops: dict[Var, int], written: np.ndarray) -> bool:
        """Whether all elements are ``written`` that statements read, whatever conditions there are."""
        for stmt in body:
            for load in stmt_loads(stmt):
                if load.buffer.name == self.buffer.name:
                    elements = self._elements(load.index, most_lanes(load.lanes, load.active), loops)
                    if elements is None or not written[elements].all():
                        return False
            for access, index, count in self._pointers(stmt):
                elements = self._elements(index, count, loops) if access is not Access.WRITE else np.zeros(0, int)
                if elements is None or elements.max(initial=0) >= written.size or not written[elements].all():
                    return False
            if isinstance(stmt, For):
                extent = const_value(stmt.extent)
                if not isinstance(extent, int) or not self._read(stmt.body, {**loops, stmt.var: extent}, written):
                    return False
            if isinstance(stmt, If) and not self._read((*stmt.then, *stmt.orelse), loops, written):
                return False
        return True

    def _write(self, body: Block, loops: dict[Var, int], written: np.ndarray) -> None:
        """Notes the elements that statements write under no condition."""
        for stmt in body:
            if isinstance(stmt, For) and isinstance(extent := const_value(stmt.extent), int) and extent > 0:
                self._write(stmt.body, {**loops, stmt.var: extent}, written)
            elif isinstance(stmt, Store) and stmt.buffer.name == self.buffer.name and _is_known(stmt.active):
                elements = self._elements(stmt.index, most_lanes(stmt.value.type.lanes, stmt.active), loops)
                if elements is not None:
                    written[elements] = True

    def _elements(self, index: Sequence[Expr], lanes: int, loops: dict[Var, int]) -> np.ndarray | None:
        """The elements that an access touches in all passages of ``loops``; ``None`` where that depends on more."""
        lanes = 1 if self.buffer.space is Space.REG else lanes
        bounds, flat = Bounds(), np.zeros(1, np.int64)
        forms = [bounds.linear(expr) for expr in index]
        if any(atom not in loops for form in forms for atom in form.terms):
            return None
        used = [var for var in loops if any(var in form.terms for form in forms)]
        if lanes * prod(loops[var] for var in used) > MOST_ELEMENTS:
            return None
        for form, stride in zip(forms, self.buffer.strides, strict=True):
            flat = flat + int(form.const) * stride
        for var in used:
            step = sum(int(form.terms.get(var, 0)) * stride for form, stride in zip(forms, self.buffer.strides))
            flat = (flat[:, None] + step * np.arange(loops[var])).reshape(-1)
        return (flat[:, None] + np.arange(lanes)).reshape(-1)


def _is_known(active: Expr | None) -> bool:
    """Whether it is known how many lanes are active."""
    return active is None or const_value(active) is not None
