"""Products of later inputs in the loop over time of a recurrence.

A step reads all recurrent weights once, from behind the fastest cache, and waits for them; multiplications cost nothing
meanwhile. So the products with the inputs of the next ``rows`` steps, which wait for nothing, are formed in the same
loops, a part in each block of units of each step::

    inputs of the first steps                       as a contraction of its own
    for each step t, block of units
      later = the place of (first + t / rows * rows)
      for each k of the state
        sums of step t                              a row of the state times all columns of the block
        inputs[later + 0 .. rows]                   one vector of columns of the block, some k of the input

``rows`` steps go over all vectors of columns of a block, and ``parts`` times: over another part of the k each time. The
order of the additions is that of one sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..ir.build import eq, load, lt, minimum, store
from ..ir.loops import Alloc, Block, Buffer, Const, Expr, For, If, Let, Load, Space, Splat, Type, Var
from ..ir.types import DType
from ..record import record
from ..targets.target import Dot
from .dots import multiply_accumulate
from .names import Names

MOST_ROWS, LEAST_ROWS = 8, 4
"""Steps whose inputs are multiplied together: more take registers, fewer read the input's weights too often."""


@record
class InputLayer:
    """``inputs[place, column] = bias[column] + sum over k < depth of x(place, k) * weights(vector, k)``.

    There are ``seq`` places, and ``columns`` in vectors of ``dot``, sections of ``hidden`` each. ``backward``: step s
    is at the place seq - 1 - s.
    """

    inputs: Buffer
    x: Callable[[Expr, Expr], Load]
    weights: Callable[[Expr, Expr], Expr]
    bias: Buffer | None
    dot: Dot
    seq: int
    depth: int
    columns: int
    hidden: int
    backward: bool

    def place(self, step: Expr) -> Expr:
        """The place of a step, or the step of a place."""
        return self.seq - 1 - step if self.backward else step


@record
class InputsAhead:
    """The products of ``layer`` that a loop over ``blocks`` blocks of units takes along."""

    layer: InputLayer
    blocks: int
    rows: int
    parts: int

    @staticmethod
    def of(layer: InputLayer, blocks: int, passages: int, registers: int) -> InputsAhead | None:
        """For loops over k of so many ``passages`` that leave so many ``registers``; ``None`` where they hold too few
        rows, steps are too few, or the depth cannot be divided evenly."""
        lanes = layer.dot.lanes
        if layer.hidden % (lanes * blocks):
            return None
        vectors = layer.columns // (lanes * blocks)
        found = None
        for parts in (1, 2, 4, 8):
            rows = vectors * parts
            fits = LEAST_ROWS <= rows <= min(MOST_ROWS, registers - 2) and 2 * rows <= layer.seq
            if fits and layer.depth % (parts * passages) == 0:
                found = InputsAhead(layer, blocks, rows, parts)
        return found

    @property
    def steps(self) -> int:
        """How many steps take products of later ones along."""
        return (self.layer.seq // self.rows - 1) * self.rows

    @property
    def first(self) -> int:
        """How many steps have their products in front of the loop."""
        return self.layer.seq - self.steps

    def join(self, nest: Block, place: Expr, block: Expr, names: Names) -> Block:
        """``nest``, which makes the sums of ``block`` in the step at ``place`` and has one loop, over k, with a share
        of the products in that loop."""
        layer, lanes, turns = self.layer, self.layer.dot.lanes, self.rows // self.parts
        (at,) = (number for number, stmt in enumerate(nest) if isinstance(stmt, For))
        k_loop = nest[at]
        assert isinstance(k_loop, For) and isinstance(k_loop.extent, Const)
        step = layer.place(place)
        turn, part = step % turns, step % self.rows // turns
        later = minimum(self.first + step // self.rows * self.rows, layer.seq - self.rows)
        per_section = layer.hidden // lanes // self.blocks
        vector = turn // per_section * (per_section * self.blocks) + block * per_section + turn % per_section
        acc = Buffer(names.fresh("ahead"), Type(DType.F32, lanes), (self.rows,), Space.REG)
        sums = [load(layer.inputs, layer.place(later + row), vector * lanes, lanes=lanes) for row in range(self.rows)]
        zero = Type(DType.F32, lanes)(0)
        start = zero if layer.bias is None else load(layer.bias, vector * lanes, lanes=lanes)
        begin = If(
            eq(part, 0),
            tuple(store(acc[row], start) for row in range(self.rows)),
            tuple(store(acc[row], each) for row, each in enumerate(sums)),
        )
        depth = layer.depth // self.parts
        each = depth // int(k_loop.extent.value)
        products: Block = ()
        for number in range(each):
            k = part * depth + k_loop.var * each + number
            w = Var(names.fresh("wa"), Type(DType.F32, lanes))
            products += (Let(w, layer.weights(vector, k)),)
            for row in range(self.rows):
                x = Splat(layer.x(layer.place(later + row), k), lanes)
                products += (store(acc[row], multiply_accumulate(layer.dot, x, w, acc[row])),)
        finish = tuple(store(each, acc[row]) for row, each in enumerate(sums))
        joined = replace(k_loop, body=(*k_loop.body, *products))
        both = (Alloc(acc), begin, *nest[:at], joined, *nest[at + 1 :], *finish)
        return (If(lt(step, self.steps), both, nest),)
