"""Cross-layer equalization: channels of a tensor that shares one scale are brought to like ranges.

Between two layers with nothing but positively homogeneous operators (f(s x) = s f(x) for s > 0: ReLU, pooling, moves),

    W2 f(W1 x + b1)  =  (W2 S) f(S^-1 W1 x + S^-1 b1)        S = diag(s), s > 0

Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, section 4.1, choose S from
the weights, which then share one scale. Here weights have a scale a channel, so dividing W1 costs nothing; what is won
is the rounding of the tensor between, and what is lost is that the columns of W2 differ more. As in Xiao et al.,
"SmoothQuant", 2022, a strength moves the burden from one to the other:

    s_c = range_c ^ strength

and the strength is the one with the least predicted noise at the outputs of the second layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...ir.graph import Graph, Node, Value
from ...ir.types import DType
from ...ops.infer import ints
from .encoding import WEIGHT_LEVELS
from .linear import from_matrices, groups_of, to_matrices
from .partition import key
from .ranges import STEPS

STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
FLOOR = 1 / 16
"""Channels are not treated as narrower than this part of the widest: their range may be larger on other inputs."""

LINEAR = ("conv", "conv_transpose", "matmul")


@dataclass(frozen=True)
class ChannelStats:
    low: np.ndarray
    high: np.ndarray
    power: np.ndarray


@dataclass(frozen=True)
class Pair:
    first: Node
    between: tuple[tuple[str, int], ...]
    seconds: tuple[Node, ...]


def find_pairs(graph: Graph, eligible) -> list[Pair]:
    uses, outputs = graph.uses(), {v.name for v in graph.outputs}
    found = []
    for node in graph.nodes:
        if node.op not in LINEAR or not eligible(node):
            continue
        pair = _follow(graph, node, uses, outputs, eligible)
        if pair is not None:
            found.append(pair)
    return found


def _follow(graph, first, uses, outputs, eligible):
    value = first.output
    axis = len(value.shape) - 1 if first.op == "matmul" else 1
    if first.op == "matmul" and len(first.inputs) > 2 and first.inputs[2] is not None and first.inputs[2].type.size != value.shape[-1]:
        return None
    between = [(value.name, axis)]
    while True:
        users = uses.get(value.name, [])
        if value.name in outputs or not users:
            return None
        if all(u.op in LINEAR and eligible(u) and u.inputs[0] == value and axis == (len(value.shape) - 1 if u.op == "matmul" else 1) for u in users):
            return Pair(first, tuple(between), tuple(users))
        if len(users) != 1:
            return None
        (user,) = users
        moved = _axis_behind(user, axis)
        if moved is None:
            return None
        value, axis = user.output, moved
        between.append((value.name, axis))


def _axis_behind(node, axis):
    if node.op == "relu":
        return axis
    if node.op == "pool":
        return axis if axis == 1 else None
    if node.op == "reduce" and node.attrs["kind"] in ("mean", "sum", "max", "min") and axis not in ints(node.attrs, "axes"):
        return axis if node.attrs["keepdims"] else axis - sum(a < axis for a in ints(node.attrs, "axes"))
    if node.op == "transpose":
        return ints(node.attrs, "perm").index(axis)
    if node.op == "reshape":
        x, y = node.operands[0].shape, node.output.shape
        if np.prod(x) == x[axis]:
            hits = [i for i, e in enumerate(y) if e == x[axis]]
            return hits[0] if hits else None
    return None


def scales_for(pair, stats: ChannelStats, constants) -> np.ndarray:
    span = np.maximum(stats.high, 0) - np.minimum(stats.low, 0)
    span = np.maximum(span, FLOOR * span.max())
    if not span.max() > 0:
        return np.ones_like(span)
    best, least = np.ones_like(span), np.inf
    for strength in STRENGTHS:
        s = (span / span.max()) ** strength
        n = _noise(pair, stats, s, constants)
        if n < least * 0.999:
            best, least = s, n
    return best


def _noise(pair, stats, s, constants):
    step = (np.max(np.maximum(stats.high, 0) / s) - np.min(np.minimum(stats.low, 0) / s)) / STEPS
    total = 0.0
    for node in pair.seconds:
        w = constants[node.inputs[1].name].astype(np.float64)
        m = to_matrices(node, w)
        g = m.shape[0]
        per = len(s) // g
        taps = m.shape[1] // per
        sc = np.repeat(s.reshape(g, per), taps, axis=1)
        pw = np.repeat(stats.power.reshape(g, per), taps, axis=1)
        gain = np.square(m).sum(axis=2)
        rounding = step**2 / 12 * np.sum(np.square(sc) * gain)
        wstep = np.abs(m * sc[:, :, None]).max(axis=1) / WEIGHT_LEVELS
        weights = np.sum(np.square(wstep).sum(axis=1) / 12 * np.sum(pw / np.square(sc), axis=1))
        total += rounding + weights
    return total


def apply(graph: Graph, pair: Pair, s, constants):
    f = pair.first
    w = constants[f.inputs[1].name]
    m = to_matrices(f, w.astype(np.float64))
    g = m.shape[0]
    if f.op == "conv_transpose":
        raise NotImplementedError
    m = m / s.reshape(g, 1, -1)
    constants[f.inputs[1].name] = from_matrices(f, m, w.shape)
    if len(f.inputs) > 2 and f.inputs[2] is not None:
        b = constants[f.inputs[2].name]
        constants[f.inputs[2].name] = (b.reshape(-1).astype(np.float64) / s).reshape(b.shape)
    for node in pair.seconds:
        w = constants[node.inputs[1].name]
        m = to_matrices(node, w.astype(np.float64))
        g = m.shape[0]
        per = len(s) // g
        sc = np.repeat(s.reshape(g, per), m.shape[1] // per, axis=1)
        constants[node.inputs[1].name] = from_matrices(node, m * sc[:, :, None], w.shape)
