"""The loop of the graph IR that a Loop or a Scan becomes, of the nodes of a pass and what they give.

Carried values keep their shapes; those whose extents change have that of the greatest (``carried_extents.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Node, Value
from ..ir.types import DType, TensorType
from ..ops.control import NO_LIMIT, plain
from .carried_extents import CarriedExtents
from .polynomials import Polynomial
from .regions import Region, finished, unsupported
from .scope import Site

if TYPE_CHECKING:
    from .walk import Walker

_SAME_STATES = (
    "bound its extent with --max {name}=N; give it its largest shape from the start; or make the trip count a constant"
)
_STATIC_ROWS = (
    "bound them with --max {name}=N; make the trip count a constant; or, where the passes are always as many, declare "
    "the shape of the output in the model (value_info)"
)
_SAME_ROWS = "end the body before this row"


@dataclass
class LoopNode:
    """A loop that is being built. ``names`` are those of its results: of the last carried values, then of the rows.

    ``extent`` is how many passes there are where that is an extent, ``most`` how many there are at most. Where
    ``counted``, the last carried value is the number of passes, which is the extent of rows whose number a run finds.
    In front of it are the extents of carried values that are ``changing``. Neither is among the results."""

    walker: Walker
    site: Site
    carried: Sequence[Value]
    names: Sequence[str]
    limit: int | None
    count: Value | None = None
    going: Value | None = None
    counted: bool = False
    extent: Value | None = None
    most: Polynomial | None = None
    changing: CarriedExtents | None = None
    number: Value = field(init=False)
    formals: list[Value] = field(init=False)

    def __post_init__(self) -> None:
        if any(value.name in self.walker.builder.strings for value in self.carried):
            raise unsupported(self.site, "a carried value of strings", "make the trip count a small constant")
        fresh = self.walker.builder.names.fresh
        self.number = Value(fresh(f"{self.site.loc}.iteration"), TensorType(DType.I64, ()))
        self.formals = [Value(fresh(f"{value.name}.state"), plain(value.type)) for value in self.carried]
        passes = tuple(value.name for value in (self.count, self.going) if value is not None)
        self.walker.builder.formals[self.number.name] = passes
        self.walker.builder.passes[self.number.name] = self.limit, self.most
        for formal, value in zip(self.formals, self.carried):
            extents = self.walker.builder.extents_of(value, self.site.loc)
            if extents:  # each pass has those of the first
                self.walker.builder.extents[formal.name] = extents
            self.walker.builder.formals[formal.name] = (*passes, value.name)

    def arguments(self) -> list[Value]:
        """What the body finds in place of its carried values: those without elements are constants."""
        builder = self.walker.builder
        return [
            formal if formal.type.size
            else builder.typed_constant(np.empty(formal.shape, formal.dtype.numpy), formal.type, f"{formal.name}.empty")
            for formal in self.formals
        ]  # fmt: skip

    def emit(self, nodes: Sequence[Node], results: Sequence[Value], condition: Value | None) -> list[Value]:
        """The last carried values, and the rows stacked; ``results`` are carried values and rows of one pass. Where
        a run finds how many rows there are, their shape is a bound."""
        builder, site = self.walker.builder, self.site
        states, rows = results[: len(self.carried)], results[len(self.carried) :]
        for formal, value in zip(self.formals, states):
            self._check_state(formal, value)
        lengths = [self._rows(len(states) + n, condition) for n in range(len(rows))]
        known = [length for length in (*lengths, self.limit) if length is not None]
        limit, counts = min(known, default=None), None in lengths
        changed = [n for n, (a, b) in enumerate(zip(states, self.formals)) if a.type.size and a.name != b.name]
        if self.counted and not counts and not self._tells_extents(condition):
            changed.remove(len(states) - 1)
        stacked = [n for n, row in enumerate(rows) if row.type.size and limit]
        own = [states[n] for n in changed] + [rows[n] for n in stacked]
        part = finished(builder, "step", nodes, [*([condition] if condition is not None else []), *own])
        formals, operands = self._inputs(part, changed)
        attrs: dict[str, AttrValue] = {
            "step": part.graph(builder, formals), "states": len(changed), "tested": condition is not None,
            "limit": NO_LIMIT if limit is None else limit,
        }  # fmt: skip
        names = [self._name(n) for n in (*changed, *(len(states) + n for n in stacked))]
        inputs = [self.count, self.going, *operands]
        made = list(builder.emit_whole("loop", inputs, attrs, loc=site.loc, names=names)) if own else []
        for n, value in zip(changed, made):
            if n < len(self.formals) and self.formals[n].name in builder.extents:
                builder.extents[value.name] = builder.extents[self.formals[n].name]
        for n, value in zip(stacked, made[len(changed) :]):
            extents = self._row_extents(rows[n]) | ({} if self.extent is None else {0: self.extent})
            if extents:
                builder.extents[value.name] = extents
        outputs = list(self.carried)
        for n, value in zip(changed, made):
            outputs[n] = value
        outputs += [
            made[len(changed) + stacked.index(n)] if n in stacked else self._empty(row, limit or 0)
            for n, row in enumerate(rows)
        ]
        passes = outputs.pop(len(states) - 1) if self.counted else None
        if passes is not None:
            for value, length in zip(outputs[len(states) - 1 :], lengths, strict=True):
                if length is None and value.type.size:
                    builder.extents[value.name] = {**builder.extents.get(value.name, {}), 0: passes}
        return self._with_extents(outputs, self._passes(passes, condition))

    def _is_static(self, condition: Value | None) -> bool:
        """Whether the number of passes is the limit."""
        return self.count is None and self.going is None and condition is None

    def _tells_extents(self, condition: Value | None) -> bool:
        """Whether extents of carried values follow from a number of passes that a run finds."""
        return self.changing is not None and self.changing.by_passes and not self._is_static(condition)

    def _passes(self, found: Value | None, condition: Value | None) -> Polynomial:
        """The number of passes; what was ``found`` counts where nothing else is known."""
        if self.extent is not None:
            return self.walker.builder.polynomial(self.extent)
        if found is None or self._is_static(condition):
            return Polynomial.constant(self.limit or 0)
        return self.walker.builder.counts.atom(found, self.limit or 0)

    def _with_extents(self, outputs: list[Value], passes: Polynomial) -> list[Value]:
        """The results without the extents that were carried, as which they are noted."""
        if self.changing is None:
            return outputs
        first, count = len(self.changing.initial), len(self.changing.found)
        self.changing.last(outputs[:first], outputs[first : first + count], passes)
        return outputs[:first] + outputs[first + count :]

    def _inputs(self, part: Region, changed: Sequence[int]) -> tuple[list[Value], list[Value]]:
        """The inputs of the graph, and the operands of the node for all but the first of them. Carried values that
        never change are captured."""
        builder = self.walker.builder
        states = [self.formals[n] for n in changed]
        captured = part.captured(builder, [self.number, *states])
        around = {formal.name: value for formal, value in zip(self.formals, self.carried)}
        operands = [self.carried[n] for n in changed] + [around.get(value.name, value) for value in captured]
        return [self.number, *states, *captured], operands

    def _row_extents(self, row: Value) -> dict[int, Value]:
        """Those of rows one below the other; all passes have the same."""
        builder = self.walker.builder
        found = dict(builder.extents_of(row, self.site.loc))
        if any(builder.counts.depth(builder.polynomial(count)) > builder.depth_of_nodes for count in found.values()):
            raise unsupported(self.site, "a row whose extent each pass finds anew", _SAME_ROWS)
        return {axis + 1: count for axis, count in found.items()}

    def _check_extents(self, name: str, formal: Value, value: Value) -> None:
        builder, loc = self.walker.builder, self.site.loc
        old, new = (
            {axis: count.name for axis, count in builder.extents_of(each, loc).items()} for each in (formal, value)
        )
        number = self.formals.index(formal)
        for axis in [axis for n, axis in self.changing.changes if n == number] if self.changing is not None else []:
            old.pop(axis, None)
            new.pop(axis, None)
        if old != new and not builder.compares:  # which does not know yet what constants depend on extents
            what = f"a loop at run time in which {name} changes its extents"
            raise unsupported(self.site, what, _SAME_STATES.format(name=name), [self.count, self.going])

    def _check_state(self, formal: Value, value: Value) -> None:
        name = self._name(self.formals.index(formal))
        if value.dtype is not formal.dtype:
            reason = f"{self.site.node.op_type}: {name} is {formal.type}, then {value.type}"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=self.site.loc)
        if value.shape != formal.shape:
            raise self.changes_shape(formal, value)
        self._check_extents(name, formal, value)

    def changes_shape(self, formal: Value, value: Value) -> CcmlError:
        name = self._name(self.formals.index(formal))
        change = f"from {formal.type} to {value.type}" if formal.type != value.type else "its extents"
        what = f"a loop at run time in which {name} changes {change}"
        return unsupported(self.site, what, _SAME_STATES.format(name=name), [self.count, self.going])

    def _rows(self, position: int, condition: Value | None) -> int | None:
        """How many rows there are, which is known where the number of passes is, or where the model says so; ``None``
        where a run finds it, up to the limit."""
        if self.extent is not None:
            return self.limit
        if self.limit is not None and self.count is None and self.going is None and condition is None:
            return self.limit
        outputs = list(self.site.node.output)
        declared = self.site.declared(outputs.index(name)) if (name := self._name(position)) in outputs else None
        if (not declared or declared[0] is None) and self.counted:
            return None
        if not declared or declared[0] is None:
            what = f"the length of {name}, a row for each pass, is known at run time only, which"
            raise unsupported(self.site, what, _STATIC_ROWS.format(name=name), [self.count, self.going, condition])
        return declared[0]

    def _name(self, position: int) -> str:
        return (self.names[position] if position < len(self.names) else "") or f"result {position}"

    def _empty(self, row: Value, limit: int) -> Value:
        type_ = TensorType(row.dtype, (limit, *row.shape))
        return self.walker.builder.typed_constant(np.empty(type_.shape, type_.dtype.numpy), type_, f"{row.name}.rows")
