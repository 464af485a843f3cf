"""Folds multiplications and additions per channel into the weights and bias of their neighbour.

Batch normalization arrives as ``mul`` and ``add`` with constants. With y = W x + b,

* behind:  (W x + b) s + t  =  (s W) x + (s b + t)      s, t per output channel
* before:  W (s x + t) + b  =  (W s) x + (W t + b)      s, t per input channel; t only where no padding is seen,
                                                        because padding is 0 and not t

These hold in real arithmetic. In floats the result is rounded differently, usually less: products are formed in
float64 and rounded once, however many operators are folded. Only values with a single use are folded away, and only
where the new weights are finite.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from ..ir.graph import Graph, Node, Value, join_locs
from ..ops.attributes import integer, ints
from ..record import record
from .rewrite import Rewriter, rewrite, until_stable

CONTRACTIONS = ("conv", "conv_transpose", "matmul")
AFFINE = ("add", "sub", "mul", "div", "neg")


def fold_affine(graph: Graph, kept: Collection[str] = ()) -> Graph:
    """Merges per-channel ``add``, ``sub``, ``mul``, ``div`` and ``neg`` into contractions behind or before them;
    values named in ``kept`` are not merged into what reads them."""

    def walk(before: Graph) -> Graph:
        folder = _Folder(kept)
        return rewrite(before, folder.fold_behind, folder.fold_before)

    return until_stable(graph, walk)


@record
class _Affine:
    """``x * scale + shift`` with float64 vectors, one entry a channel."""

    x: Value
    scale: np.ndarray
    shift: np.ndarray


@dataclass
class _Folder:
    kept: Collection[str]
    wide: dict[str, np.ndarray] = field(default_factory=dict)
    """The float64 arrays behind the constants made here, by name, so that a chain is rounded once."""

    def fold_behind(self, rewriter: Rewriter, node: Node) -> Value | None:
        for position in range(len(node.inputs) if node.op in AFFINE else 0):
            x = node.inputs[position]
            producer = rewriter.producer(x)
            if producer is None or producer.op not in CONTRACTIONS or not rewriter.used_once(producer.output):
                continue
            affine = _affine(rewriter, node, position, _channel_axis(producer, producer.output))
            if affine is not None and (folded := self._behind(rewriter, producer, affine, node)) is not None:
                return folded
        return None

    def _behind(self, rewriter: Rewriter, anchor: Node, affine: _Affine, node: Node) -> Value | None:
        weights, bias = anchor.inputs[1], anchor.inputs[2] if len(anchor.inputs) > 2 else None
        assert weights is not None
        scaled = np.any(affine.scale != 1)
        if (scaled and not rewriter.is_constant(weights)) or (bias is not None and not rewriter.is_constant(bias)):
            return None
        new_bias = affine.shift if bias is None else self._array(rewriter, bias) * affine.scale + affine.shift
        new_weights = self._array(rewriter, weights) * _output_scale(anchor, affine.scale) if scaled else None
        if bias is None and not np.any(affine.shift):
            new_bias = None
        loc = join_locs(anchor.loc, node.loc)
        return self._emit(rewriter, anchor, anchor.inputs[0], new_weights, new_bias, node.output.name, loc)

    def fold_before(self, rewriter: Rewriter, node: Node) -> Value | None:
        if node.op not in CONTRACTIONS or not rewriter.is_constant(node.operands[1]):
            return None
        producer = rewriter.producer(node.inputs[0])
        if producer is None or producer.op not in AFFINE or not rewriter.used_once(producer.output):
            return None
        if producer.output.name in self.kept:
            return None
        for position in range(len(producer.inputs)):
            affine = _affine(rewriter, producer, position, _channel_axis(node, producer.output))
            if affine is None:
                continue
            folded = self._before(rewriter, node, affine, join_locs(producer.loc, node.loc))
            if folded is not None:
                return folded
        return None

    def _before(self, rewriter: Rewriter, anchor: Node, affine: _Affine, loc: str) -> Value | None:
        weights, bias = anchor.inputs[1], anchor.inputs[2] if len(anchor.inputs) > 2 else None
        assert weights is not None
        array, new_bias = self._array(rewriter, weights), None
        if np.any(affine.shift):
            if not _sees_no_border(anchor) or (bias is not None and not rewriter.is_constant(bias)):
                return None
            new_bias = _response(anchor, array, affine.shift)
            if new_bias.ndim > 1:  # of a batch of matrices each has its own
                return None
            new_bias = new_bias if bias is None else new_bias + self._array(rewriter, bias)
        scaled = np.any(affine.scale != 1)
        new_weights = array * _input_scale(anchor, array, affine.scale) if scaled else None
        return self._emit(rewriter, anchor, affine.x, new_weights, new_bias, anchor.output.name, loc)

    def _emit(
        self,
        rewriter: Rewriter,
        anchor: Node,
        x: Value | None,
        weights: np.ndarray | None,
        bias: np.ndarray | None,
        name: str,
        loc: str,
    ) -> Value | None:
        """``anchor`` on ``x`` with the new arrays (``None``: as before)."""
        _, old_weights, *old_bias = anchor.inputs
        new: list[Value | None] = [x, old_weights, *old_bias]
        for position, array, stem in ((1, weights, "weights"), (2, bias, "bias")):
            if array is None:
                continue
            with np.errstate(over="ignore"):
                rounded = array.astype(anchor.output.dtype.numpy)
            if not np.all(np.isfinite(rounded)):
                return None
            old = new[position] if position < len(new) else None
            stem = f"{name}.{stem}" if old is None else old.name
            constant = rewriter.constant(rounded, stem)
            self.wide[constant.name] = array
            new[position : position + 1] = [constant]
        return rewriter.emit(anchor.op, new, anchor.attrs, loc=loc, names=[name])[0]

    def _array(self, rewriter: Rewriter, value: Value) -> np.ndarray:
        array = self.wide.get(value.name, rewriter.array(value))
        assert array is not None
        return array.astype(np.float64)


def _affine(rewriter: Rewriter, node: Node, position: int, axis: int) -> _Affine | None:
    """``node`` as an affine function of its operand ``position``, per index of ``axis``; ``None`` if it is none."""
    x = node.inputs[position]
    assert x is not None
    if x.shape != node.output.shape or not x.dtype.is_float:
        return None
    channels = x.shape[axis]
    ones, zeros = np.ones(channels), np.zeros(channels)
    if node.op == "neg":
        return _Affine(x, -ones, zeros)
    other = _per_channel(rewriter.array(node.inputs[1 - position]), x, axis)
    if other is None or not np.all(np.isfinite(other)):
        return None
    if node.op == "add":
        return _Affine(x, ones, other)
    if node.op == "sub":
        return _Affine(x, ones, -other) if position == 0 else _Affine(x, -ones, other)
    if node.op == "mul":
        return _Affine(x, other, zeros)
    return _Affine(x, 1 / other, zeros) if position == 0 and np.all(other) else None


def _per_channel(array: np.ndarray | None, x: Value, axis: int) -> np.ndarray | None:
    """A constant that varies along ``axis`` only, as a float64 vector."""
    if array is None:
        return None
    shape = (1,) * (len(x.shape) - array.ndim) + array.shape
    if any(extent != 1 for position, extent in enumerate(shape) if position != axis):
        return None
    return np.broadcast_to(array.astype(np.float64).reshape(-1), (x.shape[axis],))


def _channel_axis(anchor: Node, value: Value) -> int:
    return 1 if anchor.attrs.get("layout") == "channels_first" else len(value.shape) - 1


def _groups(anchor: Node) -> int:
    return 1 if anchor.op == "matmul" else integer(anchor.attrs, "group")


def _sees_no_border(anchor: Node) -> bool:
    return anchor.op == "matmul" or (anchor.op == "conv" and not any(ints(anchor.attrs, "pad")))


def _on_axes(matrix: np.ndarray, rank: int, second_axis: int) -> np.ndarray:
    """``matrix`` shaped to broadcast: its rows along axis 0, its columns along ``second_axis``."""
    shape = [1] * rank
    shape[0], shape[second_axis] = matrix.shape
    return matrix.reshape(shape)


def _second_axis(anchor: Node) -> int:
    """Of a convolution's weights: the channels beside those of axis 0."""
    return 1 if anchor.attrs["layout"] == "channels_first" else len(anchor.operands[1].shape) - 1


