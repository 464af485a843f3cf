"""Control flow -> steps.

Both graphs of an ``if`` leave their results in the buffers of the node's. The states of a ``loop`` are in the buffers
of the node's results: they are copied there before the first pass, and each pass ends with copies of the new ones,
which are complete by then. Rows are stored where the number of the pass says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..ir.build import maximum, minimum, store
from ..ir.graph import Graph, GraphBuilder, NameSupply, Node, Value
from ..ir.loops import INDEX, Access, Buffer, Kernel, Let, Type, Var
from ..ir.loops_rewrite import loop as loop_over
from ..ir.steps import Body, Branch, Call, Repeat, Step, buffers_of
from ..ir.types import DType, TensorType
from ..ops.attributes import integer, subgraph
from ..ops.control import NO_LIMIT
from ..ops.table import infer_types
from ..schedule.outputs import copy_value


class Lowering(Protocol):
    """What the lowering of the graph around control flow gives."""

    def place(self, value: Value) -> str:
        """The buffer of a value."""
        ...

    def inner(self, graph: Graph, given: Sequence[str], results: Sequence[str]) -> Body:
        """The steps of a graph with its inputs in the buffers ``given`` and its outputs in ``results``."""
        ...

    def add_kernel(self, kernel: Kernel) -> str:
        """The name of a kernel like this one, which is called after it."""
        ...

    def add_tensor(self, stem: str, type_: TensorType) -> str:
        """A new buffer of the arena."""
        ...


def lower_control(node: Node, lowering: Lowering) -> Body:
    """The steps of an ``if`` or a ``loop``."""
    return _branch(node, lowering) if node.op == "if" else _Loop(node, lowering).steps()


def copy_steps(type_: TensorType, source: str, target: str, lowering: Lowering, loc: str = "") -> Body:
    """The steps that copy a tensor from one buffer to another."""
    value = Value("x", type_)
    builder = GraphBuilder(infer_types, NameSupply(["x"]))
    copied = copy_value(builder, value, "y", loc)
    return lowering.inner(Graph("copy", (value,), (copied,), tuple(builder.nodes)), [source], [target])


def _branch(node: Node, lowering: Lowering) -> Body:
    condition, *given = (lowering.place(value) for value in node.operands)
    results = [lowering.place(value) for value in node.outputs]
    then, orelse = (lowering.inner(subgraph(node.attrs, name), given, results) for name in ("then", "orelse"))
    return (Branch(condition, then, orelse, node.loc),) if then or orelse else ()


class _Loop:
    def __init__(self, node: Node, lowering: Lowering) -> None:
        self.node, self.lowering, self.step = node, lowering, subgraph(node.attrs, "step")
        self.limit, self.tested = integer(node.attrs, "limit"), bool(node.attrs["tested"])
        states = integer(node.attrs, "states")
        self.states, self.rows = node.outputs[:states], node.outputs[states:]
        places = [None if value is None else lowering.place(value) for value in node.inputs]
        self.count, self.going = places[:2]
        operands = [place for place in places[2:] if place is not None]
        self.first, self.captured = operands[:states], operands[states:]
        self.number = lowering.add_tensor("number", self.step.inputs[0].type)

    def steps(self) -> Body:
        lowering = self.lowering
        states, rows = [list(map(lowering.place, values)) for values in (self.states, self.rows)]
        every = self.count is None and self.going is None and not self.tested
        steps: list[Step] = []
        for value, source, target in zip(self.states, self.first, states, strict=True):
            steps += self._copy(value.type, source, target)
        condition = self._start(steps) if self.tested else self.going
        if not every:
            for value, target in zip(self.rows, rows, strict=True):
                steps += self._fill(0, value.type, target)
        repeated = self._pass(states, rows, condition, every)
        limit = None if self.limit == NO_LIMIT else self.limit
        number = self.number if self.number in buffers_of(repeated) else None
        loop = Repeat(repeated, limit, self.count, condition, number, self.node.loc)
        return (*steps, loop) if repeated else tuple(steps)

    def _start(self, steps: list[Step]) -> str:
        """The buffer of the condition for the next pass, with that for the first one."""
        type_ = TensorType(DType.BOOL, ())
        condition = self.lowering.add_tensor("going", type_)
        steps += self._fill(1, type_, condition) if self.going is None else self._copy(type_, self.going, condition)
        return condition

    def _pass(self, states: Sequence[str], rows: Sequence[str], condition: str | None, every: bool) -> Body:
        """One pass: the graph, whose results have buffers of their own, then what becomes of them."""
        own = self.step.outputs[1:] if self.tested else self.step.outputs
        made = [self.lowering.add_tensor("next" if n < len(states) else "row", v.type) for n, v in enumerate(own)]
        results = [condition, *made] if self.tested and condition is not None else made
        steps: list[Step] = [*self.lowering.inner(self.step, [self.number, *states, *self.captured], results)]
        for value, source, target in zip(own, made, states, strict=False):
            steps += self._copy(value.type, source, target)
        stored = zip(own[len(states) :], made[len(states) :], rows, strict=True)
        steps += [self._store(value.type, source, target, every) for value, source, target in stored]
        return tuple(steps)

    def _copy(self, type_: TensorType, source: str, target: str) -> Body:
        return copy_steps(type_, source, target, self.lowering, self.node.loc)

    def _fill(self, number: int, type_: TensorType, target: str) -> Body:
        """Every element a ``number``."""
        array = np.array(number, type_.dtype.numpy)
        array.flags.writeable = False
        value, result = Value("x", TensorType(type_.dtype, ())), Value("y", TensorType(type_.dtype, type_.shape))
        expand = Node("expand", (value,), (result,), {"shape": type_.shape})
        body = Graph("fill", (value,), (result,), (expand,))
        fused = Node("fused", (value,), (result,), {"body": body}, self.node.loc)
        return self.lowering.inner(Graph("fill", (), (result,), (fused,), {"x": array}), [], [target])

    def _store(self, type_: TensorType, row: str, rows: str, every: bool) -> Call:
        """``rows[number] = row``; where ``every`` row is written by some pass, nothing of them is read before."""
        element, size = Type(type_.dtype.stored), type_.size
        access = Access.WRITE if every else Access.READ_WRITE
        number = Buffer("number", Type(DType.I64), (), access=Access.READ)
        x = Buffer("x", element, (size,), access=Access.READ)
        y = Buffer("y", element, (self.limit, size), access=access)
        at, i = Var("at"), Var("i")
        place = maximum(minimum(INDEX(number[()]), self.limit - 1), 0)
        body = (Let(at, place), *loop_over(i, size, store(y[at, i], x[i])))
        kernel = self.lowering.add_kernel(Kernel("row", (number, x, y), body, self.node.loc))
        summary = f"row {type_} of {self.limit}"
        return Call(kernel, (self.number, row, rows), self.node.loc, generator="row", summary=summary)
