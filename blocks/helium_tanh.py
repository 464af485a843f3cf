"""The hyperbolic tangent of words on cores with Helium, between neighbouring entries of a table, which are gathered.

The arithmetic is that of the gates of integer recurrent layers (``ops/int_recurrent_nest.py``).
"""

from __future__ import annotations

from ..ir.build import absolute, lt, minimum, select, store
from ..ir.loops import I32, INDEX, U32, Access, Expr, Kernel, Let, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from .common import Number, param, power
from .instruction import MVE, BlockInstruction, Cycles

TABLE_BITS, TABLE_REACH = 6, 8
"""Entries of a table in a unit of the argument, as a power of two, and units."""


def _tanh(count: Number, shift: Number) -> Kernel:
    """``u = tanh(u)`` in place, of arguments with ``shift`` more bits of fraction than the table has; those beyond the
    table are its last."""
    u = param("u", DType.I32, count, Access.READ_WRITE, 4)
    table = param("table", DType.U16, (TABLE_REACH << TABLE_BITS) + 1, Access.READ, 2)
    i, given, a, place, part = Var("i"), Var("given", I32), Var("a", I32), Var("place"), Var("part", I32)
    low, value = Var("low", I32), Var("value", I32)
    most = power(shift) * (TABLE_REACH << TABLE_BITS) - 1

    def entry(at: Expr) -> Expr:
        return I32(table[at])

    body = (
        Let(given, u[i]),
        Let(a, I32(minimum(U32(absolute(given)), U32(most)))),
        Let(place, INDEX(a >> I32(shift))),
        Let(low, entry(place)),
        Let(part, (entry(place + 1) - low) * (a & (power(shift) - 1)) + power(shift - 1)),
        Let(value, low + (part >> I32(shift))),
        store(u[i], select(lt(given, 0), -value, value)),
    )
    return Kernel("tanh", (u, table), loop(i, count, *body))


ROWS: tuple[BlockInstruction, ...] = (
    BlockInstruction(
        "helium_tanh", ("count", "shift"), _tanh, MVE, ((21, 14), (12, 21)),
        cycles=Cycles(mve=lambda count, *_: 36 + 29 * -(-count // 4)),
    ),
)
