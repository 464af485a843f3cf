"""Two linear layers, one behind the other, become one where that is less work.

    V (W x + b) + c  =  (V W) x + (V b + c)

V stands for a product within each pixel, W for a convolution or such a product. This holds in real arithmetic; in
floats the result is rounded differently, usually less: products of weights are formed in float64 and rounded once.
"""

from __future__ import annotations

import numpy as np

from ..ir.graph import Graph, Node, Value, join_locs
from .products import Product, keeps_channels, product, window_product
from .rewrite import Rewriter, rewrite, until_stable
from .views import reshape


def merge_linear_layers(graph: Graph) -> Graph:
    """``graph`` with fewer multiplications in linear layers that nothing is between but reshapes."""
    return until_stable(graph, lambda g: rewrite(g, _merged))


def _merged(rewriter: Rewriter, node: Node) -> Value | None:
    outer = product(rewriter, node)
    if outer is None:
        return None
    x = outer.x
    while rewriter.used_once(x) and (first := rewriter.producer(x)) is not None and keeps_channels(first):
        x = first.operands[0]
    first = rewriter.producer(x)
    inner = window_product(rewriter, first) if first is not None and rewriter.used_once(x) else None
    if first is None or inner is None or not _is_less_work(inner, outer):
        return None
    weights = inner.weights.astype(np.float64) @ outer.weights
    bias = [] if inner.bias is outer.bias is None else [_bias(inner, outer)]
    kept = node if product(rewriter, first) is not None else first
    if kept.op == "conv":
        weights = weights.T.reshape(-1, *kept.operands[1].shape[1:-1], inner.x.shape[-1])
    with np.errstate(over="ignore"):
        arrays = [array.astype(np.float32) for array in (weights, *bias)]
    if not all(np.all(np.isfinite(array)) for array in arrays):
        return None
    name, loc = node.output.name, join_locs(first.loc, node.loc)
    x = reshape(rewriter, inner.x, (*kept.operands[0].shape[:-1], inner.x.shape[-1]), loc=loc)
    constants = [rewriter.constant(array, f"{name}.{stem}") for array, stem in zip(arrays, ("weights", "bias"))]
    (result,) = rewriter.emit(kept.op, [x, *constants], kept.attrs, loc=loc, names=[name])
    return reshape(rewriter, result, node.output.shape, loc=node.loc, name=name)


def _is_less_work(inner: Product, outer: Product) -> bool:
    """Whether one matrix has fewer elements than the two."""
    (taps, middle), channels = inner.weights.shape, outer.channels
    return taps * channels < middle * (taps + channels)


def _bias(inner: Product, outer: Product) -> np.ndarray:
    through = 0.0 if inner.bias is None else inner.bias.astype(np.float64) @ outer.weights
    return np.broadcast_to(through + (0.0 if outer.bias is None else outer.bias), outer.channels)
