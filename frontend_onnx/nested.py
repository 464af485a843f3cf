"""Nodes with a body of their own, expanded in place: function calls, branches whose condition is constant, short loops
whose count is.

In an unrolled loop every iteration is walked anew, so that whatever depends on the iteration's number only folds away.
What cannot be expanded, or would make too many nodes, is control flow at run time (``control_flow.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Value
from .control_flow import Scanned, runtime_branch, runtime_loop, runtime_scan
from .counting_loops import by_passes
from .declared import file_extents
from .invariant_values import without_invariants
from .probe import MARK
from .problems import LimitError
from .regions import count_nodes, declared_results, flag, given, integer, unsupported, walk_body
from .scope import AnyList, Bound, Missing, Results, Scope, Site, TensorList

if TYPE_CHECKING:
    from .walk import Walker

MAX_ITERATIONS = 1024
"""Passes of a loop that are expanded where it is no loop at run time, such as one whose carried values grow."""

MAX_UNROLLED = 1024
"""Nodes that expanding a loop may make; more become a loop at run time."""


def call(
    walker: Walker, site: Site, function: onnx.FunctionProto, attributes: Mapping[str, onnx.AttributeProto]
) -> Results:
    """Walks a function's body in a scope of its own."""
    if len(site.inputs) > len(function.input) or len(site.node.output) > len(function.output):
        reason = f"too many operands or results for {site.node.op_type}"
        raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=site.loc)
    opsets = {("" if entry.domain == "ai.onnx" else entry.domain): entry.version for entry in function.opset_import}
    inner = Scope(opsets, attributes, None, site.loc, site.loc, site.scope.depth + 1)
    for position, formal in enumerate(function.input):
        walker.bind(inner, formal, site.bound(position))
    inner.names = {f: walker.name(site.scope, o) for f, o in zip(function.output, site.node.output) if o}
    inner.wanted.update(f for f, o in zip(function.output, site.node.output) if o in site.scope.wanted)
    known = file_extents(function.value_info, {})
    inner.declare(function.node, lambda: known | declared_results(site, function.output))
    walker.walk(function.node, inner)
    wanted = [formal if actual else "" for formal, actual in zip(function.output, site.node.output)]
    return [walker.read(inner, formal, site.loc) for formal in wanted]


def branch(walker: Walker, site: Site) -> Results:
    """The branch of ``If`` that a constant condition chooses; both where it is computed at run time."""
    given_condition = site.inputs[0]
    if given_condition is not None and walker.builder.numbers.depends(given_condition):
        return _branch_by_extent(walker, site, given_condition)
    condition = flag(walker, given_condition)
    if condition is None:
        return runtime_branch(walker, site)
    graph = site.attributes["then_branch" if condition else "else_branch"].g
    names = {g.name: walker.name(site.scope, o) for g, o in zip(graph.output, site.node.output) if o}
    return walk_body(walker, site, graph, (), names)


def _branch_by_extent(walker: Walker, site: Site, condition: Value) -> Results:
    """Both branches where the extent of a ranged dimension decides."""
    tested = _unknown(walker, site) if walker.builder.compares else walker.builder.numbers.in_run(condition, site.loc)
    refused = unsupported(
        site, "a condition that depends on the extent of a ranged dimension",
        "let the range hold extents of one branch only, or fix the dimension with --dim NAME=N",
    )  # fmt: skip
    if tested.name in walker.builder.constants:
        raise refused
    try:
        results = runtime_branch(walker, replace(site, inputs=(tested,)))
    except CcmlError as problem:
        raise refused from problem
    if any(isinstance(result, Value) and result.name in walker.builder.doubts for result in results):
        raise refused  # some extents take one branch, some the other: neither rank is a mistake
    return results


def _unknown(walker: Walker, site: Site) -> Value:
    """A condition of a run for the first import, of which nobody asks what it is."""
    count = walker.builder.arguments[0].value
    return walker.builder.emit_whole("eq", [count, count], loc=site.loc, names=[f"{site.loc}{MARK}"])[0]


