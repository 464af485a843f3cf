"""Tree ensembles as ONNX writes them, in one form: TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble.

Attributes of a model are not trusted: lengths, numbers of nodes and of features are checked. What can be reached from
the roots becomes trees where it is none.
"""

from __future__ import annotations

import numpy as np

from .context import NodeContext
from .shared_branches import parents, unshared
from .tree_ensemble import MAX_NODES, MEMBER, MODES, Ensemble

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _integers(ctx: NodeContext, name: str, least: int, most: int) -> np.ndarray:
    array = np.asarray(ctx.integers(name, ()), np.int64)
    if array.size and (array.min() < least or array.max() > most):
        raise ctx.invalid(f"{name} has entries from {array.min()} to {array.max()}, which are not in {least}..{most}")
    return array


def _numbers(ctx: NodeContext, name: str) -> np.ndarray:
    """A list of floats, or the tensor that may stand in its place."""
    tensor = f"{name}_as_tensor"
    array = ctx.tensor(tensor).reshape(-1) if ctx.has(tensor) else np.asarray(ctx.numbers(name, ()), np.float32)
    if array.dtype.kind != "f":
        raise ctx.invalid(f"{name} are {array.dtype}, not floats")
    return array


def _same_length(ctx: NodeContext, **arrays: np.ndarray) -> None:
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ctx.invalid("lists have different lengths: " + ", ".join(f"{n} {size}" for n, size in lengths.items()))


def _check_size(ctx: NodeContext, count: int) -> None:
    if not count:
        raise ctx.invalid("an ensemble without nodes")
    if count > MAX_NODES:
        raise ctx.unsupported(f"{count} nodes are more than {MAX_NODES}")


def numbered_nodes(ctx: NodeContext, features: int, targets: int, leaf: str) -> Ensemble:
    """The older form: nodes and leaves with numbers within their trees. ``leaf`` begins the names of the lists of
    weights: ``class`` or ``target``; the list of targets is ``leaf_ids``."""
    trees, numbers = (_integers(ctx, f"nodes_{name}", -(2**62), 2**62) for name in ("treeids", "nodeids"))
    _check_size(ctx, len(trees))
    names = ctx.strings("nodes_modes")
    unknown = set(names) - {*MODES[:MEMBER], "LEAF"}
    if unknown:
        raise ctx.invalid(f"there is no mode {', '.join(sorted(unknown))}")
    modes = np.array([-1 if name == "LEAF" else MODES.index(name) for name in names], np.int64)
    feature = np.asarray(ctx.integers("nodes_featureids"), np.int64)
    value, truths = _numbers(ctx, "nodes_values"), np.asarray(ctx.integers("nodes_truenodeids"), np.int64)
    falses = np.asarray(ctx.integers("nodes_falsenodeids"), np.int64)
    missing = np.asarray(ctx.integers("nodes_missing_value_tracks_true", ()), np.int64)
    missing = missing if len(missing) else np.zeros(len(trees), np.int64)
    _same_length(
        ctx, nodes_treeids=trees, nodes_nodeids=numbers, nodes_modes=modes, nodes_featureids=feature,
        nodes_values=value, nodes_truenodeids=truths, nodes_falsenodeids=falses,
        nodes_missing_value_tracks_true=missing,
    )  # fmt: skip
    inner = modes >= 0
    place_of = np.where(inner, np.cumsum(inner) - 1, -np.cumsum((~inner).astype(np.int64)))
    places = dict(zip(zip(trees.tolist(), numbers.tolist()), place_of.tolist()))
    if len(places) != len(trees):
        raise ctx.invalid("two nodes of a tree have the same number")

    def placed(tree_ids: np.ndarray, node_ids: np.ndarray, what: str) -> np.ndarray:
        keys = list(zip(tree_ids.tolist(), node_ids.tolist()))
        lost = next((key for key in keys if key not in places), None)
        if lost is not None:
            raise ctx.invalid(f"{what} names node {lost[1]} of tree {lost[0]}, which is not there")
        return np.array([places[key] for key in keys], np.int64)

    branch = np.stack([placed(trees[inner], ids[inner], "a branch") for ids in (falses, truths)], axis=1)
    entries = _integers(ctx, f"{leaf}_treeids", -(2**62), 2**62), _integers(ctx, f"{leaf}_nodeids", -(2**62), 2**62)
    target, weight = _integers(ctx, f"{leaf}_ids", 0, targets - 1), _numbers(ctx, f"{leaf}_weights")
    _same_length(ctx, treeids=entries[0], nodeids=entries[1], ids=target, weights=weight)
    leaves = placed(*entries, f"{leaf}_nodeids")
    if leaves.size and leaves.max() >= 0:
        raise ctx.invalid(f"{leaf}_nodeids names nodes that are no leaves")
    if targets == 1:  # of several weights of a leaf ONNX Runtime takes the first, which converters rely on
        first = np.sort(np.unique(leaves, return_index=True)[1])
        leaves, target, weight = leaves[first], target[first], weight[first]
    child = np.isin(place_of, branch)
    if len(np.unique(trees)) != (~child).sum() or len(np.unique(trees[~child])) != (~child).sum():
        raise ctx.invalid("a tree has no root, because its nodes lead in a circle, or several")
    return _checked(ctx, features, Ensemble(
        modes[inner], feature[inner], value[inner], missing[inner] != 0, branch, place_of[~child],
        int((~inner).sum()), -1 - leaves, target, weight, {},
    ))  # fmt: skip


