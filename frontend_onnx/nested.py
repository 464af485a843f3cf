"""Nodes with a body of their own: function calls, branches whose condition is constant, loops whose count is.

Bodies are walked in place. Loops are unrolled: every iteration is walked anew, so that whatever depends on the
iteration's number only folds away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Value
from ..ir.types import DType
from .declared import Extents, file_extents
from .scope import Missing, Results, Scope, Site

if TYPE_CHECKING:
    from .walk import Walker

MAX_ITERATIONS = 1024


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
        value = site.inputs[position] if position < len(site.inputs) else None
        walker.bind(inner, formal, Missing.ABSENT if value is None else value)
    inner.names = {f: walker.name(site.scope, o) for f, o in zip(function.output, site.node.output) if o}
    inner.wanted.update(f for f, o in zip(function.output, site.node.output) if o in site.scope.wanted)
    inner.declare(function.node, lambda: _declared_results(site, function.output))
    walker.walk(function.node, inner)
    wanted = [formal if actual else "" for formal, actual in zip(function.output, site.node.output)]
    return [walker.read(inner, formal, site.loc) for formal in wanted]


def _declared_results(site: Site, inner: Sequence[str]) -> dict[str, Extents]:
    """The declared shapes of the node's results by the names that they have in its body."""
    found = {name: site.scope.extents(outer) for name, outer in zip(inner, site.node.output) if outer}
    return {name: extents for name, extents in found.items() if extents is not None}


def branch(walker: Walker, site: Site) -> Results:
    """The branch of ``If`` that a constant condition chooses."""
    condition = _flag(walker, site.inputs[0])
    if condition is None:
        raise _runtime(site, "the condition")
    graph = site.attributes["then_branch" if condition else "else_branch"].g
    names = {g.name: walker.name(site.scope, o) for g, o in zip(graph.output, site.node.output) if o}
    return _body(walker, site, graph, (), names)


def _body(
    walker: Walker, site: Site, graph: onnx.GraphProto, arguments: Sequence[Value | Missing], names: dict[str, str]
) -> list[Value | Missing]:
    """Walks a subgraph, which sees the names around it, and returns its outputs."""
    scope = site.scope
    inner = Scope(scope.opsets, scope.attributes, scope, scope.path, site.loc, scope.depth + 1)
    inner.initializers = {tensor.name: tensor for tensor in graph.initializer}
    inner.names = names
    results = [info.name for info in graph.output] if site.node.op_type == "If" else []
    inner.declare(
        graph.node,
        lambda: {**_declared_results(site, results), **file_extents([*graph.value_info, *graph.output], {})},
    )
    if len(arguments) != len(graph.input):
        reason = f"the body of {site.node.op_type} has {len(graph.input)} inputs, not {len(arguments)}"
        raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=site.loc)
    for formal, argument in zip(graph.input, arguments):
        walker.bind(inner, formal.name, argument)
    inner.wanted.update(output.name for output in graph.output)
    walker.walk(graph.node, inner)
    return [walker.read(inner, output.name, site.loc) for output in graph.output]


def loop(walker: Walker, site: Site) -> Results:
    """Operands: count?, going?, carried...; body: number, going, carried... -> going, carried..., rows..."""
    graph = site.attributes["body"].g
    carried: list[Value | Missing] = [_given(site, value) for value in site.inputs[2:]]
    limit = site.inputs[0] if site.inputs else None
    count = None if limit is None else _integer(walker, limit)
    going = _flag(walker, site.inputs[1]) if len(site.inputs) > 1 and site.inputs[1] is not None else True
    if going is None or (limit is not None and count is None):
        raise _runtime(site, "the number of iterations")
    stacked: list[list[Value | Missing]] = [[] for _ in range(len(graph.output) - 1 - len(carried))]
    number = 0
    while going and (count is None or number < count):
        arguments = [
            walker.builder.constant(np.asarray(number, np.int64), f"{site.loc}.iteration"),
            walker.builder.constant(np.asarray(True), f"{site.loc}.condition"),
        ]
        condition, *results = _body(walker, site, graph, [*arguments, *carried], {})
        carried, rows = results[: len(carried)], results[len(carried) :]
        for column, row in zip(stacked, rows):
            column.append(row)
        going, number = _flag(walker, condition), number + 1
        if going is None:
            raise _runtime(site, "the condition")
        _check_count(site, number)
    return [*carried, *(_stack(walker, site, column, 0) for column in stacked)]


