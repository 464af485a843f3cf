"""Inputs and outputs with extents that are only known in a run: dense outside, with the pitch of the bound inside."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..ir.extents import Extent
from ..ir.graph import Value
from ..record import record
from .dims import Range
from .folding import FoldingBuilder
from .probe import Argument


@record
class Ranged:
    """A dimension whose extent is an argument, and where inputs have it: their names and axes."""

    argument: Argument
    dims: Sequence[tuple[str, int]]


def with_pitch(builder: FoldingBuilder, value: Value, ranged: Sequence[Ranged], kept: Collection[str] = ()) -> Value:
    """An input with the pitch of the bound; the builder knows its extents. Those that are ``kept`` from run to run have
    it from the start."""
    extents = {axis: each.argument.value for each in ranged for name, axis in each.dims if name == value.name}
    if not extents:
        return value
    builder.extents[value.name] = extents
    if value.name in kept or not _gaps(builder, value):
        return value
    axes = tuple(sorted(extents))
    row = {"shape": (value.type.size,)}
    (flat,) = builder.emit_whole("reshape", [value], row, loc=value.name, names=["flat.extent"])
    operands = (flat, *(extents[axis] for axis in axes))
    attrs = {"axes": axes, "shape": value.shape}
    (pitched,) = builder.emit_whole("unpack", operands, attrs, loc=value.name, names=[f"{value.name}.extent"])
    builder.extents[pitched.name] = extents
    return pitched


def dense_outputs(
    builder: FoldingBuilder, outputs: Sequence[tuple[str, Value]], ranged: Sequence[Ranged],
    kept: Collection[str] = (),
) -> tuple[list[tuple[str, Value]], list[Extent]]:  # fmt: skip
    """The outputs, packed where elements beyond an extent lie between others, and behind them those that hold extents.
    Those that are ``kept`` from run to run are not packed.

    Outputs are given and returned in order, each as the name that it is to have and its value. An output that holds an
    extent is named after the first dimension that has it.
    """
    targets = {target for target, _ in outputs}
    gaps = [value.name for _, value in outputs if value.name in targets - {*kept} and _gaps(builder, value)]
    moved = {name: builder.names.fresh(f"{name}.pitched") for name in gaps}
    builder.rename(0, moved)
    outputs = [(target, Value(moved.get(value.name, value.name), value.type)) for target, value in outputs]
    results: list[tuple[str, Value]] = []
    counts: list[tuple[str, Value]] = []
    dims: dict[str, list[tuple[str, int]]] = {}
    bounds: dict[str, int] = {}
    names: dict[tuple[str, int], str] = {}
    ranges: dict[str, Range] = {}
    for each in ranged:
        name, bound = each.argument.value.name, each.argument.range.most
        names[name, bound], ranges[name], bounds[name], dims[name] = name, each.argument.range, bound, [*each.dims]
    for target, value in outputs:
        results.append((target, value if target in kept else _packed(builder, target, value)))
        for axis, count in sorted(builder.extents.get(value.name, {}).items()):
            key = count.name, value.shape[axis]
            if key not in names:
                names[key] = builder.names.fresh(f"{target}.extent{axis}")
                counts.append((names[key], count))
            dims.setdefault(names[key], []).append((target, axis))
            bounds[names[key]] = value.shape[axis]
    extents = []
    for name, found in dims.items():
        range_ = ranges.get(name, Range(0, bounds[name]))
        extents.append(Extent(name, tuple(found), bounds[name], range_.least, range_.step))
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
