"""What follows requantized bytes on cores with Helium: a lookup by a block, or the kernel's own body."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...blocks.helium import STEP
from ...ir.graph import Node, Value
from ...ir.loops import Block, Buffer, Expr, Invoke, Pointer, Var, as_expr
from ...ir.loops_rewrite import loop
from ...ir.types import DType
from ...ops.attributes import integer
from ..epilogue import pixels_epilogue
from ..kernel import KernelContext
from ..tensors import TensorRef
from ..unroll import unroll_bytes

MOST_BYTES = 1024
"""That a block instruction reads and writes at a time: what overlaps lies so far apart."""
_SCALARS = {
    "rescale": ("m1", "m2", "bias", "shift", "lo", "hi"),
    "rescale_product": ("z1", "z2", "m", "bias", "shift", "lo", "hi"),
    "rescale_product_upper": ("z1", "z2", "m", "bias", "lo", "hi"),
}
"""What block instructions of two tensors take of the operator's attributes, behind the number of bytes."""


def made_pixels(ctx: KernelContext, pixels: int, channels: int) -> Buffer:
    """Memory for requantized bytes that :func:`finish_pixels` takes."""
    return ctx.temporary("made", DType.I8, (pixels, channels), align=STEP)


def finish_pixels(
    ctx: KernelContext, refs: dict[str, TensorRef], made: Buffer, pixels: tuple[int, int], value: str,
    index: Callable[[Expr], Sequence[Expr]],
) -> Block:  # fmt: skip
    """The body behind ``value``, whose bytes are ``made``. ``pixels``: the first of these and how many; ``index``: the
    place of each in the output, without the channel."""
    (first, count), channels = pixels, made.shape[1]
    table = _table(ctx, value)
    if table is not None:
        y = refs[ctx.output.name]
        out = Pointer(y.buffer, y.at((*index(as_expr(0)), as_expr(0))))
        return (lookup(Pointer(made, (as_expr(first), as_expr(0))), refs[table].buffer, out, count * channels),)
    block = pixels_epilogue(
        ctx, refs, (count, channels), lambda slot, c: made[slot + first, c], lambda slot, c: (*index(slot), c),
        value,
    )  # fmt: skip
    return unroll_bytes(block, ctx.names)


def lookup(x: Pointer, table: Buffer, y: Pointer, size: int) -> Invoke:
    return Invoke("helium_lookup", (x, Pointer(table, (as_expr(0),)), y), (size,))


def is_byte_lookup(node: Node) -> bool:
    """Whether signed bytes become signed bytes."""
    return node.op == "lookup" and all(v.dtype is DType.I8 for v in (*node.operands, node.output))


def _table(ctx: KernelContext, value: str) -> str | None:
    """The name of the table, where all that follows is one lookup."""
    node = ctx.body.nodes[-1]
    alone = len(ctx.body.nodes) == 3 and is_byte_lookup(node) and node.operands[0].name == value
    return node.operands[1].name if alone else None


def is_helium_elementwise(ctx: KernelContext) -> bool:
    """Whether the node is a lookup, ``rescale`` or ``rescale_product`` of bytes that are there as a whole, without an
    anchor."""
    if len(ctx.body.nodes) != 1 or ctx.by_rows:
        return False
    node, y = ctx.body.nodes[0], ctx.refs[ctx.output.name]
    if not (is_byte_lookup(node) or node.op in _SCALARS) or not _is_dense_bytes(y):
        return False
    refs = (ctx.refs.get(value.name) for value in _tensors(node))
    return all(ref is not None and ref.shape == y.shape and _is_dense_bytes(ref) for ref in refs)


def _tensors(node: Node) -> Sequence[Value]:
    """The operands that are walked through together with the result."""
    return node.operands[:1] if node.op == "lookup" else node.operands


def _is_dense_bytes(ref: TensorRef) -> bool:
    return ref.dense and ref.buffer.dtype is DType.I8


def lower_helium_elementwise(ctx: KernelContext) -> Block:
    """What :func:`is_helium_elementwise` holds for, a piece at a time."""
    node = ctx.body.nodes[0]
    size = node.output.type.size
    flat = [ctx.refs[value.name].reshaped((size,)).buffer for value in (*_tensors(node), ctx.output)]
    piece = Var(ctx.names.fresh("piece"))
    whole, rest = divmod(size, MOST_BYTES)
    block: Block = ()
    for first, trips, count in ((0, whole, MOST_BYTES), (whole, 1, rest)):
        places = [Pointer(buffer, ((piece + first) * MOST_BYTES,)) for buffer in flat]
        if count:
            block += loop(piece, trips, _piece(ctx, node, places, count))
    return block


def _piece(ctx: KernelContext, node: Node, places: Sequence[Pointer], count: int) -> Invoke:
    if node.op == "lookup":
        return lookup(places[0], ctx.refs[node.operands[1].name].buffer, places[1], count)
    name = f"{node.op}_upper" if node.attrs.get("upper") else node.op
    numbers = tuple(integer(node.attrs, attribute) for attribute in _SCALARS[name])
    return Invoke(f"helium_{name}", tuple(places), (count, *numbers))