def _output_scale(anchor: Node, scale: np.ndarray) -> np.ndarray:
    """``scale`` per output channel, shaped like the weights: conv [O,..], conv_transpose [C,..O/g..], matmul [..,N]."""
    if anchor.op == "matmul":
        return scale
    weights = anchor.operands[1]
    if anchor.op == "conv":
        return scale.reshape(-1, *[1] * (len(weights.shape) - 1))
    per_group = scale.reshape(_groups(anchor), -1).repeat(weights.shape[0] // _groups(anchor), axis=0)
    return _on_axes(per_group, len(weights.shape), _second_axis(anchor))


def _input_scale(anchor: Node, weights: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """``scale`` per input channel, shaped like the weights: conv [O,..C/g..], conv_transpose [C,..], matmul [K,N]."""
    if anchor.op == "matmul":
        return scale[:, np.newaxis]
    if anchor.op == "conv_transpose":
        return scale.reshape(-1, *[1] * (weights.ndim - 1))
    per_group = scale.reshape(_groups(anchor), -1).repeat(weights.shape[0] // _groups(anchor), axis=0)
    return _on_axes(per_group, weights.ndim, _second_axis(anchor))


def _response(anchor: Node, weights: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """What a constant input, ``shift`` per channel, adds to each output channel."""
    products = weights * _input_scale(anchor, weights, shift)
    if anchor.op == "matmul":
        return products.sum(axis=-2)
    return products.sum(axis=tuple(range(1, weights.ndim)))
