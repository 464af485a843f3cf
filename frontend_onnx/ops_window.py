"""Rules of pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ..ir.graph import Value
from .context import NodeContext, Rule
from .padding import window_attributes


def pool(kind: str, ctx: NodeContext) -> Sequence[Value]:
    """SAME padding leaves nothing over for ``ceil_mode``."""
    x = ctx.input(0)
    if len(x.shape) < 3:
        raise ctx.invalid(f"{ctx.op_type} of {x.type}, which has no spatial dimensions")
    if any(ctx.wanted[1:]):
        raise ctx.unsupported("the indices output is not supported")
    window = window_attributes(ctx, x.shape[2:], ctx.integers("kernel_shape"))
    y = ctx.emit(
        "pool", x, kind=kind, kernel=window.kernel, stride=window.stride, pad=window.pad, dilation=window.dilation,
        ceil_mode=bool(ctx.integer("ceil_mode", 0)) and not window.same,
        count_include_pad=bool(ctx.integer("count_include_pad", 0)), layout="channels_first",
    )  # fmt: skip
    return [y]


def global_pool(kind: str, ctx: NodeContext) -> Sequence[Value]:
    x = ctx.input(0)
    return [ctx.emit("reduce", x, kind=kind, axes=tuple(range(2, len(x.shape))), keepdims=True)]


RULES: Mapping[str, Rule] = {
    "AveragePool": partial(pool, "avg"),
    "GlobalAveragePool": partial(global_pool, "mean"),
    "GlobalMaxPool": partial(global_pool, "max"),
    "MaxPool": partial(pool, "max"),
}
