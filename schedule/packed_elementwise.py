"""Sums and products of two tensors of bytes on cores with packed arithmetic, four elements at a time.

    for i:n                                            for i:n/4
      y[i] = clamp((x1[i] - z1) * (x2[i] - z2) ...) ->   two words, each as two words of two halfwords
                                                         y[i*4] = ..., y[i*4+1] = ..., y[i*4+2] = ..., y[i*4+3] = ...

A word of four bytes is one load and two SXTB16, and a zero point goes along with these (SXTAB16). The multiplications
take their operands from either half of a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.build import maximum, minimum, store
from ..ir.graph import Node
from ..ir.loops import I8, I16, I32, Bitcast, Block, Buffer, Call, Expr, Let, Load, Stmt, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import integer
from ..ops.requantize_exprs import scaled_product
from .kernel import KernelContext

WORD = 4
TOGETHER = 4
"""Words of each operand that an iteration takes, which share its branch."""


def is_packed_elementwise(ctx: KernelContext) -> bool:
    """Whether the node is a ``rescale`` or ``rescale_product`` of whole tensors of signed bytes, without an anchor,
    with factors that a multiplication of halfwords takes."""
    node = ctx.body.nodes[-1]
    if len(ctx.body.nodes) != 1 or node.op not in ("rescale", "rescale_product"):
        return False
    if node.op == "rescale" and max(abs(integer(node.attrs, name)) for name in ("m1", "m2")) >= 1 << 15:
        return False
    refs = [ctx.refs.get(value.name) for value in (*node.operands, ctx.output)]
    shape = ctx.output.shape
    whole = all(ref is not None and ref.dense and ref.shape == shape and ref.buffer.dtype is DType.I8 for ref in refs)
    return whole and "widen_even_add" in ctx.cpu.features and ctx.output.type.size >= WORD * TOGETHER


def lower_packed_elementwise(ctx: KernelContext) -> Block:
    """What :func:`is_packed_elementwise` holds for."""
    node = ctx.body.nodes[0]
    size = node.output.type.size
    x1, x2, y = (ctx.refs[value.name].reshaped((size,)).buffer for value in (*node.operands, ctx.output))
    i, rest = Var(ctx.names.fresh("i")), Var(ctx.names.fresh("i"))
    step = WORD * TOGETHER
    block: Block = ()
    for word in range(TOGETHER):
        block += _word(ctx, node, (x1, x2), y, i * step + word * WORD)
    whole = size // step * step
    zeros = _zeros(node)
    single = [I32(x[rest + whole]) - zero for x, zero in zip((x1, x2), zeros, strict=True)]
    last = store(y[rest + whole], I8(_result(node, single)))
    return (*loop(i, size // step, *block), *(loop(rest, size - whole, last) if whole < size else ()))


def _word(ctx: KernelContext, node: Node, operands: Sequence[Buffer], y: Buffer, at: Expr) -> Block:
    """Four elements from ``at`` on; all are loaded before one is stored, for ``y`` may be one of the operands."""
    out: list[Stmt] = []
    halves: list[list[Expr]] = []
    for x, zero in zip(operands, _zeros(node), strict=True):
        word = Var(ctx.names.fresh("word"), I32)
        out.append(Let(word, Bitcast(I32, Load(x, (at,), WORD))))
        both = ((-zero & 0xFFFF) << 16 | (-zero & 0xFFFF)) + (1 << 31) & 0xFFFFFFFF
        sides = []
        for side in ("even", "odd"):
            half = Var(ctx.names.fresh(side), I32)
            call = Call(f"widen_{side}_add", (I32(both - (1 << 31)), word), I32) if zero else None
            out.append(Let(half, call or Call(f"widen_{side}", (word,), I32)))
            sides.append(half)
        halves.append([*(I32(I16(half)) for half in sides), *(half >> 16 for half in sides)])
    for lane, elements in enumerate(zip(*halves, strict=True)):
        out.append(store(y[at + lane], I8(_result(node, elements))))
    return tuple(out)


def _zeros(node: Node) -> tuple[int, int]:
    """What is taken off the operands; that of a ``rescale`` is in its bias."""
    return (integer(node.attrs, "z1"), integer(node.attrs, "z2")) if node.op == "rescale_product" else (0, 0)


def _result(node: Node, elements: Sequence[Expr]) -> Expr:
    """Of two elements without their zero points."""
    lhs, rhs = elements
    attrs = {name: integer(node.attrs, name) for name in node.attrs if name not in ("to", "y_scale", "upper")}
    if node.op == "rescale":
        total = lhs * attrs["m1"] + attrs["bias"] + rhs * attrs["m2"]
    else:
        total = scaled_product(lhs * rhs, node) + attrs["bias"]
    return minimum(maximum(total >> attrs["shift"], attrs["lo"]), attrs["hi"])
