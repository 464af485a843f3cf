"""Rules of convolution and matrix multiplication."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.graph import AttrValue, Value
from .context import NodeContext, Rule
from .ops_movement import transposed
from .padding import WindowAttributes, halves, window_attributes

FIRST = "channels_first"


def conv(ctx: NodeContext) -> Sequence[Value]:
    return [emit_conv(ctx, ctx.input(0), ctx.input(1), ctx.optional(2))]


def emit_conv(ctx: NodeContext, x: Value, w: Value, bias: Value | None, **more: AttrValue) -> Value:
    """A core convolution with the attributes of the node (Conv, ConvInteger and QLinearConv have the same) and
    ``more``."""
    window = _window(ctx, x, w)
    attrs = {"stride": window.stride, "pad": window.pad, "dilation": window.dilation, **more}
    return ctx.emit("conv", x, w, bias, **attrs, group=ctx.integer("group", 1), layout=FIRST)


def _window(ctx: NodeContext, x: Value, w: Value) -> WindowAttributes:
    if len(x.shape) < 3 or len(w.shape) != len(x.shape):
        raise ctx.invalid(f"{ctx.op_type} of {x.type} with weights {w.type}")
    kernel = w.shape[2:]
    if ctx.integers("kernel_shape", kernel) != kernel:
        raise ctx.invalid(f"kernel_shape {ctx.integers('kernel_shape')} differs from that of the weights {w.type}")
    return window_attributes(ctx, x.shape[2:], kernel)


def conv_transpose(ctx: NodeContext) -> Sequence[Value]:
    """With ``output_shape`` or SAME the padding follows from the wanted extents.

    The odd element of padding goes to the beginning, except for SAME_UPPER (opset 11; the text before says otherwise,
    but runtimes never did).
    """
    x, w = ctx.input(0), ctx.input(1)
    window = _window(ctx, x, w)
    spatial = len(window.kernel)
    pad, extra = window.pad, ctx.integers("output_padding", (0,) * spatial)
    wanted = ctx.integers("output_shape", ())[-spatial:]
    if wanted and any(axis > 1 for axis in ctx.extents(x)):
        raise ctx.unsupported("output_shape where extents are only known in a run", hint="give pads in its place")
    if not wanted and window.same:
        wanted = tuple(extent * step for extent, step in zip(x.shape[2:], window.stride))
    if len(extra) != spatial or len(wanted) not in (0, spatial):
        raise ctx.invalid(f"output_padding {extra} or output_shape {wanted} does not fit {spatial} spatial dimensions")
    if wanted:
        full = [
            (extent - 1) * step + span + more
            for extent, step, span, more in zip(x.shape[2:], window.stride, window.reach, extra)
        ]
        totals = [max(have - want, 0) for have, want in zip(full, wanted)]
        extra = tuple(more + max(want - have, 0) for more, have, want in zip(extra, full, wanted))
        pad = halves(totals, upper=ctx.string("auto_pad", "NOTSET") == "SAME_UPPER")
    attrs: dict[str, AttrValue] = {
        "stride": window.stride, "pad": pad, "dilation": window.dilation, "output_padding": extra, "layout": FIRST,
    }  # fmt: skip
    return [ctx.emit("conv_transpose", x, w, ctx.optional(2), **attrs, group=ctx.integer("group", 1))]


def matmul(ctx: NodeContext) -> Sequence[Value]:
    return [emit_matmul(ctx, ctx.input(0), ctx.input(1))]


def emit_matmul(ctx: NodeContext, a: Value, b: Value, **attrs: AttrValue) -> Value:
    """numpy.matmul: a vector on the left is a row, one on the right a column, and its dimension is dropped again."""
    if not a.shape or not b.shape:
        raise ctx.invalid(f"{ctx.op_type} of {a.type} and {b.type}")
    rows = a if len(a.shape) > 1 else ctx.reshape(a, (1, *a.shape))
    columns = b if len(b.shape) > 1 else ctx.reshape(b, (*b.shape, 1))
    y = ctx.emit("matmul", rows, columns, **attrs)
    shape = list(y.shape)
    if len(b.shape) == 1:
        del shape[-1]
    if len(a.shape) == 1:
        del shape[-1 if len(b.shape) == 1 else -2]
    return ctx.reshape(y, shape)


def gemm(ctx: NodeContext) -> Sequence[Value]:
    """alpha * A @ B + beta * C; factors go into constants where they can."""
    a, b, c = ctx.input(0), ctx.input(1), ctx.optional(2)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise ctx.invalid(f"Gemm of {a.type} and {b.type}, which are not matrices")
    alpha, beta = ctx.number("alpha", 1.0), ctx.number("beta", 1.0)
    if ctx.integer("transA", 0):
        a = transposed(ctx, a, (1, 0))
    if ctx.integer("transB", 0):
        b = transposed(ctx, b, (1, 0))
    if c is not None and not _broadcasts(c.shape, (a.shape[0], b.shape[1])):
        raise ctx.invalid(f"C of {c.type} does not broadcast to {a.shape[0]} rows of {b.shape[1]}")
    bias = None if c is None or beta == 0.0 else c if beta == 1.0 else ctx.emit("mul", c, ctx.scalar(beta, c))
    row = None if bias is None else _bias_row(ctx, bias, b.shape[1])
    if alpha == 1.0:
        y, added = ctx.emit("matmul", a, b, row), row is not None
    elif ctx.array(b) is not None:
        y, added = ctx.emit("matmul", a, ctx.emit("mul", b, ctx.scalar(alpha, b)), row), row is not None
    else:
        y, added = ctx.emit("matmul", a, b), False
        y = ctx.emit("mul", y, ctx.scalar(alpha, y))
    return [y if bias is None or added else ctx.emit("add", y, bias)]


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Whether a tensor of ``shape`` can be repeated until it has the shape ``to``."""
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(to)))


def _bias_row(ctx: NodeContext, bias: Value, columns: int) -> Value | None:
    """``bias`` as the operand of a core matmul, an element for each column; ``None`` where it varies along rows, or is
    one number that only a run knows."""
    if bias.type.size == columns and bias.shape[-1:] == (columns,):
        return ctx.reshape(bias, (columns,))
    if bias.type.size == 1 and ctx.array(bias) is not None:
        return ctx.emit("expand", ctx.reshape(bias, (1,)), shape=(columns,))
    return None


RULES: Mapping[str, Rule] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Gemm": gemm,
    "MatMul": matmul,
}