def loop(walker: Walker, site: Site) -> Results:
    """Operands: count?, going?, carried...; body: number, going, carried... -> going, carried..., rows...

    Expanded where that makes few nodes and conditions turn out constant, else a loop at run time.
    """
    if "" in site.node.input[2:]:
        raise CcmlError(ErrorCode.INVALID_MODEL, "an operand of Loop is missing", loc=site.loc)
    simpler = without_invariants(site) or by_passes(walker, site)
    if simpler is not None:
        inner, completed = simpler
        return completed(loop(walker, inner))
    graph = site.attributes["body"].g
    carried = [site.bound(position) for position in range(2, len(site.inputs))]
    limit = site.inputs[0] if site.inputs else None
    count = None if limit is None else integer(walker, limit)
    start = site.inputs[1] if len(site.inputs) > 1 else None
    going = True if start is None else flag(walker, start)
    if going is None or (limit is not None and (count is None or walker.builder.numbers.depends(limit))):
        return runtime_loop(walker, site, carried, _keeps_going(walker, site, graph))
    few = max(MAX_UNROLLED // count_nodes(graph), 1)
    if walker.unrollable.get(site.loc, count is None or count <= few or not _keeps_going(walker, site, graph)):
        unrolled = _tried(walker, lambda: _unrolled(walker, site, carried, going, count, few))
        walker.unrollable[site.loc] = unrolled is not None
        if unrolled is not None:
            return unrolled
    try:
        return runtime_loop(walker, site, carried, _keeps_going(walker, site, graph))
    except CcmlError as problem:
        if problem.kind is not ErrorCode.UNSUPPORTED_FEATURE or isinstance(problem, LimitError):
            raise
        unrolled = _tried(walker, lambda: _unrolled(walker, site, carried, going, count, MAX_ITERATIONS))
        if unrolled is None:
            raise
        return unrolled


def _keeps_going(walker: Walker, site: Site, graph: onnx.GraphProto) -> bool:
    """Whether the condition of a loop is plainly the one that it was given, or one around it that is true."""
    names = {graph.input[1].name} if len(graph.input) > 1 else set()
    inner = {name for node in graph.node for name in node.output} | {value.name for value in graph.input}
    around = {name for node in graph.node if _passes_on(node) for name in node.input} - inner
    around -= {tensor.name for tensor in graph.initializer}
    for name in around:
        value = walker.read(site.scope, name, site.loc)
        if isinstance(value, Value) and flag(walker, value):
            names.add(name)
    for node in graph.node:
        if _passes_on(node) and names.issuperset(node.input):
            names.update(node.output)
    return bool(graph.output) and graph.output[0].name in names


def _passes_on(node: onnx.NodeProto) -> bool:
    """Whether what is true stays true."""
    to_bool = any(attr.name == "to" and attr.i == onnx.TensorProto.BOOL for attr in node.attribute)
    return node.op_type == "Identity" or (node.op_type == "Cast" and to_bool)


def _tried(walker: Walker, expand: Callable[[], Results | None]) -> Results | None:
    """What an expansion gives; without a trace where that is nothing."""
    back = walker.mark()
    results = expand()
    if results is None:
        back()
    return results


def _unrolled(
    walker: Walker, site: Site, carried: Sequence[Bound], going: bool | None, count: int | None, most: int
) -> Results | None:
    """Every pass walked by itself; ``None`` where they are more than ``most``, or a condition is not constant."""
    graph = site.attributes["body"].g
    current = list(carried)
    stacked: list[list[Bound]] = [[] for _ in range(len(graph.output) - 1 - len(carried))]
    number = 0
    while going and (count is None or number < count):
        if number == most:
            return None
        arguments = [
            walker.builder.constant(np.asarray(number, np.int64), f"{site.loc}.iteration"),
            walker.builder.constant(np.asarray(True), f"{site.loc}.condition"),
        ]
        condition, *results = walk_body(walker, site, graph, [*arguments, *current], {})
        current, rows = results[: len(carried)], results[len(carried) :]
        for column, row in zip(stacked, rows):
            column.append(row)
        going, number = None if isinstance(condition, AnyList) else flag(walker, condition), number + 1
        if going is None:
            return None
    return [*current, *(_stack(walker, site, column, 0) for column in stacked)]


def scan(walker: Walker, site: Site) -> Results:
    """Operands: states..., sequences...; body: states..., elements... -> states..., rows...

    In operator set 8 the lengths of the sequences come before them, and all operands are batches.
    """
    if site.opset < 9:
        return _batched_scan(walker, site)
    states, sequences = _scanned(site, site.inputs)
    outputs = len(site.attributes["body"].g.output) - len(states)
    axes, backward = _per_sequence(site, "scan_input", len(sequences))
    out_axes, out_backward = _per_sequence(site, "scan_output", max(outputs, 0))
    ranks = [len(value.shape) for value in sequences]
    counts = {v.shape[a] for v, a, rank in zip(sequences, axes, ranks) if -rank <= a < rank}
    if len(counts) != 1:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"sequences have the lengths {sorted(counts)}", loc=site.loc)
    (count,) = counts
    extent = _passes(walker, site, sequences, axes)
    scanned = Scanned(states, sequences, axes, backward, out_axes, out_backward, count, extent)
    if extent is not None:
        return runtime_scan(walker, site, scanned)
    if count * count_nodes(site.attributes["body"].g) > MAX_UNROLLED:
        try:
            return runtime_scan(walker, site, scanned)
        except CcmlError as problem:
            if problem.kind is not ErrorCode.UNSUPPORTED_FEATURE or count > MAX_ITERATIONS:
                raise
    finals, stacked = _scan_steps(walker, site, states, sequences, axes, backward, count)
    ordered = [column[::-1] if back else column for column, back in zip(stacked, out_backward)]
    return [*finals, *(_stack(walker, site, column, axis) for column, axis in zip(ordered, out_axes))]


