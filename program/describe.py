"""What a kernel computes, in a line for people who read generated code."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.graph import Node
from ..ops.fused import inner_nodes

_SHOWN = 6


def describe(node: Node) -> str:
    """``conv 10x4, stride 2x2; relu: f32[1,49,10,1] -> f32[1,25,5,64]``: the operators of a fused node, then the types
    of its first input and of its outputs."""
    steps = list(dict.fromkeys(map(_operator, inner_nodes(node))))
    shown = steps if len(steps) <= _SHOWN else [*steps[: _SHOWN - 1], "..."]
    source = f"{node.operands[0].type} -> " if node.operands else ""
    return f"{'; '.join(shown)}: {source}{', '.join(str(value.type) for value in node.outputs)}"


def _operator(node: Node) -> str:
    """The operator, with its window where it has one that is not trivial."""
    kernel = node.attrs.get("kernel")
    if "stride" in node.attrs and isinstance(kernel, tuple):
        window = kernel
    elif "stride" in node.attrs and len(node.operands) > 1:
        window = node.operands[1].type.shape[1:-1]
    else:
        return node.op
    parts = [f"{node.op} {_by(window)}".rstrip()]
    for name in ("stride", "dilation"):
        value = node.attrs.get(name)
        if isinstance(value, tuple) and any(extent != 1 for extent in value):
            parts.append(f"{name} {_by(value)}")
    if node.attrs.get("group", 1) != 1:
        parts.append(f"group {node.attrs['group']}")
    return ", ".join(parts)


def _by(extents: Iterable[object]) -> str:
    return "x".join(map(str, extents))
