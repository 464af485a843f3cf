"""Loops over blocks of weights that every other pass of the loop around runs backwards.

What a pass read last is still in the fastest cache when the next one begins with it, though all of the weights are more
than that cache holds::

    for t:                           for t:
      for nb:8                         for part:2
        A                                let number = t odd ? 1 - part : part
      for nb:4                           if number == 0:
        B                                  for nb:8
                                             let block = t odd ? 7 - nb : nb
                                             A
                                         else: B likewise
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..ir.build import eq, select
from ..ir.loops import INDEX, Block, Expr, For, If, Let, Stmt, Var
from ..ir.loops_rewrite import substitute
from ..record import record
from .names import Names


def there_and_back(block: Block, groups: Sequence[Collection[Var]], names: Names) -> Block:
    """``block`` with the order of the loops of the variables in ``groups`` turned in odd passes of the loop around: of
    each loop, and of neighbouring ones of a group. Their passages may run in any order."""
    return _Turned({var: number for number, group in enumerate(groups) for var in group}, names).of(block, None)


@record
class _Turned:
    groups: dict[Var, int]
    names: Names

    def of(self, block: Block, around: Var | None) -> Block:
        """``block`` in a loop of the variable ``around``."""
        done: list[Stmt] = []
        run: list[For] = []
        for stmt in block:
            group = self.groups.get(stmt.var) if isinstance(stmt, For) and around is not None else None
            if run and group != self.groups[run[0].var]:
                done += self._run(run, around)
                run = []
            if group is not None:
                assert isinstance(stmt, For)
                run.append(stmt)
                continue
            if isinstance(stmt, For):
                stmt = replace(stmt, body=self.of(stmt.body, stmt.var))
            if isinstance(stmt, If):
                stmt = replace(stmt, then=self.of(stmt.then, around), orelse=self.of(stmt.orelse, around))
            done.append(stmt)
        return (*done, *self._run(run, around))

    def _run(self, run: Sequence[For], around: Var | None) -> Block:
        """Neighbouring loops, one of which is run in each passage of a loop over them."""
        if around is None or not run:
            return tuple(run)
        is_odd = eq(around % 2, 1)
        loops = [self._turned(each, is_odd) for each in run]
        if len(loops) == 1:
            return tuple(loops)
        part, number = (Var(self.names.fresh(stem)) for stem in ("part", "number"))
        chosen: Block = (loops[-1],)
        for position in reversed(range(len(loops) - 1)):
            chosen = (If(eq(number, position), (loops[position],), chosen),)
        last = len(loops) - 1
        return (For(part, INDEX(len(loops)), (Let(number, select(is_odd, last - part, part)), *chosen)),)

    def _turned(self, stmt: For, is_odd: Expr) -> For:
        number = Var(self.names.fresh("block"))
        turned = Let(number, select(is_odd, stmt.extent - 1 - stmt.var, stmt.var))
        return replace(stmt, body=(turned, *substitute(stmt.body, {stmt.var: number})))
