"""Sums and products of two tensors of bytes on cores with packed arithmetic, four elements at a time.

    for i:n                                            for i:n/4
      y[i] = clamp((x1[i] - z1) * (x2[i] - z2) ...) ->   two words, each as two words of two halfwords
                                                         y[i*4] = ..., y[i*4+1] = ..., y[i*4+2] = ..., y[i*4+3] = ...

A word of four bytes is one load and two SXTB16, and a zero point goes along with these (SXTAB16). The multiplications
take their operands from either half of a word. One of the tensors may be broadcast along neighbouring dimensions, as
gates of channels are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..ir.build import maximum, minimum, store
from ..ir.graph import Node
from ..ir.loops import I8, I16, I32, Bitcast, Block, Buffer, Call, Expr, Let, Load, Stmt, Var
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.attributes import integer
from ..ops.requantize_exprs import scaled_product
from ..record import record
from .kernel import KernelContext

WORD = 4
TOGETHER = 4
"""Words of each operand that an iteration takes, which share its branch."""


def is_packed_elementwise(ctx: KernelContext) -> bool:
    """Whether the node is a ``rescale`` or ``rescale_product`` of whole tensors of signed bytes, or of one and another
    that is repeated, without an anchor, with factors that a multiplication of halfwords takes."""
    node = ctx.body.nodes[-1]
    if len(ctx.body.nodes) != 1 or node.op not in ("rescale", "rescale_product"):
        return False
    if node.op == "rescale" and max(abs(integer(node.attrs, name)) for name in ("m1", "m2")) >= 1 << 15:
        return False
    refs = [ctx.refs.get(value.name) for value in (*node.operands, ctx.output)]
    if not all(ref is not None and ref.dense and ref.buffer.dtype is DType.I8 for ref in refs):
        return False
    known = ctx.refs[ctx.output.name].shape == ctx.output.shape and _places(ctx, node) is not None
    return known and "widen_even_add" in ctx.cpu.features and ctx.output.type.size >= WORD * TOGETHER


@record
class _Places:
    """Lines of ``inner`` elements, ``times`` of which make each of ``outer`` parts of the result. Each operand has all
    of them, or where it is ``repeated`` a line for each part."""

    outer: int
    times: int
    inner: int
    repeated: tuple[bool, bool]


def _places(ctx: KernelContext, node: Node) -> _Places | None:
    """``None`` where both operands are broadcast, one not along neighbouring dimensions, or to lines of no whole
    words."""
    shape = ctx.output.shape
    size, repeated = prod(shape), tuple(value.shape != shape for value in node.operands)
    if repeated == (False, False):
        return _Places(1, 1, size, (False, False))
    if repeated == (True, True):
        return None
    small = node.operands[repeated.index(True)].shape
    small = (1,) * (len(shape) - len(small)) + small
    along = [dim for dim, (extent, own) in enumerate(zip(shape, small, strict=True)) if extent != own]
    first, last = along[0], along[-1] + 1
    inner = prod(shape[last:])
    if inner % WORD or any(extent != 1 for extent in small[first:last]):
        return None
    return _Places(prod(shape[:first]), prod(shape[first:last]), inner, (repeated[0], repeated[1]))


def lower_packed_elementwise(ctx: KernelContext) -> Block:
    """What :func:`is_packed_elementwise` holds for."""
    node = ctx.body.nodes[0]
    places = _places(ctx, node)
    assert places is not None
    part, line = Var(ctx.names.fresh("part")), Var(ctx.names.fresh("line"))
    whole = (part * places.times + line) * places.inner
    starts = [part * places.inner if repeated else whole for repeated in places.repeated]
    refs = (ctx.refs[value.name] for value in (*node.operands, ctx.output))
    buffers = [ref.reshaped((prod(ref.shape),)).buffer for ref in refs]
    block = _line(ctx, node, buffers, (*starts, whole), places.inner)
    return loop(part, places.outer, *loop(line, places.times, *block))


def _line(
    ctx: KernelContext, node: Node, buffers: Sequence[Buffer], starts: Sequence[Expr], size: int
) -> Block:
    """Neighbouring elements, from ``starts`` of the operands and of the result on."""

    def words(at: Expr, count: int) -> Block:
        places = ([start + at + word * WORD for start in starts] for word in range(count))
        return tuple(stmt for place in places for stmt in _word(ctx, node, buffers, place))

    i, rest, step = Var(ctx.names.fresh("i")), Var(ctx.names.fresh("i")), WORD * TOGETHER
    done = size // step * step
    block = loop(i, size // step, *words(i * step, TOGETHER))
    if (size - done) % WORD == 0:
        return (*block, *(loop(rest, (size - done) // WORD, *words(rest * WORD + done, 1)) if done < size else ()))
    *loads, target = (buffer[start + (rest + done)] for buffer, start in zip(buffers, starts, strict=True))
    single = [I32(x) - zero for x, zero in zip(loads, _zeros(node), strict=True)]
    return (*block, *loop(rest, size - done, store(target, I8(_result(node, single)))))


def _word(ctx: KernelContext, node: Node, buffers: Sequence[Buffer], places: Sequence[Expr]) -> Block:
    """Four elements from the ``places`` of the operands and of the result on; all are loaded before one is stored, for
    the result may be where an operand is."""
    out: list[Stmt] = []
    halves: list[list[Expr]] = []
    *operands, y = zip(buffers, places, strict=True)
    for (x, at), zero in zip(operands, _zeros(node), strict=True):
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
        out.append(store(y[0][y[1] + lane], I8(_result(node, elements))))
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
