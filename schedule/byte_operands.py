"""Operands of int8 anchors in the form in which block instructions of all cores take them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..ir.graph import Node
from ..ir.loops import Buffer, Expr, Pointer, as_expr
from ..ops.integer import zero_point
from ..ops.nest_tools import operand
from ..record import record
from .contraction import join_rows
from .kernel import KernelContext
from .tensors import TensorRef
from .window import Window


@record
class Columns:
    """``weights`` [o, k] and ``bias`` [o] (both int64), the zero point ``z`` of the activations folded into the bias:
    ``sum((x - z) * w) = sum(x * w) - z * sum(w)``. The magnitude of activations is ``most``."""

    weights: np.ndarray
    bias: np.ndarray
    most: int = 128

    @staticmethod
    def of(ctx: KernelContext, node: Node, weights: np.ndarray) -> Columns:
        """Of a convolution (channels last) or a product with a matrix."""
        return Columns.folded(ctx, node, weights.T if node.op == "matmul" else weights.reshape(weights.shape[0], -1))

    @staticmethod
    def folded(ctx: KernelContext, node: Node, matrix: np.ndarray) -> Columns:
        """Of any anchor whose weights are the rows of ``matrix``."""
        columns = matrix.astype(np.int64)
        given = ctx.constant(node.inputs[2]) if len(node.inputs) > 2 else None
        base = np.zeros((), np.int64) if given is None else given.astype(np.int64).reshape(-1)
        bits = 8 * operand(node, 0).dtype.numpy.itemsize
        return Columns(columns, base - zero_point(node.attrs) * columns.sum(axis=1), 1 << bits - 1)

    @property
    def spread(self) -> np.ndarray:
        """How far from the bias the accumulators of each channel can come."""
        return np.asarray(self.most * np.abs(self.weights).sum(axis=1))

    @property
    def reach(self) -> np.ndarray:
        """What the accumulators of each channel cannot exceed."""
        return np.asarray(np.abs(self.bias) + self.spread)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest accumulators of each channel."""
        return self.bias - self.spread, self.bias + self.spread


@record
class Pixels:
    """The ``shape`` of the output of a contraction without its channels, what a pixel sees of the input, and the
    tensors of the kernel under that shape."""

    shape: tuple[int, ...]
    window: Window
    refs: dict[str, TensorRef]

    @staticmethod
    def of(ctx: KernelContext, node: Node, *, joined: bool = True) -> Pixels:
        """Where nothing but the pixel itself is seen, rows are ``joined``, as far as all tensors allow it."""
        x, shape, refs = node.inputs[0], node.output.shape[:-1], dict(ctx.refs)
        assert x is not None
        window = Window.of(node)
        if not window.pointwise:
            return Pixels(shape, window, refs)
        if joined:
            (*rows, _), merged = join_rows(ctx, node, x, node.output.shape[-1])
            shape, refs = tuple(rows), {**refs, **merged}
        return Pixels(shape, Window.pixel(window.depth, x.shape[-1]), refs)


def unflattened(pixel: Expr, shape: Sequence[int]) -> tuple[Expr, ...]:
    """The index of the ``pixel``-th of all elements."""
    found: list[Expr] = []
    for dim, extent in enumerate(shape):
        quotient = pixel // prod(shape[dim + 1 :])
        found.append(as_expr(0) if extent == 1 else quotient % extent if prod(shape[:dim]) > 1 else quotient)
    return tuple(found)


def start(buffer: Buffer, index: Expr | int = 0) -> Pointer:
    """The beginning of a buffer, or of element ``index`` of its last dimension."""
    return Pointer(buffer, (*(as_expr(0) for _ in buffer.shape[1:]), as_expr(index)))
