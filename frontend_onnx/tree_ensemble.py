"""A tree ensemble as data, whichever form of ONNX it came from.

A *place* is the number of a node from 0 on, or of a leaf from -1 down.
"""

from __future__ import annotations

import numpy as np

from ..record import record

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = range(7)

MAX_NODES = 2**21
"""Nodes of an ensemble, leaves too."""

@record
class Ensemble:
    """Nodes with the number of their mode in :data:`MODES`, ``branch[:, 0]`` is the place where the test is false,
    ``branch[:, 1]`` where it is true, or with ``missing`` where the feature is NaN. ``members`` are the values of the
    nodes that test membership. An entry of the leaves is the weight of one target: ``weight[i]`` of ``target[i]`` in
    leaf ``leaf[i]``."""

    mode: np.ndarray
    feature: np.ndarray
    value: np.ndarray
    missing: np.ndarray
    branch: np.ndarray
    roots: np.ndarray
    leaves: int
    leaf: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    members: dict[int, np.ndarray]
