"""Kernels with scalars for one call: what they mean."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from .loops import F32, I32, INDEX, Bitcast, Buffer, Const, Convert, Expr, Kernel, Var
from .loops_rewrite import map_accesses
from .program import Program
from .steps import Call


def specialized(kernel: Kernel, scalars: Sequence[int], sizes: Sequence[int]) -> Kernel:
    """``kernel`` without scalars: ``scalars`` in their place, and its parameters as long as arguments of ``sizes``
    elements. The last ones are kept: whoever reasons about calls looks at the same of them again.

    ::

        kernel copy(x: i8[8] const, y: i8[8] out, n: index)     kernel copy(x: i8[64] const, y: i8[16] out)
          for i:n                                               for i:16
            y[i] = x[i*2]                                         y[i] = x[i*2]
    """
    return _specialized(kernel, tuple(scalars), tuple(sizes)) if kernel.scalars else kernel


@lru_cache(maxsize=256)
def _specialized(kernel: Kernel, scalars: tuple[int, ...], sizes: tuple[int, ...]) -> Kernel:
    values = {var: Const(value, INDEX) for var, value in zip(kernel.scalars, scalars, strict=True)}
    sized = {param: replace(param, shape=(size,)) for param, size in zip(kernel.params, sizes, strict=True)}

    def place(buffer: Buffer, index: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        return sized.get(buffer, buffer), index

    def rule(expr: Expr) -> Expr | None:
        return values.get(expr) if isinstance(expr, Var) else folded_literal(expr)

    body = map_accesses(kernel.body, place, rule)
    return replace(kernel, params=tuple(sized.values()), body=body, scalars=())


def specialized_call(program: Program, kernels: Mapping[str, Kernel], call: Call) -> Kernel:
    """The kernel that ``call`` runs, without scalars."""
    return specialized(kernels[call.kernel], call.scalars, [element_count(program, name) for name in call.args])


def element_count(program: Program, buffer: str) -> int:
    decl = program.buffers[buffer]
    return decl.nbytes // decl.dtype.size


# ---------------------------------------------------------------- literals as scalars


def scalar_of(literal: Const) -> int | None:
    """The scalar that can stand for a literal of one lane, a number of 32 bits; ``None`` where there is none."""
    if literal.type == F32:
        (value,) = struct.unpack("<i", struct.pack("<f", literal.value))
    elif literal.type.lanes == 1 and literal.type.dtype.is_integer:
        value = int(literal.value)
    else:
        return None
    return value if -(1 << 31) <= value < 1 << 31 else None


def literal_of(scalar: Expr, literal: Const) -> Expr:
    """An expression of the type of ``literal`` for a scalar in its place; :func:`folded_literal` undoes it."""
    if literal.type == INDEX:
        return scalar
    if literal.type == F32:
        return Bitcast(F32, Convert(I32, scalar))
    return Convert(literal.type, scalar)


def folded_literal(expr: Expr) -> Const | None:
    """The literal that the conversion of an ``index`` literal is."""
    to = expr.type
    if isinstance(expr, Convert) and isinstance(expr.x, Const) and expr.x.type == INDEX and to.dtype.is_integer:
        return Const(int(expr.x.value), expr.type)
    if isinstance(expr, Bitcast) and expr.type == F32 and isinstance(expr.x, Const) and expr.x.type == I32:
        return Const(struct.unpack("<f", struct.pack("<i", int(expr.x.value)))[0], F32)
    return None
