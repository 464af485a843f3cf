"""Products of constant weights with the channels of each pixel, whichever operator says them."""

from __future__ import annotations

import numpy as np

from ..ir.graph import Node, Value
from ..ir.types import DType
from ..ops.attributes import integer, ints
from ..record import record
from .rewrite import Rewriter


@record
class Product:
    """``x[..., K] @ weights[K, N] + bias[N]`` in float32."""

    x: Value
    weights: np.ndarray
    bias: np.ndarray | None

    @property
    def channels(self) -> int:
        """N, of the result."""
        return int(self.weights.shape[1])


def product(rewriter: Rewriter, node: Node) -> Product | None:
    """``node`` as a product within each pixel: a matmul with one constant matrix, or a convolution of a single tap."""
    found = window_product(rewriter, node)
    if found is None or node.op == "matmul":
        return found
    plain = all(extent == 1 for extent in node.operands[1].shape[1:-1]) and not any(ints(node.attrs, "pad"))
    return found if plain and all(step == 1 for step in ints(node.attrs, "stride")) else None


def window_product(rewriter: Rewriter, node: Node) -> Product | None:
    """The same where each row of ``weights`` may stand for a channel of any tap of a convolution's window."""
    if node.op not in ("conv", "matmul") or any(value.dtype is not DType.F32 for value in node.operands):
        return None
    if node.op == "conv" and (node.attrs["layout"] != "channels_last" or integer(node.attrs, "group") != 1):
        return None
    x, *constants = node.operands
    weights, *bias = (rewriter.array(value) for value in constants)
    if weights is None or any(array is None for array in bias):
        return None
    if node.op == "conv":
        weights = weights.reshape(len(weights), -1).T
    if weights.ndim != 2 or not weights.size or len(x.shape) < 2:
        return None
    per_channel = [np.broadcast_to(array.reshape(-1), weights.shape[1:]) for array in bias if array is not None]
    return Product(x, weights, per_channel[0] if per_channel else None)


def keeps_channels(node: Node) -> bool:
    """Whether ``node`` is a reshape of pixels, whose channels stay as they are."""
    return node.op == "reshape" and node.operands[0].shape[-1:] == node.output.shape[-1:] != ()
