"""Windows work on channels-last tensors: neighbouring channels are neighbours in memory, and vectorise."""

from __future__ import annotations

from ..ir.graph import Graph, Node, Value
from .rewrite import Rewriter, rewrite
from .views import Perm, inverse, transpose


def channels_last(graph: Graph) -> Graph:
    """Every ``channels_first`` conv, conv_transpose and pool becomes ``channels_last`` between two transposes.

    Constant weights are transposed now: [O,I,k..] to [O,k..,I] and, for conv_transpose, [C,O,k..] to [C,k..,O].
    ``cancel_transposes`` removes the transposes between neighbours.
    """
    return rewrite(graph, _to_channels_last)


def _to_channels_last(rewriter: Rewriter, node: Node) -> Value | None:
    if node.attrs.get("layout") != "channels_first":
        return None
    image, *weights = node.inputs
    assert image is not None
    last: Perm = (0, *range(2, len(image.shape)), 1)

    def moved(value: Value | None) -> Value | None:
        return None if value is None else transpose(rewriter, value, last, loc=node.loc)

    result = rewriter.like(node, moved(image), *map(moved, weights[:1]), *weights[1:], layout="channels_last")
    return transpose(rewriter, result, inverse(last), loc=node.loc, name=node.output.name)
