"""Ensembles of decision trees: types and meaning of trees.

Operands: x[n, c], column[nodes], threshold[nodes], child[nodes, 2], root[trees], depth[trees], value[leaves, k],
base[targets] and, where k is 1 and there are several targets, target[trees]. Roots and children are *places*: from 0
on those of nodes, below 0 leaves, leaf 0 at -1. At a node, ``child[node, keys[n, column[node]] > threshold[node]]`` is
where the row goes on; from the root of a tree it comes to a leaf within ``depth`` nodes.

Keys of integers are these themselves. Keys of floats are those of ``float_keys.py``, moved so that NaN are where the
attribute ``missing`` says: "above" all numbers or "below" them. With "both", column 2c is feature c with NaN above,
column 2c + 1 the same with NaN below.

With the attribute ``greatest`` the result is not the totals but where in each row the first greatest of them stands.
"""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import text
from .float_keys import KEYS, bit_keys, spare_keys
from .infer import operand
from .opdef import Arrays, Attrs, Types

FEATURES = (DType.I8, DType.U8, DType.I16, DType.U16, DType.I32, DType.I64, *KEYS)
"""What features may be."""


def infer_trees(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, column, threshold, child, root, depth, value, base = (operand(types, n) for n in range(8))
    target = types[8] if len(types) > 8 else None
    nodes, trees, targets = column.shape, root.shape, base.shape
    tables = [column, child, root, depth, *([] if target is None else [target])]
    fits = (
        x.rank == 2 and x.dtype in FEATURES and threshold.dtype is KEYS.get(x.dtype, x.dtype)
        and len(nodes) == len(trees) == len(targets) == 1 and threshold.shape == nodes and child.shape == (*nodes, 2)
        and depth.shape == trees and value.rank == 2 and all(table.dtype.is_integer for table in tables)
    )  # fmt: skip
    columns = targets[0] if target is None else 1
    if not fits or value.shape[1] != columns or (target is not None and target.shape != trees):
        raise ValueError(f"no trees for {x}: nodes {column}, {threshold}, {child}, leaves {value} of {base}")
    if base.dtype not in (DType.I32, DType.F32, DType.F64) or value.dtype.is_float != base.dtype.is_float:
        raise ValueError(f"leaves {value} have no sum {base}")
    if is_greatest(attrs):
        return (TensorType(DType.I64, x.shape[:1]),)
    return (TensorType(base.dtype, (x.shape[0], targets[0])),)


def is_greatest(attrs: Attrs) -> bool:
    """Whether the places of the greatest totals are the result."""
    return bool(attrs.get("greatest", False))


def evaluate_trees(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """Leaf by leaf in the order of the trees, beginning with ``base``: the sum, the least or the greatest."""
    x, column, threshold, child, root, depth, value, base = (np.asarray(array) for array in arrays[:8])
    keys = moved_keys(x, text(attrs, "missing")) if x.dtype.kind == "f" else x
    target = arrays[8] if len(arrays) > 8 else None
    combine = {"sum": np.add, "min": np.fmin, "max": np.fmax}[text(attrs, "kind")]
    result = np.repeat(base[None], len(keys), axis=0)
    rows = np.arange(len(keys))
    for tree in range(len(root)):
        place = np.full(len(keys), root[tree], np.int64)
        for _ in range(int(depth[tree])):
            inner = np.maximum(place, 0)
            above = keys[rows, column[inner]] > threshold[inner]
            place = np.where(place >= 0, child[inner, above.astype(np.int64)], place)
        leaves = value[-1 - place].astype(base.dtype)
        at = slice(None) if target is None else slice(int(target[tree]), int(target[tree]) + 1)
        result[:, at] = combine(result[:, at], leaves)
    return (result.argmax(axis=1).astype(np.int64),) if is_greatest(attrs) else (result,)


def moved_keys(x: np.ndarray, missing: str) -> np.ndarray:
    """The keys of rows of floats, with NaN where ``missing`` says."""
    keys, spare = bit_keys(x), spare_keys(DType.from_numpy(x.dtype))
    if missing == "both":
        return np.stack([keys - spare, keys + spare], axis=2).reshape(len(x), 2 * x.shape[1])
    return keys + spare if missing == "below" else keys - spare
