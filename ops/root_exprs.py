"""Square roots of integers: the integer nearest to that of min(x, 2^30)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.build import gt, le, minimum, select
from ..ir.graph import Node
from ..ir.loops import F32, I32, U32, Call, Expr, Type
from ..ir.types import DType
from .attributes import flag
from .opdef import Bind

ROOT_BITS = 15
"""Of the root that is not rounded yet."""
_HALF = 0.49
"""What is added before the fraction is cut off, less than 1/2 by more than the error: rounded to float32, x and its
root are off by at most 2^-24 each, so that the root is by at most 2^15 * 1.5 * 2^-24 < 0.003."""


def rounded_root(x: np.ndarray) -> np.ndarray:
    """Of uint32; float64 holds x, and the root nearest to an integer and a half, well enough."""
    return np.rint(np.sqrt(np.minimum(x, 1 << 2 * ROOT_BITS).astype(np.float64)))


def int_sqrt(args: Sequence[Expr], node: Node, bind: Bind) -> Expr:
    """By a float unit, or ``bitwise``. There is no tie: (r + 1/2)^2 is no integer."""
    (x,) = args
    return _bitwise(x, bind) if flag(node.attrs, "bitwise") else _by_floats(x, bind)


def _by_floats(x: Expr, bind: Bind) -> Expr:
    """One less than wanted at most, which shows: the rest is more than the root, then."""
    lanes = x.type.lanes
    whole = bind("whole", I32.with_lanes(lanes)(minimum(x, 1 << 2 * ROOT_BITS)))
    real = F32.with_lanes(lanes)(whole)
    root = bind("root", I32.with_lanes(lanes)(Call("sqrt", (real,), real.type) + _HALF))
    return U32.with_lanes(lanes)(select(gt(whole - root * root, root), root + 1, root))


def _bitwise(x: Expr, bind: Bind) -> Expr:
    root: Expr = Type(DType.U32, x.type.lanes)(0)
    for bit in reversed(range(ROOT_BITS)):
        tried = bind("tried", root + (1 << bit))
        root = bind("root", select(le(tried * tried, x), tried, root))
    return select(gt(x - root * root, root), root + 1, root)
