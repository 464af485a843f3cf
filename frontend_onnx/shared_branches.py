"""Tree ensembles in which branches lead to the same node, made trees.

A split by a set of categories, as LightGBM has it, is exported as a chain of comparisons with one category each, all of
which lead to the same node where they hold. Such a chain is one test of membership. Nodes that are shared otherwise are
repeated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .tree_ensemble import EQ, MAX_NODES, MEMBER, Ensemble


def unshared(trees: Ensemble) -> Ensemble | None:
    """The same ensemble, each of whose nodes has one parent or is a root; ``None`` where that takes more than
    ``MAX_NODES`` nodes, as where nodes lead in a circle."""
    return _repeated(_with_sets(trees))


def parents(trees: Ensemble) -> np.ndarray:
    """How many branches and roots lead to each node."""
    found = np.bincount(trees.branch[trees.branch >= 0], minlength=len(trees.feature))
    return found + np.bincount(trees.roots[trees.roots >= 0], minlength=len(trees.feature))


def _with_sets(trees: Ensemble) -> Ensemble:
    """Chains of comparisons of one feature as tests of membership. Those behind the first are reached no more."""
    mode, branch, members, count = trees.mode.copy(), trees.branch.copy(), dict(trees.members), parents(trees)
    behind = {
        node: following
        for node, following in enumerate(trees.branch[:, 0].tolist())
        if trees.mode[node] == EQ and _continues(trees, node, following) and count[following] == 1
    }
    for first in sorted(behind.keys() - set(behind.values())):
        chain = [first]
        while chain[-1] in behind:
            chain.append(behind[chain[-1]])
        mode[first], members[first], branch[first, 0] = MEMBER, trees.value[chain], trees.branch[chain[-1], 0]
    return replace(trees, mode=mode, branch=branch, members=members)


def _continues(trees: Ensemble, node: int, behind: int) -> bool:
    """Whether ``behind`` asks for another category of what ``node`` asks for, and leads to the same place."""
    return (
        behind >= 0
        and trees.mode[behind] == EQ
        and trees.feature[behind] == trees.feature[node]
        and trees.branch[behind, 1] == trees.branch[node, 1]
        and trees.missing[behind] == trees.missing[node]
    )


def _repeated(trees: Ensemble) -> Ensemble | None:
    """Nodes in the order in which they are reached, once for each way to them."""
    sources: list[int] = []
    branches: list[list[int]] = []
    roots: list[int] = []
    for root in trees.roots.tolist():
        if root < 0:
            roots.append(root)
            continue
        roots.append(len(sources))
        sources.append(root)
        branches.append([0, 0])
        at = roots[-1]
        while at < len(sources):
            for side in (0, 1):
                to = int(trees.branch[sources[at], side])
                if to >= 0:
                    if len(sources) >= MAX_NODES:
                        return None
                    sources.append(to)
                    branches.append([0, 0])
                    to = len(sources) - 1
                branches[at][side] = to
            at += 1
    taken = np.asarray(sources, np.int64)
    members = {place: trees.members[node] for place, node in enumerate(sources) if node in trees.members}
    return replace(
        trees, mode=trees.mode[taken], feature=trees.feature[taken], value=trees.value[taken],
        missing=trees.missing[taken], branch=np.asarray(branches, np.int64).reshape(-1, 2),
        roots=np.asarray(roots, np.int64), members=members,
    )  # fmt: skip
