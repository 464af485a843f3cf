"""Estimated cycles of a kernel's loops from what the data of its CPU say: issue slots, ports, latency and registers.

For cores of whose machine code nothing is predicted (``costs/predict.py``). Of the body of a loop, operations are
counted by the port that they need; out of order the busiest port decides, or the longest chain of sums, in order all of
them together. Registers that a body fills beyond those that there are, are stored and loaded once in each iteration.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import prod

from ..ir.loops import (
    INDEX,
    Alloc,
    Binary,
    Bitcast,
    Block,
    Call,
    Const,
    Convert,
    Expr,
    For,
    If,
    Kernel,
    Lane,
    Let,
    Load,
    Reduce,
    Select,
    Shuffle,
    Space,
    Stmt,
    Store,
    Unary,
)
from ..ir.loops_rewrite import most_passages, stmt_exprs, walk_expr, walk_stmts
from ..targets.target import Cpu

_ISSUE = 6
"""Instructions that start in a cycle out of order."""
_ITERATION = 2
"""Instructions for counting and jumping back."""
_ACCESSES = 2
"""Of memory, for a value that no register holds."""
_BRANCH = 0.5
"""How often a side of a condition is taken."""


@dataclass
class _Work:
    """What one passage of a block does, without the loops in it; ``inner`` are their cycles."""

    products: float = 0
    memory: float = 0
    others: float = 0
    inner: float = 0
    updates: Counter[str] = field(default_factory=Counter)

    def add(self, other: _Work, share: float = 1.0) -> None:
        self.products += share * other.products
        self.memory += share * other.memory
        self.others += share * other.others
        self.inner += share * other.inner
        self.updates.update(other.updates)


def estimated_cycles(kernel: Kernel, cpu: Cpu) -> float:
    """Of one call of ``kernel``, whose loops are unrolled; the extent of a loop that only a run knows counts as one."""
    return _Estimate(kernel, cpu).block(kernel.body)


class _Estimate:
    def __init__(self, kernel: Kernel, cpu: Cpu) -> None:
        self.cpu = cpu
        self.elements = {
            stmt.buffer.name: max(1, prod(stmt.buffer.shape))
            for stmt in walk_stmts(kernel.body)
            if isinstance(stmt, Alloc) and stmt.buffer.space is Space.REG
        }

    def block(self, block: Block) -> float:
        work = self._work(block)
        return work.inner + self._straight(work)

    def _straight(self, work: _Work) -> float:
        pipeline = self.cpu.pipeline
        all_of = work.products + work.memory + work.others
        if pipeline.in_order:
            return work.products / pipeline.multiply_adds + work.memory / pipeline.loads + work.others
        chain = max(work.updates.values(), default=0) * pipeline.latency
        return max(work.products / pipeline.multiply_adds, work.memory / pipeline.loads, all_of / _ISSUE, chain)

    def _loop(self, stmt: For) -> float:
        work = self._work(stmt.body)
        spilled = self._spilled(stmt.body) if not work.inner else 0
        work.memory += _ACCESSES * spilled
        work.others += _ITERATION
        return (most_passages(stmt.extent) or 1) * (work.inner + self._straight(work))

    def _spilled(self, block: Block) -> int:
        """Values of a loop that no register holds: registers that it names, of vectors or scalars, and one for what it
        computes in between."""
        named: set[tuple[str, tuple[Expr, ...]]] = set()
        for stmt in walk_stmts(block):
            for expr in stmt_exprs(stmt):
                named |= {(p.buffer.name, p.index) for p in walk_expr(expr) if isinstance(p, Load) and self._kept(p)}
            if isinstance(stmt, Store) and stmt.buffer.name in self.elements:
                named.add((stmt.buffer.name, stmt.index))
        there = self.cpu.registers.vector or self.cpu.registers.scalar
        return max(0, len(named) + 1 - there)

    def _kept(self, load: Load) -> bool:
        return load.buffer.name in self.elements

    def _work(self, block: Block) -> _Work:
        work = _Work()
        for stmt in block:
            self._statement(stmt, work)
        return work

    def _statement(self, stmt: Stmt, work: _Work) -> None:
        for expr in stmt_exprs(stmt):
            for part in walk_expr(expr):
                self._expression(part, work)
        match stmt:
            case For():
                work.inner += self._loop(stmt)
            case If():
                work.others += 1
                for side in (stmt.then, stmt.orelse):
                    work.add(self._work(side), _BRANCH)
            case Store() if stmt.buffer.name in self.elements:
                if any(isinstance(part, Call) for part in walk_expr(stmt.value)):
                    work.updates[f"{stmt.buffer.name}{stmt.index}"] += 1
            case Store():
                work.memory += 1
            case Let() | _:
                pass

    def _expression(self, part: Expr, work: _Work) -> None:
        if part.type == INDEX or isinstance(part, Const):
            return
        match part:
            case Load():
                work.memory += not self._kept(part)
            case Call() if part.type.lanes > 1 or part.function == "fma":
                work.products += 1
            case Binary() | Unary() | Select() | Convert() | Bitcast() | Reduce() | Lane() | Shuffle() | Call():
                work.others += 1
            case _:
                pass
