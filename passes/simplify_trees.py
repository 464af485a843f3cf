"""Rules for ensembles of decision trees."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir.graph import Node, Value
from ..ir.types import DType
from ..ops.attributes import floats, text
from ..ops.float_keys import KEYS, floats_of, spare_keys
from ..ops.table import OPS
from ..ops.trees import FEATURES, is_greatest
from .rewrite import Rewriter, Rule


def integer_features(rewriter: Rewriter, node: Node) -> Value | None:
    """trees(f(q)) = trees'(q) for integers q that a cast or a dequantization f makes floats of.

    f never falls, so f(q) > t is q > the greatest integer of that type whose float is at most t. Where even the least
    one is above, both branches lead to where greater features go.
    """
    if node.op != "trees" or node.operands[0].dtype not in KEYS:
        return None
    x, column, threshold, child, *others = node.operands
    made = rewriter.producer(x)
    keys, places = rewriter.array(threshold), rewriter.array(child)
    columns, missing = rewriter.array(column), text(node.attrs, "missing")
    if made is None or keys is None or places is None or columns is None or not _rises(made):
        return None
    source = made.operands[0]
    if missing == "both":
        below, columns = columns % 2 == 1, (columns // 2).astype(columns.dtype)
    else:
        below = np.full(len(columns), missing == "below")
    spare = spare_keys(x.dtype)
    limits = floats_of(keys.astype(np.int64) + np.where(below, -spare, spare), x.dtype)
    unique, at = np.unique(limits, return_inverse=True)
    greatest, none = _greatest(lambda q: OPS[made.op].evaluate((q,), made.attrs)[0], unique, source.dtype)
    moved = np.where(none[at][:, None], places[:, 1:], places)
    operands = (columns, greatest[at], moved.astype(places.dtype))
    constants = [rewriter.constant(np.ascontiguousarray(array)) for array in operands]
    return rewriter.like(node, source, *constants, *others)


def place_of_greatest(rewriter: Rewriter, node: Node) -> Value | None:
    """arg_reduce(trees(x)) = trees(x) with ``greatest``, where nothing else reads the totals, which are integers."""
    if node.op != "arg_reduce" or node.attrs["kind"] != "max" or node.attrs["last"] or node.attrs["keepdims"]:
        return None
    made = rewriter.producer(node.operands[0])
    if made is None or made.op != "trees" or node.attrs["axis"] != 1 or not rewriter.used_once(node.operands[0]):
        return None
    if made.output.dtype.is_float or is_greatest(made.attrs):
        return None
    return rewriter.emit(
        "trees", made.inputs, {**made.attrs, "greatest": True}, loc=node.loc, names=[node.output.name]
    )[0]


def _rises(made: Node) -> bool:
    """Whether the node makes floats of integers, and no smaller ones of greater integers."""
    if made.op not in ("cast", "dequantize") or made.operands[0].dtype not in FEATURES:
        return False
    scale = floats(made.attrs, "scale") if made.op == "dequantize" else (1.0,)
    return not made.operands[0].dtype.is_float and len(scale) == 1 and scale[0] > 0


def _greatest(
    floats: Callable[[np.ndarray], np.ndarray], limits: np.ndarray, dtype: DType
) -> tuple[np.ndarray, np.ndarray]:
    """The greatest integers whose floats are at most ``limits``, and where there are none: bit by bit from the least
    integer on, whose steps 2^(bits - 2), three times, and the smaller powers of two add up to the greatest."""
    info = np.iinfo(dtype.numpy)
    steps = [2 ** (info.bits - 2)] * 3 + [2**k for k in reversed(range(info.bits - 2))]
    found = np.full(len(limits), info.min, dtype.numpy)
    for step in steps:
        fits = found <= info.max - step
        tried = np.where(fits, found + np.where(fits, step, 0), found).astype(dtype.numpy)
        found = np.where(floats(tried) <= limits, tried, found)
    return found, floats(np.full(1, info.min, dtype.numpy)) > limits


TREE_RULES: tuple[Rule, ...] = (integer_features, place_of_greatest)
