"""Random tree ensembles in the forms of ONNX, and what they give by their definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from onnx import helper

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


@dataclass(frozen=True)
class Split:
    mode: str
    feature: int
    value: float
    missing: bool
    true: Split | Leaf
    false: Split | Leaf


@dataclass(frozen=True)
class Leaf:
    weights: tuple[tuple[int, float], ...]


def grow(
    rng: np.random.Generator, depth: int, features: int, targets: int, modes: tuple[str, ...] = ("BRANCH_LEQ",), *,
    missing: bool = False, positive: bool = False, targets_of_leaf: tuple[int, ...] | None = None,
) -> Split | Leaf:  # fmt: skip
    """A tree of splits at multiples of 1/4, so that features hit them; some branches end early."""
    if depth == 0 or rng.random() < 0.1:
        chosen = tuple(range(targets)) if targets_of_leaf is None else targets_of_leaf
        low = 0.0 if positive else -1.0
        return Leaf(tuple((t, float(np.float32(rng.uniform(low, 1)))) for t in chosen))

    def side() -> Split | Leaf:
        return grow(rng, depth - 1, features, targets, modes, missing=missing, positive=positive,
                    targets_of_leaf=targets_of_leaf)  # fmt: skip

    value = float(rng.integers(-6, 7)) / 4
    lost = bool(missing and rng.random() < 0.5)
    return Split(str(rng.choice(modes)), int(rng.integers(features)), value, lost, side(), side())


def with_shares(
    tree: Split | Leaf, rng: np.random.Generator, classes: int, samples: int, count: int
) -> Split | Leaf:
    """The tree of a forest of ``count``: each leaf has the shares of classes of up to ``samples`` random samples."""
    if isinstance(tree, Split):
        true, false = (with_shares(side, rng, classes, samples, count) for side in (tree.true, tree.false))
        return replace(tree, true=true, false=false)
    drawn = np.bincount(rng.integers(0, classes, rng.integers(1, samples + 1)), minlength=classes)
    shares = drawn / drawn.sum() / count
    return Leaf(tuple((k, float(np.float32(share))) for k, share in enumerate(shares) if share))


def numbered(trees: list[Split | Leaf], leaf: str) -> dict[str, Any]:
    """The attributes of TreeEnsembleClassifier (``leaf`` is "class") and TreeEnsembleRegressor ("target")."""
    names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
             "missing_value_tracks_true")  # fmt: skip
    nodes: dict[str, list[Any]] = {name: [] for name in names}
    entries: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree, root in enumerate(trees):
        order: list[Split | Leaf] = [root]
        for place in range(10**6):
            if place == len(order):
                break
            node = order[place]
            if isinstance(node, Split):
                branches = (len(order), len(order) + 1)
                order += [node.true, node.false]
                row = (tree, place, node.feature, node.value, node.mode, *branches, int(node.missing))
            else:
                row = (tree, place, 0, 0.0, "LEAF", 0, 0, 0)
                for target, weight in node.weights:
                    for name, entry in zip(entries, (tree, place, target, weight)):
                        entries[name].append(entry)
            for name, item in zip(names, row):
                nodes[name].append(item)
    return {f"nodes_{name}": column for name, column in nodes.items()} | {
        f"{leaf}_{name}": column for name, column in entries.items()
    }


def listed(trees: list[Split | Leaf], dtype: np.dtype) -> dict[str, Any]:
    """The attributes of TreeEnsemble; leaves have one weight each."""
    splits: list[Split] = []
    leaves: list[Leaf] = []

    def number(node: Split | Leaf) -> tuple[int, int]:
        if isinstance(node, Leaf):
            leaves.append(node)
            return len(leaves) - 1, 1
        splits.append(node)
        return len(splits) - 1, 0

    roots = []
    for tree in trees:
        assert isinstance(tree, Split)
        roots.append(number(tree)[0])
    branches: dict[str, list[int]] = {name: [] for name in ("truenodeids", "trueleafs", "falsenodeids", "falseleafs")}
    place = 0
    while place < len(splits):
        for side, child in (("true", splits[place].true), ("false", splits[place].false)):
            at, is_leaf = number(child)
            branches[f"{side}nodeids"].append(at)
            branches[f"{side}leafs"].append(is_leaf)
        place += 1
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def tensor(values: list[float]) -> Any:
        return helper.make_tensor("t", kind, [len(values)], np.asarray(values, dtype))

    return {f"nodes_{name}": column for name, column in branches.items()} | {
        "tree_roots": roots, "nodes_featureids": [split.feature for split in splits],
        "nodes_splits": tensor([split.value for split in splits]),
        "nodes_modes": helper.make_tensor("m", 2, [len(splits)], [MODES.index(split.mode) for split in splits]),
        "nodes_missing_value_tracks_true": [int(split.missing) for split in splits],
        "leaf_targetids": [leaf.weights[0][0] for leaf in leaves],
        "leaf_weights": tensor([leaf.weights[0][1] for leaf in leaves]),
    }  # fmt: skip


def leaf_of(tree: Split | Leaf, row: np.ndarray) -> Leaf:
    """Where a row comes to, by the definition of the modes; a comparison with NaN is false, but for NEQ."""
    while isinstance(tree, Split):
        x, t = row[tree.feature], tree.value
        tests = {
            "BRANCH_LEQ": x <= t, "BRANCH_LT": x < t, "BRANCH_GTE": x >= t, "BRANCH_GT": x > t, "BRANCH_EQ": x == t,
            "BRANCH_NEQ": x != t,
        }  # fmt: skip
        tree = tree.true if tests[tree.mode] or (tree.missing and np.isnan(x)) else tree.false
    return tree


def scores(trees: list[Split | Leaf], rows: np.ndarray, targets: int) -> np.ndarray:
    """The sums in float64."""
    result = np.zeros((len(rows), targets))
    for at, row in enumerate(rows):
        for tree in trees:
            for target, weight in leaf_of(tree, row).weights:
                result[at, target] += weight
    return result


def features(rng: np.random.Generator, rows: int, count: int, dtype: type[Any] = np.float32) -> np.ndarray:
    """Multiples of 1/4 as the splits, numbers next to them, zeros of both signs, infinities and NaN of both signs."""
    x = (rng.integers(-7, 8, (rows, count)) / 4).astype(dtype)
    near = np.nextafter(x, np.asarray(rng.choice([-9, 9], x.shape), dtype))
    x = np.where(rng.random(x.shape) < 0.3, near, x)
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45], dtype)
    special[1] = np.copysign(special[1], -1)
    return np.where(rng.random(x.shape) < 0.15, rng.choice(special, x.shape), x).astype(dtype)
