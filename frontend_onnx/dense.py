"""Inputs and outputs with extents that are only known in a run: dense outside, with the pitch of the bound inside."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.extents import Extent
from ..ir.graph import Value
from .folding import FoldingBuilder


def dense_outputs(
    builder: FoldingBuilder, outputs: Sequence[tuple[str, Value]]
) -> tuple[list[tuple[str, Value]], list[Extent]]:
    """The outputs, packed where elements beyond an extent lie between others, and behind them those that hold extents.

    Outputs are given and returned in order, each as the name that it is to have and its value. An output that holds an
    extent is named after the first dimension that has it.
    """
    targets = {target for target, _ in outputs}
    gaps = [value.name for _, value in outputs if value.name in targets and _gaps(builder, value)]
    moved = {name: builder.names.fresh(f"{name}.pitched") for name in gaps}
    builder.rename(0, moved)
    outputs = [(target, Value(moved.get(value.name, value.name), value.type)) for target, value in outputs]
    results: list[tuple[str, Value]] = []
    counts: list[tuple[str, Value]] = []
    dims: dict[str, list[tuple[str, int]]] = {}
    bounds: dict[str, int] = {}
    names: dict[tuple[str, int], str] = {}
    for target, value in outputs:
        results.append((target, _packed(builder, target, value)))
        for axis, count in sorted(builder.extents.get(value.name, {}).items()):
            key = count.name, value.shape[axis]
            if key not in names:
                names[key] = builder.names.fresh(f"{target}.extent{axis}")
                counts.append((names[key], count))
            dims.setdefault(names[key], []).append((target, axis))
            bounds[names[key]] = value.shape[axis]
    extents = [Extent(name, tuple(found), bounds[name]) for name, found in dims.items()]
    return [*results, *counts], extents


def _packed(builder: FoldingBuilder, target: str, value: Value) -> Value:
    if not _gaps(builder, value):
        return value
    extents = builder.extents[value.name]
    axes = tuple(sorted(extents))
    operands = (value, *(extents[axis] for axis in axes))
    (flat,) = builder.emit_whole("pack", operands, {"axes": axes}, loc=target)
    (dense,) = builder.emit_whole("reshape", [flat], {"shape": value.shape}, loc=target, names=[f"{target}.dense"])
    return dense


def _gaps(builder: FoldingBuilder, value: Value) -> bool:
    """Whether elements within the extents do not lie one behind the other."""
    extents = builder.extents.get(value.name, {})
    return any(extent != 1 for extent in value.shape[: max(extents, default=0)])
