"""``int_sqrt`` as a function of ONNX operators, and calls of that function as ``int_sqrt``.

The body finds the root bit by bit, in integers: any runtime of ONNX computes the same. Machines with a float unit have
a shorter way to the same numbers (``ops/root_exprs.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

from ..ir.graph import Value
from ..ir.types import DType
from ..ops.root_exprs import ROOT_BITS
from .context import NodeContext
from .feature_function import DOMAIN, OPSET, same_function
from .node_writer import NodeWriter

NAME = "IntegerRoot"


def integer_root_function() -> onnx.FunctionProto:
    """``(x uint32[...]) -> (root uint32[...])``: the integer nearest to the square root of min(x, 2^30)."""
    writer = NodeWriter()

    def number(value: int) -> str:
        return writer.constant(np.array(value, np.uint32))

    root = number(0)
    for bit in reversed(range(ROOT_BITS)):
        tried = writer.emit("Add", root, number(1 << bit))
        fits = writer.emit("LessOrEqual", writer.emit("Mul", tried, tried), "x")
        root = writer.emit("Where", fits, tried, root)
    rest = writer.emit("Sub", "x", writer.emit("Mul", root, root))
    result = writer.emit("Add", root, writer.cast(writer.emit("Greater", rest, root), np.uint32))
    return helper.make_function(DOMAIN, NAME, ["x"], [result], writer.nodes, [helper.make_opsetid("", OPSET)])


def integer_root_call(ctx: NodeContext, function: onnx.FunctionProto) -> Sequence[Value] | None:
    """The result of a call of ``function`` where it is that of :func:`integer_root_function`, else ``None``."""
    known = function.domain == DOMAIN and function.name == NAME and len(ctx.inputs) == 1
    if not known or ctx.input(0).dtype is not DType.U32 or not same_function(function, integer_root_function()):
        return None
    return [ctx.emit("int_sqrt", ctx.input(0), bitwise=False)]