def _passes(walker: Walker, site: Site, sequences: Sequence[Value], axes: Sequence[int]) -> Value | None:
    """The extent of sequences along the axes that are scanned, where only a run knows it."""
    found = [
        walker.builder.extents_of(value, site.loc).get(axis % len(value.shape)) for value, axis in zip(sequences, axes)
    ]
    if len({count and count.name for count in found}) > 1:
        raise unsupported(site, "sequences of different extents")
    return found[0]


def sequence_map(walker: Walker, site: Site) -> Results:
    """The body for the tensors of one place in all sequences, and for operands that are tensors; each result is a
    sequence."""
    graph, first = site.attributes["body"].g, site.operand(0)
    if not isinstance(first, TensorList):
        raise CcmlError(ErrorCode.INVALID_MODEL, "the first operand of SequenceMap is no sequence", loc=site.loc)
    count = len(first.elements)
    lists = {position: each for position, each in site.lists.items() if isinstance(each, TensorList)}
    if len(lists) < len(site.lists):
        raise unsupported(site, "a sequence whose length a run tells")
    lengths = {len(operand.elements) for operand in lists.values()}
    if lengths != {count}:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"sequences have the lengths {sorted(lengths)}", loc=site.loc)
    _check_count(site, count)
    columns: list[list[Value]] = [[] for _ in graph.output]
    for number in range(count):
        arguments = [
            lists[position].elements[number] if position in lists else site.bound(position)
            for position in range(len(site.node.input))
        ]
        results = walk_body(walker, site, graph, arguments, {})
        if Missing.UNKNOWN in results:
            return [Missing.UNKNOWN] * len(graph.output)
        for column, result in zip(columns, results):
            if not isinstance(result, Value):
                raise CcmlError(ErrorCode.INVALID_MODEL, "a result of SequenceMap's body is no tensor", loc=site.loc)
            column.append(result)
    return [TensorList(tuple(column), next((value.dtype for value in column), None)) for column in columns]


def _scanned(site: Site, inputs: Sequence[Value | None]) -> tuple[list[Value], list[Value]]:
    """First states and sequences."""
    sequences = site.attributes["num_scan_inputs"].i
    operands = [given(site, value) for value in inputs]
    if not 1 <= sequences <= len(operands):
        raise CcmlError(ErrorCode.INVALID_MODEL, f"num_scan_inputs is {sequences}", loc=site.loc)
    return operands[: len(operands) - sequences], operands[len(operands) - sequences :]


def _scan_steps(
    walker: Walker, site: Site, states: Sequence[Value], given: Sequence[Value], axes: Sequence[int],
    backward: Sequence[int], count: int,
) -> tuple[list[Bound], list[list[Bound]]]:  # fmt: skip
    """Walks the body for each of the first ``count`` elements; last states, and the rows of each output."""
    graph = site.attributes["body"].g
    _check_count(site, count)
    stacked: list[list[Bound]] = [[] for _ in range(len(graph.output) - len(states))]
    current: list[Bound] = list(states)
    for step in range(count):
        elements = [
            _element(walker, site, value, axis, count - 1 - step if back else step)
            for value, axis, back in zip(given, axes, backward)
        ]
        results = walk_body(walker, site, graph, [*current, *elements], {})
        current, rows = results[: len(states)], results[len(states) :]
        for column, row in zip(stacked, rows):
            column.append(row)
    return current, stacked