def scan(walker: Walker, site: Site) -> Results:
    """Operands: states..., sequences...; body: states..., elements... -> states..., rows...

    In operator set 8 the lengths of the sequences come before them, and all operands are batches.
    """
    if site.opset < 9:
        return _batched_scan(walker, site)
    states, given = _scanned(site, site.inputs)
    outputs = len(site.attributes["body"].g.output) - len(states)
    axes, backward = _per_sequence(site, "scan_input", len(given))
    out_axes, out_backward = _per_sequence(site, "scan_output", max(outputs, 0))
    counts = {value.shape[axis] for value, axis in zip(given, axes) if -len(value.shape) <= axis < len(value.shape)}
    if len(counts) != 1:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"sequences have the lengths {sorted(counts)}", loc=site.loc)
    finals, stacked = _scan_steps(walker, site, states, given, axes, backward, counts.pop())
    ordered = [column[::-1] if back else column for column, back in zip(stacked, out_backward)]
    return [*finals, *(_stack(walker, site, column, axis) for column, axis in zip(ordered, out_axes))]


def _scanned(site: Site, inputs: Sequence[Value | None]) -> tuple[list[Value], list[Value]]:
    """First states and sequences."""
    sequences = site.attributes["num_scan_inputs"].i
    operands = [_given(site, value) for value in inputs]
    if not 1 <= sequences <= len(operands):
        raise CcmlError(ErrorCode.INVALID_MODEL, f"num_scan_inputs is {sequences}", loc=site.loc)
    return operands[: len(operands) - sequences], operands[len(operands) - sequences :]


def _scan_steps(
    walker: Walker, site: Site, states: Sequence[Value], given: Sequence[Value], axes: Sequence[int],
    backward: Sequence[int], count: int,
) -> tuple[list[Value | Missing], list[list[Value | Missing]]]:  # fmt: skip
    """Walks the body for each of the first ``count`` elements; last states, and the rows of each output."""
    graph = site.attributes["body"].g
    _check_count(site, count)
    stacked: list[list[Value | Missing]] = [[] for _ in range(len(graph.output) - len(states))]
    current: list[Value | Missing] = list(states)
    for step in range(count):
        elements = [
            _element(walker, site, value, axis, count - 1 - step if back else step)
            for value, axis, back in zip(given, axes, backward)
        ]
        results = _body(walker, site, graph, [*current, *elements], {})
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
            raise _runtime(site, "the length of sequences")
        lengths = [int(length) for length in array.reshape(-1)]
    if len(lengths) != batch or any(not 1 <= length <= longest for length in lengths):
        raise CcmlError(ErrorCode.INVALID_MODEL, f"lengths {lengths} of {batch} sequences", loc=site.loc)
    _check_count(site, sum(lengths))
    backward = list(site.attributes["directions"].ints) if "directions" in site.attributes else [0] * len(given)
    columns: list[list[Value | Missing]] = []
    for b, length in enumerate(lengths):
        own = [[_element(walker, site, value, 0, b) for value in values] for values in (states, given)]
        finals, stacked = _scan_steps(walker, site, own[0], own[1], [0] * len(given), backward, length)
        columns.append([*finals, *(_padded(walker, site, column, longest) for column in stacked)])
    return [_stack(walker, site, column, 0) for column in zip(*columns)]


def _padded(walker: Walker, site: Site, column: Sequence[Value | Missing], longest: int) -> Value | Missing:
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


def _stack(walker: Walker, site: Site, column: Sequence[Value | Missing], axis: int) -> Value | Missing:
    """The results of all iterations along a new axis."""
    parts = [value for value in column if isinstance(value, Value)]
    if len(parts) < len(column):
        return Missing.UNKNOWN
    if not parts:
        raise _unsupported(site, "a loop that stacks the results of no iteration")
    axis %= len(parts[0].shape) + 1
    rows = [
        walker.builder.emit("reshape", [v], {"shape": (*v.shape[:axis], 1, *v.shape[axis:])}, loc=site.loc)[0]
        for v in parts
    ]
    return walker.builder.emit("concat", rows, {"axis": axis}, loc=site.loc)[0]


def _given(site: Site, value: Value | None) -> Value:
    if value is None:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"an operand of {site.node.op_type} is missing", loc=site.loc)
    return value


def _flag(walker: Walker, value: Value | Missing | None) -> bool | None:
    """A constant bool, or ``None``."""
    array = walker.builder.constants.get(value.name) if isinstance(value, Value) else None
    return bool(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


def _integer(walker: Walker, value: Value) -> int | None:
    array = walker.builder.constants.get(value.name)
    single = array is not None and array.size == 1 and value.dtype is DType.I64
    return int(array.reshape(-1)[0]) if array is not None and single else None


def _check_count(site: Site, count: int) -> None:
    if count > MAX_ITERATIONS:
        raise _unsupported(site, f"more than {MAX_ITERATIONS} iterations")


def _runtime(site: Site, what: str) -> CcmlError:
    return _unsupported(site, f"{what} is computed at run time, which")


def _unsupported(site: Site, what: str) -> CcmlError:
    reason = f"{site.node.op_type}: {what} is not supported"
    return CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=site.loc)
