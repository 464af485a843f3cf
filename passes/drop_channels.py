"""Leaves out channels that are the same whatever the input, and channels that nobody looks at.

Networks trained with weight decay, and pruned ones, are full of filters whose weights are zero, or so small that all
sums are rounded to the same integer: of MobileNet's late layers often nine in ten. Their results are constants::

    conv(x, w[o, :] = 0) + b[o]  ->  requantize  =  c       for every x

A channel goes where every reader can do without it: a contraction adds ``w (c - zero point)`` to its bias (without
padding, or where that is zero), and what works channel by channel goes without it, too. Integers stay the same bits;
of floats only channels that are zero go, as finite inputs leave them.

Bounds of every channel are found forwards, as intervals. Then values that hold the same channels, from the contraction
that makes them through pointwise layers, pools and depthwise convolutions, drop the same ones: those that none of
their readers needs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from ..ir.graph import Graph, NameSupply, Node, Value
from ..ir.types import TensorType
from ..ops.attributes import integer, ints, number
from ..ops.integer import evaluate_requantize, sum_shift, zero_point

UNIT = 4
"""Channels that are left are a multiple of so many, which kernels compute side by side, where there were as many."""


def drop_channels(graph: Graph) -> Graph:
    """``graph`` without the channels that make no difference; itself where there are none."""
    bounds = _Bounds(graph)
    kept = _kept(graph, bounds)
    return _Narrowed(graph, bounds, kept).graph() if kept else graph


# ---------------------------------------------------------------- kinds of nodes


def _is_dense(graph: Graph, node: Node) -> bool:
    """Whether it is a contraction of all channels with constant weights, whose channels can be chosen freely."""
    if node.op not in ("conv", "matmul") or not _is_plain(graph, node):
        return False
    return node.op == "matmul" or integer(node.attrs, "group") == 1


def _is_depthwise(graph: Graph, node: Node) -> bool:
    """Whether it is a convolution of each channel alone."""
    if node.op != "conv" or not _is_plain(graph, node):
        return False
    return integer(node.attrs, "group") == node.output.shape[-1] == node.operands[0].shape[-1]


def _is_plain(graph: Graph, node: Node) -> bool:
    """Whether a contraction has constant weights and channels last."""
    if sum_shift(node.attrs) or node.attrs.get("rhs_zero_point"):
        return False
    constants = all(value.name in graph.constants for value in node.operands[1:])
    if node.op == "matmul":
        return constants and len(node.operands[1].shape) == 2 and len(node.operands[0].shape) > 1
    return constants and node.attrs["layout"] == "channels_last"


def _is_channelwise(graph: Graph, node: Node) -> bool:
    """Whether each channel of the result, the last dimension, is made of that of the first operand alone."""
    if len(node.outputs) != 1 or not node.operands or not node.operands[0].shape or not node.output.shape:
        return False
    if node.op in ("relu", "clip"):
        return True
    if node.op == "pool":
        return node.attrs["layout"] == "channels_last"
    if node.op == "requantize":
        scale = graph.constants.get(node.operands[1].name)
        return scale is not None and (scale.size == 1 or scale.size == scale.shape[-1] == node.output.shape[-1])
    if node.op == "reduce":
        last = len(node.operands[0].shape) - 1
        return node.attrs["kind"] in ("sum", "mean") and last not in ints(node.attrs, "axes")
    if node.op == "reshape":
        before, after = node.operands[0].shape, node.output.shape
        return before[-1] == after[-1]
    return _is_depthwise(graph, node)


def _weights(graph: Graph, node: Node) -> np.ndarray:
    """[output channel, tap, input channel of its group]."""
    array = graph.constants[node.operands[1].name]
    return array.T[:, None] if node.op == "matmul" else array.reshape(len(array), -1, array.shape[-1])


def _is_padded(node: Node) -> bool:
    return node.op == "conv" and any(ints(node.attrs, "pad"))


# ---------------------------------------------------------------- bounds


@dataclass
class _Bounds:
    """The least and the greatest value of each channel. Floats are known where they are constant, without rounding."""

    graph: Graph
    known: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.graph.nodes:
            found = self._of_node(node)
            if found is not None:
                self.known[node.output.name] = found

    def of(self, value: Value) -> tuple[np.ndarray, np.ndarray]:
        if value.name not in self.known:
            count, kind = value.shape[-1], value.dtype.numpy
            limits = np.iinfo(kind) if np.dtype(kind).kind in "iu" else None
            low, high = (-np.inf, np.inf) if limits is None else (limits.min, limits.max)
            self.known[value.name] = np.full(count, low), np.full(count, high)
        return self.known[value.name]

    def _of_node(self, node: Node) -> tuple[np.ndarray, np.ndarray] | None:
        if _is_dense(self.graph, node) or (node.op == "conv" and _is_plain(self.graph, node)):
            return self._of_sums(node)
        if not _is_channelwise(self.graph, node) or node.output.shape[-1] != node.operands[0].shape[-1]:
            return None
        ends = self.of(node.operands[0])
        if node.op == "requantize":
            return self._requantized(node, ends)
        if node.op == "relu":
            return np.maximum(ends[0], 0), np.maximum(ends[1], 0)
        if node.op == "clip":
            limits = number(node.attrs, "lo"), number(node.attrs, "hi")
            return np.clip(ends[0], *limits), np.clip(ends[1], *limits)
        if node.op == "reduce":
            return self._summed(node, ends)
        return None if node.op == "pool" and node.attrs["kind"] != "max" else ends

    def _of_sums(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        w = _weights(self.graph, node)
        low, high = (end - zero_point(node.attrs) for end in self.of(node.operands[0]))
        if _is_padded(node):
            low, high = np.minimum(low, 0), np.maximum(high, 0)
        groups = integer(node.attrs, "group") if node.op == "conv" else 1
        first = np.arange(len(w)) // max(len(w) // groups, 1) * w.shape[-1]
        sums = _float_sums if w.dtype.kind == "f" else _integer_sums
        step = max(_AT_A_TIME // max(w[0].size, 1), 1) if len(w) else 1
        parts = []
        for start in range(0, len(w), step):
            seen = first[start : start + step, None] + np.arange(w.shape[-1])
            parts.append(sums(w[start : start + step], low[seen], high[seen]))
        bias = self.graph.constants[node.operands[2].name].reshape(-1) if len(node.operands) > 2 else np.zeros(1)
        both = np.concatenate(parts, axis=1) if parts else np.zeros((2, 0))
        both = both + bias.astype(np.float64 if w.dtype.kind == "f" else np.int64)
        return both[0], both[1]

    def _requantized(
        self, node: Node, ends: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Rises with the accumulator where the scale is positive."""
        scale, rank = self.graph.constants[node.operands[1].name], len(node.output.shape)
        if not np.all(scale > 0) or scale.ndim > rank:
            return None
        limits = integer(node.attrs, "acc_lo"), integer(node.attrs, "acc_hi")
        shape = (*(1,) * (rank - 1), -1)
        low, high = (
            evaluate_requantize([np.clip(end, *limits).astype(np.int32).reshape(shape), scale], node.attrs)[0]
            for end in ends
        )
        return low.reshape(-1).astype(np.int64), high.reshape(-1).astype(np.int64)

    def _summed(self, node: Node, ends: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray] | None:
        if node.operands[0].dtype.is_float:
            zero = (ends[0] == 0) & (ends[1] == 0)
            return np.where(zero, 0, -np.inf), np.where(zero, 0, np.inf)
        if node.attrs["kind"] != "sum":
            return None
        count = prod(node.operands[0].shape[axis] for axis in ints(node.attrs, "axes"))
        low, high = ((end.astype(np.int64) - zero_point(node.attrs)) * count for end in ends)
        return low, high


