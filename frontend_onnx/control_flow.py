"""If, Loop and Scan at run time: their bodies become graphs of ``if`` and ``loop`` nodes.

Shapes are static: both branches give the same ones, and carried values keep theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np
import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Node, Value
from ..ir.types import DType, TensorType
from ..record import record
from .carried_extents import CarriedExtents, Change, Limits, Place, UnboundedError
from .loop_node import LoopNode
from .polynomials import Polynomial
from .probe import MARK
from .region_extents import Branch, counted_branches, same_ranks
from .region_strings import branches_of_bytes, strings_of_bytes
from .regions import (
    finished,
    flag,
    in_form,
    integer,
    names_in_form,
    region,
    same_form,
    shown_form,
    tensors_of,
    unsupported,
    walk_body,
)
from .scope import AnyList, Bound, GrowingList, Missing, Results, Site, parts
from .stacked_lists import common_lists, growing, lengthened, lengths_change, lengths_vary, looked_into, stacked

if TYPE_CHECKING:
    from .folding import FoldingBuilder
    from .walk import Walker

_SAME_SHAPES = "make the condition a constant (fix dimensions with --dim), or give both branches the same rank"
_OF_EXTENTS = (ErrorCode.INVALID_MODEL, ErrorCode.SHAPE_MISMATCH)
"""What a branch may be accused of that is right for other extents."""
_MAX_ROWS = 2**31
"""Trip counts from here on are no bound but mean any number."""


# ---- If


def runtime_branch(walker: Walker, site: Site) -> Results:
    """Both branches, of which a run takes one."""
    condition = site.inputs[0]
    if condition is None or condition.dtype is not DType.BOOL or condition.type.size != 1:
        raise CcmlError(ErrorCode.INVALID_MODEL, "If: the condition is not one bool", loc=site.loc)
    forms: list[Sequence[Bound]] = []
    found = [_walked_branch(walker, site, site.attributes[name].g, forms) for name in ("then_branch", "else_branch")]
    if any(results is None for _, results in found):
        return [Missing.UNKNOWN] * len(site.node.output)
    found, forms = _lists_alike(walker, site, found, forms)
    _check_forms(site, *forms)
    found, strings = branches_of_bytes(walker.builder, found, site.loc)
    outputs_of = names_in_form(forms[0], site.node.output)
    plain = list(forms[0]) == tensors_of(forms[0])  # outputs are tensors, one for each result
    said = site.declared if plain else lambda position: None
    found, doubts = same_ranks(walker.builder, found, said, outputs_of, site.loc)
    found, extents = counted_branches(walker.builder, found, site.loc)
    then, orelse = (results or [] for _, results in found)
    outputs_of += [f"{site.loc}{MARK}"] * (len(then) - len(outputs_of))
    _check_branches(site, outputs_of, then, orelse)
    kept = [n for n, (a, b) in enumerate(zip(then, orelse)) if a.type.size and a != b]
    regions = [
        finished(walker.builder, name, nodes, [results[n] for n in kept])
        for name, (nodes, results) in zip(("then", "orelse"), found)
        if results is not None
    ]
    captured = list({v.name: v for part in regions for v in part.captured(walker.builder, ())}.values())
    graphs = {part.name: part.graph(walker.builder, captured) for part in regions}
    outputs: dict[int, Value] = {}
    if kept:
        names = [outputs_of[n] or "if" for n in kept]
        made = walker.builder.emit_whole("if", [condition, *captured], graphs, loc=site.loc, names=names)
        outputs = dict(zip(kept, made))
    results = [outputs.get(n, value) for n, value in enumerate(then)]
    for n, each in extents.items():
        if n in outputs:
            walker.builder.extents[results[n].name] = {
                axis: count if isinstance(count, Value) else count.value(walker.builder, results, site.loc)
                for axis, count in each.items()
            }
    walker.builder.doubts |= {results[n].name: doubt for n, doubt in doubts.items()}
    for n in strings:
        results[n] = strings_of_bytes(walker.builder, results[n], site.loc)
    return in_form(forms[0], results)


def _walked_branch(
    walker: Walker, site: Site, graph: onnx.GraphProto, forms: list[Sequence[Bound]]
) -> tuple[tuple[Node, ...], list[Value] | None]:
    """The nodes of a branch, and its tensors; notes what of them are sequences. A mistake in it is none of the model
    where the branch is never taken: the condition decides about it."""

    def walk() -> list[Value | Missing]:
        try:
            forms.append(walk_body(walker, site, graph, (), {}))
        except CcmlError as problem:
            if problem.kind in _OF_EXTENTS and not problem.deciding:
                problem.deciding = tuple(value.name for value in site.inputs if value is not None)
            raise
        return tensors_of(forms[-1])

    return region(walker, site, walk, strings=True)


def _lists_alike(
    walker: Walker, site: Site, branches: list[Branch], forms: list[Sequence[Bound]]
) -> tuple[list[Branch], list[Sequence[Bound]]]:
    """Branches that give lists of different lengths give rows, as many as a run tells."""
    lists = common_lists(*forms)
    if not lists:
        return branches, forms
    made: list[Branch] = []
    new: list[Sequence[Bound]] = []
    for (nodes, _), form in zip(branches, forms):
        walker.builder.enter(nodes)
        try:
            new.append([
                stacked(walker.context(site), value, lists[n]) if n in lists else value for n, value in enumerate(form)
            ])  # fmt: skip
        finally:
            nodes = walker.builder.leave()
        made.append((nodes, _tensors(new[-1])))
    return made, new


def _check_forms(site: Site, then: Sequence[Bound], orelse: Sequence[Bound]) -> None:
    if len(then) != len(orelse) or len(then) < len(site.node.output):
        reason = f"If: its branches have {len(then)} and {len(orelse)} results, the node {len(site.node.output)}"
        raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=site.loc)
    if not same_form(then, orelse):
        what = f"a condition computed at run time whose branches give {shown_form(then)} or {shown_form(orelse)}"
        raise unsupported(site, what, "make the condition a constant", [site.inputs[0]])


def _check_branches(site: Site, names: Sequence[str], then: Sequence[Value], orelse: Sequence[Value]) -> None:
    for name, a, b in zip(names, then, orelse):
        if a.dtype is not b.dtype:
            raise CcmlError(ErrorCode.INVALID_MODEL, f"If: {name} is {a.type} or {b.type}", loc=site.loc)
        if a.shape != b.shape:
            what = f"a condition computed at run time whose branches make {name} {a.type} or {b.type}"
            raise unsupported(site, what, _SAME_SHAPES, [site.inputs[0]])


# ---- Loop and Scan


def runtime_loop(walker: Walker, site: Site, carried: Sequence[Bound], keeps_going: bool = False) -> Results:
    """A Loop whose trip count or condition is known at run time, or whose passes are many. The body ``keeps_going``
    where it gives the condition back that it is given.

    It is walked anew where its passes are found to change extents of carried values, or the lengths of lists; of two
    imports that are compared, these walks leave no trace in names."""
    found, tried = _Changing({}, {}), walker.builder.ranged
    while True:
        back = walker.mark()
        with walker.builder.names.aside() if tried else nullcontext():
            more, results = _walked_loop(walker, site, carried, _trips(walker, site, keeps_going), found)
        stable = not more.changes and not more.lists
        if stable and not tried:
            return results
        back()
        tried = walker.builder.ranged and not stable
        kept = {} if more.lists else found.changes  # of which the carried values are others
        found = _Changing({**kept, **more.changes}, {**found.lists, **more.lists})


@record
class _Changing:
    """Extents of carried values, and the types of tensors of carried lists whose length changes, that passes change."""

    changes: Mapping[Place, Change]
    lists: Mapping[int, TensorType]


@record
class _Trips:
    """The trip count and the first condition, what is known of them while compiling, and the trip count as an extent:
    of ``most`` passes, and where nothing else ends the loop."""

    count: Value | None
    start: Value | None
    limit: int | None
    going: bool | None
    most: Polynomial | None = None
    extent: Value | None = None


def _trips(walker: Walker, site: Site, keeps_going: bool) -> _Trips:
    count, start = (*site.inputs[:2], None, None)[:2]
    passes_of_run = walker.builder.numbers.of(count) if count is not None else None
    extent, most = None, None
    if count is not None and passes_of_run is not None and passes_of_run[0].number is None:
        most = passes_of_run[0]
        count = walker.builder.numbers.in_run(count, site.loc)
        if keeps_going and (start is None or flag(walker, start)):
            extent = count = walker.builder.counts.value(most, site.loc)
    limit = None if count is None else integer(walker, count)
    going = flag(walker, start) if start is not None else True
    for value, dtype, what in ((count, DType.I64, "trip count"), (start, DType.BOOL, "condition")):
        if value is not None and (value.dtype is not dtype or value.type.size != 1):
            reason = f"Loop: the {what} is {value.type}, not one {dtype.value}"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=site.loc)
    return _Trips(count, start, 0 if going is False else None if limit is None else max(limit, 0), going, most, extent)


def _walked_loop(
    walker: Walker, site: Site, carried: Sequence[Bound], trips: _Trips, known: _Changing
) -> tuple[_Changing, Results]:
    """What else the passes change than is known; where that is nothing, the results."""
    graph, changes = site.attributes["body"].g, known.changes
    carried = [
        stacked(walker.context(site), value, known.lists[n]) if n in known.lists else value
        for n, value in enumerate(carried)
    ]
    grown = [
        n for n, value in enumerate(carried)
        if isinstance(value, AnyList) and n not in known.lists and growing(graph, n) and not looked_into(graph, n)
    ]  # fmt: skip
    kept = [value for n, value in enumerate(carried) if n not in grown]
    kept_names = [name for n, name in enumerate(site.node.output[: len(carried)]) if n not in grown]
    states, rows_of = _tensors(kept), list(site.node.output[len(carried) :])
    bounded = [*rows_of, *(site.node.output[n] for n in grown)]
    given = [walker.builder.most[name] for name in bounded if name in walker.builder.most]
    given += [] if trips.most is None else [walker.builder.counts.span(trips.most)[1]]
    state_names = names_in_form(kept, kept_names)
    named = {n: walker.builder.most[name] for n, name in enumerate(state_names) if name in walker.builder.most}
    changing = CarriedExtents(walker.builder, states, changes, site.loc)
    most = min([*given, *([] if trips.limit is None else [trips.limit])], default=None)
    most = changing.passes(_limits(most, named)) if changing.by_passes else most
    counted = trips.extent is None and bool(bounded or changing.by_passes) and most is not None and 0 < most < _MAX_ROWS
    passes = [walker.builder.constant(np.asarray(0, np.int64), f"{site.loc}{MARK}")] if counted else []
    states, counts = changing.first()
    names = [*state_names, *(f"{site.loc}{MARK}" for _ in counts), *("" for _ in passes), *rows_of]
    loop = LoopNode(
        walker, site, [*states, *counts, *passes], names, most, trips.count if trips.limit is None else None,
        trips.start if trips.going is None else None, counted, trips.extent, trips.most, changing,
    )  # fmt: skip
    true = walker.builder.constant(np.asarray(True), f"{site.loc}.condition")
    deciding = tuple(value.name for value in (loop.count, loop.going) if value is not None)
    appended: dict[int, Sequence[Value]] = {}
    differ, lists = dict[Place, Change](), dict[int, TensorType]()

    def walk() -> list[Value | Missing]:
        formals = loop.formals[: len(states)]
        changing.begin(loop.number, loop.limit, formals, loop.formals[len(states) : len(states) + len(counts)])
        rest = iter(in_form(kept, loop.arguments()[: len(states)]))
        own = [GrowingList(f"{site.loc}.{n}", deciding) if n in grown else next(rest) for n in range(len(carried))]
        condition, *found = walk_body(walker, site, graph, [loop.number, true, *own], {})
        new, rows = found[: len(carried)], found[len(carried) :]
        if len(new) < len(carried) or any(isinstance(v, AnyList) or v is Missing.ABSENT for v in (condition, *rows)):
            reason = f"the body of Loop has {1 + len(found)} results: {shown_form([condition, *found])}"
            raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=site.loc)
        if Missing.UNKNOWN in new:
            return [Missing.UNKNOWN]
        appended.update((n, parts(new[n])) for n in grown)
        names.extend(site.node.output[n] for n in grown for _ in appended[n])
        lists.update(lengths_change(carried, new, grown))
        lists.update(lengths_vary(walker.context(site), {n: new[n] for n in grown}))
        if lists:
            return [Missing.UNKNOWN]
        new = [
            stacked(walker.context(site), value, known.lists[n]) if n in known.lists else value
            for n, value in enumerate(new) if n not in grown
        ]  # fmt: skip
        if not same_form(new, kept):
            what = f"a loop at run time in which {shown_form(kept)} become {shown_form(new)}"
            raise unsupported(site, what, "make the trip count a small constant", [loop.count, loop.going])
        values = _tensors(new)
        try:
            differ.update(changing.changed(formals, values, _limits(loop.limit, named)))
        except UnboundedError as error:
            raise loop.changes_shape(formals[error.number], values[error.number]) from None
        values, lengths = changing.end(formals, values)
        one = walker.builder.constant(np.asarray(1, np.int64), f"{site.loc}.one")
        done = walker.builder.emit("add", [loop.number, one], loc=site.loc) if counted else ()
        return tensors_of([condition, *values, *lengths, *done, *rows, *(row for n in grown for row in appended[n])])

    nodes, results = region(walker, site, walk)
    if results is None or differ:
        return _Changing(differ, lists), [Missing.UNKNOWN] * len(site.node.output)
    unused = [] if walker.builder.ranged else [n for n in named if n not in {number for number, _ in changes}]
    for name in [state_names[n] for n in unused]:
        hint = "it bounds bytes of strings, elements of a Range, rows of a Loop and what grows in one"
        reason = f"all passes leave the extents of {name} as they are"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=site.loc, hint=hint)
    condition: Value | None = results[0]
    constant = flag(walker, condition)
    if constant is not None:
        condition = None
        loop.limit = loop.limit if constant else 1 if loop.limit is None else min(loop.limit, 1)
    elif results[0].dtype is not DType.BOOL or results[0].type.size != 1:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"Loop: its condition is {results[0].type}", loc=site.loc)
    if loop.limit is None and loop.count is None and condition is None:
        raise unsupported(site, "a loop without a trip count whose condition stays true")
    made = loop.emit(nodes, results[1:], condition)
    last, rows = in_form(kept, made[: len(states)]), iter(made[len(states) :])
    own = [next(rows) for _ in rows_of]
    for n in grown:  # in ascending order
        last.insert(n, _grown(walker, site, carried[n], [next(rows) for _ in appended[n]]))
    return _Changing({}, {}), [*last, *own]


def _limits(passes: int | None, named: Mapping[int, int]) -> Limits:
    return Limits(None if passes is None or passes >= _MAX_ROWS else passes, named)


def _grown(walker: Walker, site: Site, given: Bound, appended: Sequence[Value]) -> AnyList:
    assert isinstance(given, AnyList)
    return lengthened(walker.context(site), given, appended) if appended else given


def _tensors(values: Sequence[Bound]) -> list[Value]:
    return [value for value in tensors_of(values) if isinstance(value, Value)]


@record
class Scanned:
    """The operands of a Scan, the axes of its sequences and rows, which of them are backward, and its passes."""

    states: Sequence[Value]
    sequences: Sequence[Value]
    axes: Sequence[int]
    backward: Sequence[int]
    row_axes: Sequence[int]
    rows_backward: Sequence[int]
    count: int
    extent: Value | None = None
    """The passes of a run, at most ``count``."""


def runtime_scan(walker: Walker, site: Site, scanned: Scanned) -> Results:
    """A Scan of many elements."""
    names, extent = list(site.node.output), scanned.extent
    most = None if extent is None else walker.builder.polynomial(extent)
    loop = LoopNode(walker, site, scanned.states, names, scanned.count, extent, extent=extent, most=most)
    graph = site.attributes["body"].g

    def walk() -> list[Value | Missing]:
        elements = [
            _element(walker, site, loop.number, value, axis % len(value.shape), scanned if back else None)
            for value, axis, back in zip(scanned.sequences, scanned.axes, scanned.backward)
        ]
        return tensors_of(walk_body(walker, site, graph, [*loop.arguments(), *elements], {}))

    nodes, results = region(walker, site, walk)
    if results is None:
        return [Missing.UNKNOWN] * len(site.node.output)
    made = loop.emit(nodes, results, None)
    states, rows = made[: len(scanned.states)], made[len(scanned.states) :]
    return [
        *states,
        *(_placed(walker, site, row, axis % len(row.shape), scanned if back else None)
          for row, axis, back in zip(rows, scanned.row_axes, scanned.rows_backward)),
    ]  # fmt: skip


def _element(walker: Walker, site: Site, number: Value, value: Value, axis: int, backward: Scanned | None) -> Value:
    """Element ``number`` of a sequence, counted from its end where it is scanned ``backward``."""
    builder, loc = walker.builder, site.loc
    if backward is not None:
        (number,) = builder.emit_whole("sub", [_last(builder, backward, loc), number], loc=loc, names=[f"{loc}{MARK}"])
    found = {d if d < axis else d - 1: count for d, count in builder.extents_of(value, loc).items() if d != axis}
    (made,) = builder.emit_whole("gather", [value, number], {"axis": axis}, loc=loc)
    if found:
        builder.extents[made.name] = found
    return made


def _last(builder: FoldingBuilder, scanned: Scanned, loc: str) -> Value:
    """The number of the last pass."""
    if scanned.extent is None:
        return builder.constant(np.asarray(scanned.count - 1, np.int64), f"{loc}.last")
    one = builder.constant(np.asarray(1, np.int64), f"{loc}{MARK}")
    return builder.emit_whole("sub", [scanned.extent, one], loc=loc, names=[f"{loc}{MARK}"])[0]


def _placed(walker: Walker, site: Site, rows: Value, axis: int, backward: Scanned | None) -> Value:
    """Rows in the order and along the axis that a Scan gives them."""
    builder, rank, loc = walker.builder, len(rows.shape), site.loc
    if backward is not None and rows.type.size and backward.extent is not None:
        numbers = builder.constant(np.arange(rows.shape[0], dtype=np.int64), f"{loc}{MARK}")
        names, found = [f"{loc}{MARK}"], builder.extents[rows.name]
        (places,) = builder.emit_whole("sub", [_last(builder, backward, loc), numbers], loc=loc, names=names)
        (places,) = builder.emit_whole("clip", [places], {"lo": 0, "hi": rows.shape[0] - 1}, loc=loc, names=names)
        (rows,) = builder.emit_whole("gather", [rows, places], {"axis": 0}, loc=loc, names=names)
        builder.extents[rows.name] = found
    elif backward is not None and rows.type.size:
        starts = (rows.shape[0] - 1, *(0,) * (rank - 1))
        attrs = {"starts": starts, "steps": (-1, *(1,) * (rank - 1)), "sizes": rows.shape}
        (rows,) = builder.emit("slice", [rows], attrs, loc=loc)
    if axis == 0:
        return rows
    perm = (*range(1, axis + 1), 0, *range(axis + 1, rank))
    return builder.emit("transpose", [rows], {"perm": perm}, loc=loc)[0]