def listed_nodes(ctx: NodeContext, features: int, targets: int) -> Ensemble:
    """TreeEnsemble of version 5: leaves in lists of their own, membership in sets."""
    feature, missing = (np.asarray(ctx.integers(f"nodes_{n}", ()), np.int64) for n in (
        "featureids", "missing_value_tracks_true"
    ))  # fmt: skip
    mode, value, weight = (ctx.tensor(name).reshape(-1) for name in ("nodes_modes", "nodes_splits", "leaf_weights"))
    target = _integers(ctx, "leaf_targetids", 0, targets - 1)
    _check_size(ctx, len(mode))
    _check_size(ctx, len(mode) + len(weight))
    missing = missing if len(missing) else np.zeros(len(mode), np.int64)
    mode = mode.astype(np.int64)
    if mode.min() < 0 or mode.max() > MEMBER or value.dtype.kind != "f" or weight.dtype.kind != "f":
        raise ctx.invalid("nodes_modes are not 0 to 6, or splits or weights no floats")
    branches = []
    for side in ("false", "true"):
        ids = np.asarray(ctx.integers(f"nodes_{side}nodeids"), np.int64)
        leaf = np.asarray(ctx.integers(f"nodes_{side}leafs"), np.int64)
        _same_length(ctx, nodes_modes=mode, **{f"nodes_{side}nodeids": ids, f"nodes_{side}leafs": leaf})
        if ids.min() < 0 or (ids >= np.where(leaf != 0, len(weight), len(mode))).any():
            raise ctx.invalid(f"nodes_{side}nodeids names a node or a leaf that is not there")
        branches.append(np.where(leaf != 0, -1 - ids, ids))
    _same_length(ctx, nodes_modes=mode, nodes_featureids=feature, nodes_splits=value, missing=missing)
    _same_length(ctx, leaf_targetids=target, leaf_weights=weight)
    roots, members = _integers(ctx, "tree_roots", 0, len(mode) - 1), _members(ctx, mode)
    return _checked(ctx, features, Ensemble(
        mode, feature, value, missing != 0, np.stack(branches, axis=1), roots, len(weight), np.arange(len(weight)),
        target, weight, members,
    ))  # fmt: skip


def _members(ctx: NodeContext, mode: np.ndarray) -> dict[int, np.ndarray]:
    """The sets of the nodes that test membership, in order; a NaN ends each."""
    nodes = np.flatnonzero(mode == MEMBER)
    values = ctx.tensor("membership_values").reshape(-1) if ctx.has("membership_values") else np.zeros(0, np.float32)
    ends = np.flatnonzero(np.isnan(values)) if values.dtype.kind == "f" else np.zeros(0, np.int64)
    if len(ends) != len(nodes):
        raise ctx.invalid(f"membership_values are {len(ends)} sets for {len(nodes)} nodes")
    starts = [0, *(ends[:-1] + 1)]
    return {int(node): values[start:end] for node, start, end in zip(nodes, starts, ends)}


def _checked(ctx: NodeContext, features: int, trees: Ensemble) -> Ensemble:
    """The ensemble with one parent for each node. Raises ``INVALID_MODEL`` unless features exist, and
    ``UNSUPPORTED_FEATURE`` where branches share too much."""
    feature = trees.feature
    if feature.size and (feature.min() < 0 or feature.max() >= features):
        raise ctx.invalid(f"nodes_featureids {feature.min()} to {feature.max()} for rows of {features} features")
    if not len(trees.roots):
        raise ctx.invalid("an ensemble without trees")
    if not np.isfinite(trees.weight).all() or np.isnan(trees.value[trees.mode != MEMBER]).any():
        raise ctx.unsupported("weights that are not finite, or thresholds that are NaN")
    if len(trees.feature) and parents(trees).max() > 1:
        apart = unshared(trees)
        if apart is None:
            raise ctx.unsupported(f"branches that share nodes, as trees more than {MAX_NODES} of them, or a circle")
        return apart
    return trees
