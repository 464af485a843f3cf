"""Where convolutions find the zeros around their input.

A convolution with padding reads beyond the border of its input without a test, because the input's buffer has a halo
of zeros (for integers: of the zero point). The kernel that computes the tensor writes the halo, too. Tensors that are
not ccml's to lay out (inputs of the model, constants, tensors that are seen under another shape) are first copied.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.graph import Graph, GraphBuilder, NameSupply, Node, Value
from ..ops.attributes import ints
from ..ops.control import BODIES
from ..ops.custom import CUSTOM
from ..ops.fused import body_of
from ..ops.integer import zero_point
from ..ops.movement import FETCH
from ..ops.opdef import Kind
from ..ops.table import OPS, infer_types
from .outputs import copy_value
from .tensors import Halo


def anchor_of(node: Node) -> Node | None:
    """The anchor inside a fused node."""
    body = node.attrs.get("body")
    if not isinstance(body, Graph):
        return None
    return next((n for n in body.nodes if OPS[n.op].kind is Kind.ANCHOR), None)


def needed_halo(conv: Node) -> Halo:
    """What a channels-last convolution reads beyond its input ``[n, spatial..., c]``."""
    x, w = conv.inputs[0], conv.inputs[1]
    assert x is not None and w is not None
    rank = len(x.shape) - 2
    stride, dilation, pad = (ints(conv.attrs, name) for name in ("stride", "dilation", "pad"))
    before, after = [0], [0]
    for d in range(rank):
        reach = (conv.output.shape[1 + d] - 1) * stride[d] + (w.shape[1 + d] - 1) * dilation[d] + 1
        before.append(pad[d])
        after.append(max(0, reach - pad[d] - x.shape[1 + d]))
    return Halo((*before, 0), (*after, 0), zero_point(conv.attrs))


def plan_borders(graph: Graph, read_halo: Callable[[Node], Halo | None]) -> tuple[Graph, dict[str, Halo]]:
    """Halos of values, and the graph with the copies that they need.

    ``read_halo`` says of a fused node on what halo around the input of its anchor its code relies.
    """
    owned = _owned_values(graph)
    builder = GraphBuilder(infer_types, NameSupply.of(graph))
    halos: dict[str, Halo] = {}
    copies: dict[str, Value] = {}
    for node in graph.nodes:
        anchor = anchor_of(node)
        halo = None if anchor is None else read_halo(node)
        if anchor is not None and halo is not None:
            x = anchor.inputs[0]
            assert x is not None
            if not halo.empty:
                if x.name not in owned:
                    if x.name not in copies:
                        copies[x.name] = copy_value(builder, x, f"{x.name}_padded", f"border of {node.loc}")
                    node = _redirect(node, x, copies[x.name])
                    x = copies[x.name]
                halos[x.name] = halos.get(x.name, Halo.none(len(x.shape))).merge(halo)
        builder.nodes.append(node)
    return graph.with_nodes(builder.nodes), halos


def _owned_values(graph: Graph) -> set[str]:
    """Values whose memory only ccml's own kernels touch, always under their own shape."""
    fused = {v.name for node in graph.nodes if node.op == "fused" for v in node.outputs}
    others = (node for node in graph.nodes if node.op in ("reshape", *BODIES) or _is_dense(node))
    dense = {v.name for node in others for v in (*node.operands, *node.outputs)}
    return fused - dense - {v.name for v in graph.outputs}


def _is_dense(node: Node) -> bool:
    """Whether code that is not ccml's to choose reads or writes the tensors of ``node``."""
    anchor = anchor_of(node)
    return anchor is not None and anchor.op in (CUSTOM, FETCH)


def _redirect(node: Node, old: Value, new: Value) -> Node:
    """The fused node with its anchor's input replaced; other uses inside keep the original."""
    body = body_of(node.attrs)
    anchor = anchor_of(node)
    assert anchor is not None
    changed = Node(anchor.op, (new, *anchor.inputs[1:]), anchor.outputs, anchor.attrs, anchor.loc)
    nodes = tuple(changed if n is anchor else n for n in body.nodes)
    still_used = any(v.name == old.name for n in nodes for v in n.operands)
    inputs = tuple(v for v in body.inputs if still_used or v.name != old.name)
    operands = tuple(v for v in node.operands if still_used or v.name != old.name)
    inner = Graph(body.name, (new, *inputs), body.outputs, nodes, body.constants)
    return Node(node.op, (new, *operands), node.outputs, {**node.attrs, "body": inner}, node.loc)
