"""Tensors of float32 become halves where their precision suffices: behind convolutions and products of matrices.

    %y : f32 = conv(%x, %w)          %h : f16 = cast(%x)
    %z : f32 = relu(%y)        ->    %y : f16 = conv(%h, %w16)
    %s : f32 = exp(%z)               %z : f16 = relu(%y)
                                     %f : f32 = cast(%z)
                                     %s : f32 = exp(%f)

A node of :data:`BEGINNING` takes halves and makes some. One of :data:`CONTINUING`, whose results are hardly larger than
its operands, does so where all that it computes with are halves. Everything else, sums of many elements, powers and
exponentials among it, stays as it is, and so does the interface. Casts dissolve into the kernels around them.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ir.types import DType
from ..ops.opdef import Kind
from ..ops.table import OPS
from .rewrite import Rewriter, rewrite


class FloatFormat(Enum):
    """In which numbers a model of float32 is computed."""

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"

    @property
    def tolerance(self) -> float:
        """The relative L2 error beyond which a network that is computed so is suspected of a mistake."""
        return {FloatFormat.FP32: 1e-4, FloatFormat.FP16: 0.02, FloatFormat.BF16: 0.05}[self]


BEGINNING = frozenset({"conv", "matmul"})
CONTINUING = frozenset(
    {"abs", "add", "clip", "erf", "max", "min", "mul", "neg", "relu", "sigmoid", "sub", "tanh", "where"}
)


def halves(graph: Graph) -> Graph:
    """``graph`` with halves in the place of float32 where the rules above say so."""
    made: dict[str, Value] = {}

    def rule(rewriter: Rewriter, node: Node) -> Value | None:
        floats = [value for value in node.operands if value.dtype is DType.F32]
        if len(node.outputs) != 1 or node.output.dtype is not DType.F32 or not _fit(rewriter, floats):
            return None
        computed = [value for value in floats if not rewriter.is_constant(value)]
        continues = bool(computed) and all(_half(rewriter, value) for value in computed) and _continues(node)
        if node.op not in BEGINNING and not continues:
            return None
        operands = [_as_half(rewriter, value, made) if value in floats else value for value in node.inputs]
        return rewriter.emit1("cast", rewriter.like(node, *operands), to=DType.F32, loc=node.loc)

    return rewrite(graph, rule)


def _continues(node: Node) -> bool:
    if node.op == "pool":
        return node.attrs["kind"] != "sum"
    return node.op in CONTINUING or OPS[node.op].kind is Kind.VIEW


def _fit(rewriter: Rewriter, values: list[Value]) -> bool:
    """Whether halves hold the constants among ``values``: none becomes infinite."""
    arrays = [array for value in values if (array := rewriter.array(value)) is not None]
    largest = float(np.finfo(np.float16).max)
    return all(np.abs(array[np.isfinite(array)]).max(initial=0) <= largest for array in arrays)


def _half(rewriter: Rewriter, value: Value) -> Value | None:
    """The halves that ``value`` was cast from."""
    cast = rewriter.producer(value)
    halved = cast is not None and cast.op == "cast" and cast.operands[0].dtype is DType.F16
    return cast.operands[0] if cast is not None and halved else None


def _as_half(rewriter: Rewriter, value: Value | None, made: dict[str, Value]) -> Value | None:
    if value is None:
        return None
    array = rewriter.array(value)
    if value.name not in made:
        known = _half(rewriter, value)
        if array is not None:
            known = rewriter.constant(array.astype(np.float16), value.name)
        made[value.name] = rewriter.emit1("cast", value, to=DType.F16) if known is None else known
    return made[value.name]