_AT_A_TIME = 1 << 20
"""Weights whose sums are looked at together: memory is bounded."""


def _integer_sums(w: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The least and the greatest sum of ``w`` [channel, tap, input] times inputs within ``low`` and ``high`` [channel,
    input]."""
    up, down = (part.sum(axis=1, dtype=np.int64) for part in (np.maximum(w, 0), np.minimum(w, 0)))
    return np.stack([(up * low + down * high).sum(axis=1), (up * high + down * low).sum(axis=1)])


def _float_sums(w: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The same of floats: 0 where nothing but zeros is added, and else unknown."""
    unknown = (w.any(axis=1) & ((low != 0) | (high != 0))).any(axis=1)
    return np.stack([np.where(unknown, -np.inf, 0), np.where(unknown, np.inf, 0)])


# ---------------------------------------------------------------- who needs what


def _kept(graph: Graph, bounds: _Bounds) -> dict[str, np.ndarray]:
    """The channels that are left of each value that loses any."""
    root: dict[str, str] = {}
    members: dict[str, list[Value]] = defaultdict(list)
    readers: dict[str, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        for value in node.operands:
            readers[value.name].append(node)
        if len(node.outputs) != 1:
            continue
        if _is_dense(graph, node):
            root[node.output.name] = node.output.name
        elif node.operands and node.operands[0].name in root and _is_channelwise(graph, node):
            root[node.output.name] = root[node.operands[0].name]
        if node.output.name in root:
            members[root[node.output.name]].append(node.output)
    outputs = {value.name for value in graph.outputs}
    kept: dict[str, np.ndarray] = {}
    for values in members.values():
        needed = np.zeros(values[0].shape[-1], bool)
        for value in values:
            needed |= value.name in outputs
            for reader in readers[value.name]:
                needed |= _needed(graph, bounds, reader, value, root)
        left = _rounded(needed)
        if len(left) < len(needed):
            kept |= dict.fromkeys((value.name for value in values), left)
    return kept


def _needed(graph: Graph, bounds: _Bounds, reader: Node, value: Value, root: dict[str, str]) -> np.ndarray:
    """The channels of ``value`` that ``reader`` has to see; nothing of what it only passes on."""
    if [operand.name for operand in reader.operands].count(value.name) > 1 or reader.operands[0].name != value.name:
        return np.ones(value.shape[-1], bool)
    if len(reader.outputs) == 1 and reader.output.name in root and root[reader.output.name] == root[value.name]:
        return np.zeros(value.shape[-1], bool)
    if not _is_dense(graph, reader):
        return np.ones(value.shape[-1], bool)
    low, high = bounds.of(value)
    without = (low == high) & (not _is_padded(reader) and not value.dtype.is_float)
    without |= (low == zero_point(reader.attrs)) & (high == zero_point(reader.attrs))
    return ~without & np.any(_weights(graph, reader), axis=(0, 1))


def _rounded(needed: np.ndarray) -> np.ndarray:
    """The places of the channels that are left: some more, so that their number is a multiple of :data:`UNIT`."""
    count = max(int(needed.sum()), 1)
    unit = UNIT if len(needed) % UNIT == 0 else 1
    more = np.flatnonzero(~needed)[: -(-count // unit) * unit - int(needed.sum())]
    return np.sort(np.concatenate([np.flatnonzero(needed), more]))


# ---------------------------------------------------------------- the graph without them


class _Narrowed:
    """``graph`` with the channels that are ``kept`` of the values that lose any."""

    def __init__(self, graph: Graph, bounds: _Bounds, kept: dict[str, np.ndarray]) -> None:
        self.old, self.bounds, self.kept = graph, bounds, kept
        self.names, self.constants = NameSupply.of(graph), dict(graph.constants)
        self.values: dict[str, Value] = {}

    def graph(self) -> Graph:
        nodes = [self._node(node) for node in self.old.nodes]
        return self.old.with_nodes(nodes, outputs=self.old.outputs, constants=self.constants)

    def _node(self, node: Node) -> Node:
        if not any(value.name in self.kept for value in (*node.operands, *node.outputs)):
            return node
        inputs = [self.values.get(value.name, value) for value in node.operands]
        attrs = dict(node.attrs)
        left = self.kept.get(node.output.name) if len(node.outputs) == 1 else None
        if _is_dense(self.old, node):
            inputs[1:] = self._sums(node, left)
        elif left is not None:
            if node.op == "conv":
                attrs["group"] = len(left)
                inputs[1:] = [self._rows(value, left) for value in node.operands[1:]]
            if node.op == "requantize" and self.constants[node.operands[1].name].size > 1:
                scale = self.constants[node.operands[1].name]
                inputs[1] = self._constant(node.operands[1], np.take(scale, left, axis=-1))
            if node.op == "reshape":
                attrs["shape"] = (*node.output.shape[:-1], len(left))
        outputs = node.outputs if left is None else (self._output(node.output, left),)
        return replace(node, inputs=tuple(inputs), outputs=outputs, attrs=attrs)

    def _output(self, value: Value, left: np.ndarray) -> Value:
        type_ = replace(value.type, shape=(*value.shape[:-1], len(left)))
        self.values[value.name] = Value(self.names.fresh(f"{value.name}.left"), type_)
        return self.values[value.name]

    def _sums(self, node: Node, left: np.ndarray | None) -> list[Value]:
        """Weights and bias of a contraction whose input or output has fewer channels."""
        x, weights = node.operands[0], self.constants[node.operands[1].name]
        bias = self.constants[node.operands[2].name] if len(node.operands) > 2 else None
        inner, outer = (0, 1) if node.op == "matmul" else (weights.ndim - 1, 0)
        seen = self.kept.get(x.name)
        if seen is not None:
            added = self._folded(node, np.setdiff1d(np.arange(x.shape[-1]), seen))
            weights = np.take(weights, seen, axis=inner)
            if np.any(added):
                bias = added if bias is None else bias + added
        if left is not None:
            weights = np.take(weights, left, axis=outer)
            bias = bias if bias is None or bias.size == 1 else np.take(bias, left, axis=-1)
        parts = [self._constant(node.operands[1], weights)]
        if bias is not None:
            stem = node.operands[2] if len(node.operands) > 2 else node.output
            parts.append(self._constant(stem, bias))
        return parts

    def _folded(self, node: Node, gone: np.ndarray) -> np.ndarray:
        """What the constant channels ``gone`` of the first operand add to each sum, as an i32."""
        low, high = self.bounds.of(node.operands[0])
        values = np.where(low == high, low, 0)[gone] - zero_point(node.attrs) * (low == high)[gone]
        if not np.any(values):
            return np.zeros(1, np.int32)
        taps = _weights(self.old, node)[:, :, gone].sum(axis=1, dtype=np.int64)
        return np.asarray(taps @ values.astype(np.int64)).astype(np.int32)

    def _rows(self, value: Value, left: np.ndarray) -> Value:
        array = self.constants[value.name]
        return self._constant(value, array if array.size == 1 else np.take(array, left, axis=0))

    def _constant(self, stem: Value, array: np.ndarray) -> Value:
        name = self.names.fresh(f"{stem.name}.left")
        self.constants[name] = np.ascontiguousarray(array)
        self.constants[name].setflags(write=False)
        return Value(name, TensorType(stem.dtype, array.shape))

