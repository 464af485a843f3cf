"""Rules for contractions, windows and reductions."""

from __future__ import annotations

from ..ir.graph import Node, Value
from ..ops.attributes import ints, text
from .rewrite import Rewriter, Rule
from .views import reshape


def whole_window(rewriter: Rewriter, node: Node) -> Value | None:
    """Pooling over everything is a reduction over the spatial dimensions.

    max is exact; the mean adds the same elements in an order that ONNX leaves open.
    """
    if node.op != "pool" or any(ints(node.attrs, "pad")):
        return None
    (x,) = node.operands
    first = 2 if node.attrs["layout"] == "channels_first" else 1
    axes = tuple(range(first, first + len(x.shape) - 2))
    if ints(node.attrs, "kernel") != tuple(x.shape[axis] for axis in axes) or any(
        d != 1 for d in ints(node.attrs, "dilation")
    ):
        return None
    if any(node.output.shape[axis] != 1 for axis in axes):
        return None
    attrs = {name: value for name, value in node.attrs.items() if name in ("zero_point", "acc_lo", "acc_hi")}
    kind = {"max": "max", "avg": "mean", "sum": "sum"}[text(node.attrs, "kind")]
    attrs |= {"kind": kind, "axes": axes, "keepdims": True}
    return rewriter.emit("reduce", [x], attrs, loc=node.loc, names=[node.output.name])[0]


def single_windows(rewriter: Rewriter, node: Node) -> Value | None:
    """Pooling over windows of one element, all of them, changes nothing: max(x) = x, x / 1 = x."""
    if node.op != "pool" or any(ints(node.attrs, "pad")) or any(k != 1 for k in ints(node.attrs, "kernel")):
        return None
    (x,) = node.operands
    return x if x.type == node.output.type and all(s == 1 for s in ints(node.attrs, "stride")) else None


def reduction_of_one(rewriter: Rewriter, node: Node) -> Value | None:
    """Sum, mean, max, min and product of a single element are that element (a sum from 0 would lose -0.0's sign)."""
    if node.op != "reduce" or node.operands[0].type.size != node.output.type.size:
        return None
    (x,) = node.operands
    if x.type.quant is not None or x.type.size == 0 or x.dtype is not node.output.dtype:
        return None
    return reshape(rewriter, x, node.output.shape, loc=node.loc, name=node.output.name)


def one_matrix(rewriter: Rewriter, node: Node) -> Value | None:
    """a[..,M,K] @ b[1,..,1,K,N] = a @ b[K,N]: unit batches of b say nothing where a has as many dimensions."""
    if node.op != "matmul":
        return None
    lhs, rhs, *bias = node.inputs
    assert lhs is not None and rhs is not None
    if len(rhs.shape) == 2 or any(extent != 1 for extent in rhs.shape[:-2]) or len(lhs.shape) < len(rhs.shape):
        return None
    return rewriter.like(node, lhs, reshape(rewriter, rhs, rhs.shape[-2:], loc=node.loc), *bias)


def padding_inside(rewriter: Rewriter, node: Node) -> Value | None:
    """conv(pad(x, 0)) = conv(x) with more padding: the same products, those with 0 left out. Of integers the zero point
    stands for 0."""
    pad = rewriter.producer(node.inputs[0]) if node.op == "conv" else None
    if pad is None or pad.op != "pad" or pad.attrs["mode"] != "constant":
        return None
    if pad.attrs["value"] != node.attrs.get("zero_point", 0):
        return None
    spatial = slice(2, None) if node.attrs["layout"] == "channels_first" else slice(1, -1)
    before, after = ints(pad.attrs, "before"), ints(pad.attrs, "after")
    inside = (*before[spatial], *after[spatial])
    if sum(inside) != sum(before) + sum(after):
        return None
    grown = tuple(a + b for a, b in zip(ints(node.attrs, "pad"), inside))
    return rewriter.like(node, pad.operands[0], *node.inputs[1:], pad=grown)


ANCHOR_RULES: tuple[Rule, ...] = (whole_window, single_windows, reduction_of_one, one_matrix, padding_inside)
