"""Ensembles of decision trees: types and meaning of trees.

Operands: keys[n, c], column[nodes], threshold[nodes], child[nodes, 2], root[trees], depth[trees], value[leaves, k],
base[targets] and, where k is 1 and there are several targets, target[trees]. Roots and children are *places*: from 0
on those of nodes, below 0 leaves, leaf 0 at -1. At a node, ``child[node, keys[n, column[node]] > threshold[node]]`` is
where the row goes on; from the root of a tree it comes to a leaf within ``depth`` nodes.
"""

from __future__ import annotations

import numpy as np

from ..ir.types import DType, TensorType
from .attributes import text
from .infer import operand
from .opdef import Arrays, Attrs, Types


def infer_trees(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    keys, column, threshold, child, root, depth, value, base = (operand(types, n) for n in range(8))
    target = types[8] if len(types) > 8 else None
    nodes, trees, targets = column.shape, root.shape, base.shape
    tables = [column, child, root, depth, *([] if target is None else [target])]
    fits = (
        keys.rank == 2 and keys.dtype in (DType.I32, DType.I64) and threshold.dtype is keys.dtype
        and len(nodes) == len(trees) == len(targets) == 1 and threshold.shape == nodes and child.shape == (*nodes, 2)
        and depth.shape == trees and value.rank == 2 and all(table.dtype.is_integer for table in tables)
    )  # fmt: skip
    columns = targets[0] if target is None else 1
    if not fits or value.shape[1] != columns or (target is not None and target.shape != trees):
        raise ValueError(f"no trees for {keys}: nodes {column}, {threshold}, {child}, leaves {value} of {base}")
    if base.dtype not in (DType.I32, DType.F32, DType.F64) or value.dtype.is_float != base.dtype.is_float:
        raise ValueError(f"leaves {value} have no sum {base}")
    return (TensorType(base.dtype, (keys.shape[0], targets[0])),)


def evaluate_trees(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """Leaf by leaf in the order of the trees, beginning with ``base``: the sum, the least or the greatest."""
    keys, column, threshold, child, root, depth, value, base = (np.asarray(array) for array in arrays[:8])
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
    return (result,)
