"""Pointwise operators of integer inference as loop-IR expressions; :data:`INTEGER_SCALARS` holds them by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..ir.build import convert, maximum, minimum
from ..ir.graph import Node
from ..ir.loops import I32, Call, Const, Expr, Load, const
from ..ir.types import DType
from .attributes import element_type, integer
from .integer_exprs import dtype_limits
from .limits import widened
from .opdef import Bind
from .rounding_exprs import round_to_integer

LARGEST_PRODUCT = 1 << 20
"""Well below 2^22, up to which ``round_to_integer`` is exact."""


def _requantize(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """clamp(zero_point + round_half_even(float32(acc) * scale), lo, hi).

    Integers are clamped where it is known that the product can be rounded to one. Elsewhere the product is clamped
    first: the bounds are whole numbers, so rounding cannot leave them, and the result fits.
    """
    acc, scale = args
    zero_point, lo, hi = (integer(node.attrs, name) for name in ("zero_point", "lo", "hi"))
    steps, to = convert(acc, DType.F32) * scale, element_type(node.attrs, "to")
    if _is_small(node, scale):
        return convert(minimum(maximum(round_to_integer(steps, zero_point), lo), hi), to)
    clamped = minimum(maximum(steps, lo - zero_point), hi - zero_point)
    return convert(round_to_integer(clamped, zero_point), to)


def _is_small(node: Node, scale: Expr) -> bool:
    """Whether products stay where a float has a fraction: the node says so, or has bounds of what a constant scales."""
    if node.attrs.get("small"):
        return True
    reach = reach_of(node)
    return isinstance(scale, Const) and reach is not None and reach * abs(scale.value) < LARGEST_PRODUCT


def reach_of(node: Node) -> int | None:
    """The greatest magnitude of the accumulators of a ``requantize``; ``None`` where it is not known."""
    if "acc_lo" not in node.attrs:
        return None
    return max(abs(integer(node.attrs, name)) for name in ("acc_lo", "acc_hi"))


def _requantize_fixed(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """clamp(zero_point + scale_round(acc, factor, shift), lo, hi); factors are not negative, so that where results are
    not either, accumulators may be clamped, of which 0 takes the least time."""
    acc, *scale = args
    zero_point = integer(node.attrs, "zero_point")
    lo, hi = integer(node.attrs, "lo") - zero_point, integer(node.attrs, "hi") - zero_point
    positive = maximum(acc, 0) if lo == 0 else acc
    steps = Call("scale_round", (positive, *scale), acc.type)
    clamped = minimum(steps if lo == 0 else maximum(steps, lo), hi)
    return convert(clamped + zero_point, element_type(node.attrs, "to"))


def _lookup(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """table[x - least value]. The table arrives as a load of its first element."""
    x, table = args
    assert isinstance(table, Load)
    position = convert(widened(x, DType.I32), DType.INDEX) - dtype_limits(x.type.dtype)[0]
    return replace(table, index=(position,))


def _rescale(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """clamp((x1 * m1 + x2 * m2 + bias) >> shift, lo, hi)"""
    x1, x2 = _widened(args)
    return _shifted(x1 * _literal(node, "m1", x1) + _literal(node, "bias", x1) + x2 * _literal(node, "m2", x2), node)


def _rescale_product(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """clamp(((x1 - z1) * (x2 - z2) * m + bias) >> shift, lo, hi); ``upper``: of that by m the upper word"""
    lhs, rhs = (x - _literal(node, name, x) for x, name in zip(_widened(args), ("z1", "z2"), strict=True))
    return _shifted(scaled_product(lhs * rhs, node) + _literal(node, "bias", lhs), node)


def scaled_product(product: Expr, node: Node) -> Expr:
    """What a ``rescale_product`` makes of a product before its bias is added."""
    m = _literal(node, "m", product)
    return Call("mul_high", (product, m), I32) if node.attrs.get("upper") else product * m


def _rescale_channels(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """clamp((x * factor + bias) >> shift, lo, hi); of an i32 the upper word of the product."""
    x, factor, bias = args
    if x.type.dtype is DType.I32:
        return _shifted(Call("mul_high", (bind("x", x), factor), I32) + bias, node)
    return _shifted(widened(x, DType.I32) * factor + bias, node)


def _rescale_sum(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """clamp((x * factor + bias) >> shift, lo, hi)"""
    x, factor, bias = args
    return _shifted(x * factor + bias, node)


def _widened(args: Sequence[Expr]) -> list[Expr]:
    """Bytes as i32; with 16 bits among them, as i64."""
    dtype = DType.I64 if any(x.type.dtype.size > 1 for x in args) else DType.I32
    return [widened(x, dtype) for x in args]


def _literal(node: Node, name: str, like: Expr) -> Expr:
    return const(integer(node.attrs, name), like.type)


def _shifted(total: Expr, node: Node) -> Expr:
    steps = total >> _literal(node, "shift", total)
    lo, hi = integer(node.attrs, "lo"), integer(node.attrs, "hi")
    return convert(minimum(maximum(steps, lo), hi), element_type(node.attrs, "to"))


INTEGER_SCALARS: dict[str, Callable[[Sequence[Expr], Node, Bind], Expr]] = {
    "requantize": _requantize,
    "requantize_fixed": _requantize_fixed,
    "lookup": _lookup,
    "rescale": _rescale,
    "rescale_product": _rescale_product,
    "rescale_channels": _rescale_channels,
    "rescale_sum": _rescale_sum,
}