def _batched_scan(walker: Walker, site: Site) -> Results:
    """Each sequence of the batch by itself, as long as its constant length says; zeros follow its rows."""
    states, given = _scanned(site, site.inputs[1:])
    shapes = {value.shape[:2] for value in given}
    if len(shapes) != 1 or any(value.shape[:1] != given[0].shape[:1] for value in states):
        raise CcmlError(ErrorCode.INVALID_MODEL, f"batches of sequences are {sorted(shapes)}", loc=site.loc)
    batch, longest = (*shapes.pop(), 1)[:2]
    lengths = [longest] * batch
    if site.inputs[0] is not None:
        array = walker.builder.constants.get(site.inputs[0].name)
        if array is None:
            raise unsupported(site, "the length of sequences is computed at run time, which")
        lengths = [int(length) for length in array.reshape(-1)]
    if len(lengths) != batch or any(not 1 <= length <= longest for length in lengths):
        raise CcmlError(ErrorCode.INVALID_MODEL, f"lengths {lengths} of {batch} sequences", loc=site.loc)
    _check_count(site, sum(lengths))
    backward = list(site.attributes["directions"].ints) if "directions" in site.attributes else [0] * len(given)
    columns: list[list[Bound]] = []
    for b, length in enumerate(lengths):
        own = [[_element(walker, site, value, 0, b) for value in values] for values in (states, given)]
        finals, stacked = _scan_steps(walker, site, own[0], own[1], [0] * len(given), backward, length)
        columns.append([*finals, *(_padded(walker, site, column, longest) for column in stacked)])
    return [_stack(walker, site, column, 0) for column in zip(*columns)]


def _padded(walker: Walker, site: Site, column: Sequence[Bound], longest: int) -> Value | Missing:
    """Rows one below the other, and zeros."""
    rows = _stack(walker, site, column, 0)
    if isinstance(rows, Missing) or len(column) == longest:
        return rows
    zeros = (0,) * len(rows.shape)
    after = (longest - len(column), *zeros[1:])
    fill: float | int = 0.0 if rows.dtype.is_float else 0
    attrs: dict[str, AttrValue] = {"before": zeros, "after": after, "mode": "constant", "value": fill}
    return walker.builder.emit("pad", [rows], attrs, loc=site.loc)[0]


def _per_sequence(site: Site, prefix: str, count: int) -> tuple[list[int], list[int]]:
    """Axes and directions, which are all 0 where they are not given."""
    found = []
    for name in (f"{prefix}_axes", f"{prefix}_directions"):
        entries = list(site.attributes[name].ints) if name in site.attributes else [0] * count
        if len(entries) != count:
            raise CcmlError(ErrorCode.INVALID_MODEL, f"{name} has {len(entries)} entries, not {count}", loc=site.loc)
        found.append(entries)
    return found[0], found[1]


def _element(walker: Walker, site: Site, value: Value, axis: int, index: int) -> Value:
    axis %= len(value.shape)
    starts = tuple(index if d == axis else 0 for d in range(len(value.shape)))
    sizes = tuple(1 if d == axis else extent for d, extent in enumerate(value.shape))
    attrs = {"starts": starts, "steps": (1,) * len(starts), "sizes": sizes}
    (part,) = walker.builder.emit("slice", [value], attrs, loc=site.loc)
    shape = tuple(extent for d, extent in enumerate(sizes) if d != axis)
    return walker.builder.emit("reshape", [part], {"shape": shape}, loc=site.loc)[0]


def _stack(walker: Walker, site: Site, column: Sequence[Bound], axis: int) -> Value | Missing:
    """The results of all iterations along a new axis."""
    if any(isinstance(value, AnyList) for value in column):
        raise CcmlError(ErrorCode.INVALID_MODEL, f"rows of {site.node.op_type} are sequences", loc=site.loc)
    parts = [value for value in column if isinstance(value, Value)]
    if len(parts) < len(column):
        return Missing.UNKNOWN
    if not parts:
        raise unsupported(site, "a loop that stacks the results of no iteration")
    axis %= len(parts[0].shape) + 1
    rows = [
        walker.builder.emit("reshape", [v], {"shape": (*v.shape[:axis], 1, *v.shape[axis:])}, loc=site.loc)[0]
        for v in parts
    ]
    return walker.builder.emit("concat", rows, {"axis": axis}, loc=site.loc)[0]


def _check_count(site: Site, count: int) -> None:
    if count > MAX_ITERATIONS:
        raise unsupported(site, f"more than {MAX_ITERATIONS} iterations")
