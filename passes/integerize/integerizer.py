"""One pass for imported QDQ and QOperator models and for ccml's own quantization: QDQ becomes integer arithmetic.

The walk notes beside each float value how it follows from integers (``forms.py``):

- ``dequantize`` of 8 or 16 bits: a tensor *stored* as integers; views, maxima and concatenations move the integers;
- a contraction, mean or sum of stored tensors: an *accumulator* in i32 times a scale;
- pointwise operators on one or two stored tensors: a *table* of all results, computed with the floats' own operators.

``quantize`` then becomes the integer operator that gives the same bytes: ``requantize`` of an accumulator, ``lookup``,
``rescale`` (proven to be equal for all pairs of operands), ``clip`` or nothing at all. Where a float result is wanted,
it is the accumulator times its scale. Everything else stays as it is, and the report says why.

The graph must be channels_first; the pass runs before the layout is chosen.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from ...ir.graph import AttrValue, Graph, Node, Value
from ...ir.types import DType
from ...ops.attributes import integer, number
from ...ops.integer import BYTES
from ...ops.recurrent import RECURRENCES
from ...ops.table import OPS, infer_types
from ..rewrite import Rewriter, rewrite
from .contractions import CONTRACTIONS, add_bias, contraction, times_number
from .forms import Accumulated, Blocked, State, Stored, Tabled
from .inputs import with_input_quantization
from .interpolation import interpolated
from .merge_lookups import merge_lookups
from .moves import is_view, move
from .order import PLACES, places
from .per_axis import spell_out
from .recurrent import recurrent
from .report import Kept, kept_in_float
from .requantization import quantized
from .sums import reduction
from .tables import is_pointwise, tabulate

log = logging.getLogger(__name__)

_STORED = (DType.I8, DType.U8, DType.I16, DType.U16)
_I32 = np.iinfo(np.int32)


def integerize(graph: Graph) -> Graph:
    """``graph`` with integer operators; logs what stays in float."""
    result, kept = integerize_with_report(graph)
    for operator in kept:
        log.info("%s (%s) stays in float: %s", operator.loc, operator.op, operator.reason)
    return result


def integerize_with_report(graph: Graph) -> tuple[Graph, tuple[Kept, ...]]:
    """The same, with what stays in float; nothing is reported of a graph without quantization.

    Raises ``ACCUMULATOR_OVERFLOW`` that names the tensor where 32 bits could be too few.
    """
    if not any(node.op in ("quantize", "dequantize", "dequantize_blocks") for node in graph.nodes):
        return graph, ()
    rewriter = Rewriter(with_input_quantization(graph))
    state = State(rewriter)
    for node in rewriter.graph.nodes:
        rewriter.visit(node, [lambda _, node: _visit(state, node)])
    result = rewrite(rewriter.finish(), spell_out, merge_lookups)
    return result, kept_in_float(result, state.reasons)


def _visit(state: State, node: Node) -> Value | Sequence[Value] | None:
    """What stands for the node's outputs; ``None`` keeps it."""
    if node.op == "dequantize":
        _note_stored(state, node)
        return None
    if node.op == "dequantize_blocks":
        _note_blocks(state, node)
        return None
    if node.op == "quantize":
        return quantized(state, node)
    if node.op in CONTRACTIONS:
        return contraction(state, node)
    if node.op in RECURRENCES:
        return recurrent(state, node)
    if node.op in ("pool", "reduce"):
        return reduction(state, node)
    if node.op in PLACES:
        return places(state, node)
    if is_view(node):
        move(state, node)
        return _looked_up_rows(state, node) or _renewed(state, node)
    return _pointwise(state, node) if is_pointwise(node) else None


def _note_stored(state: State, node: Node) -> None:
    """Integers of 8 and 16 bits, any constant ones, and accumulators that the model itself computes."""
    x, scale, zero_point = node.operands[0], node.attrs["scale"], node.attrs["zero_point"]
    scales, zeros = np.asarray(scale, np.float32), np.asarray(zero_point, np.int64)
    stored = Stored(x, scales, zeros, _axis(node) if len(scales) > 1 else None)
    if x.dtype in _STORED or state.rewriter.is_constant(x):
        state.forms[node.output.name] = stored
    elif x.dtype is DType.I32 and not np.any(zeros):
        bounds = int(_I32.min), int(_I32.max)
        state.forms[node.output.name] = Accumulated(x, stored.along_axis(scales), bounds)


def _note_blocks(state: State, node: Node) -> None:
    x, scale, *zero = node.operands
    scales, zeros = state.rewriter.array(scale), state.rewriter.array(zero[0]) if zero else None
    if state.rewriter.is_constant(x) and scales is not None and (zeros is not None or not zero):
        axis, block = integer(node.attrs, "axis"), integer(node.attrs, "block")
        state.forms[node.output.name] = Blocked(x, scales, zeros, axis, block)


def _axis(node: Node) -> int:
    return integer(node.attrs, "axis")


def _looked_up_rows(state: State, node: Node) -> Value | None:
    """Rows of a constant table (an embedding): the integers are gathered, and become floats then."""
    table, moved = state.stored(node.operands[0]), state.stored(node.output)
    if node.op != "gather" or table is None or moved is None or not state.rewriter.is_constant(table.value):
        return None
    if state.rewriter.is_constant(moved.value):
        return None
    attrs: dict[str, AttrValue] = {"scale": moved.quant.scale, "zero_point": moved.quant.zero_point, "axis": 0}
    (real,) = state.rewriter.emit("dequantize", [moved.value], attrs, loc=node.loc, names=[node.output.name])
    state.forms[real.name] = moved
    return real


def _renewed(state: State, node: Node) -> Value | None:
    """A view of integers, where the quantization of its operand is stated differently now."""
    (type_,) = infer_types(node.op, node.inputs, node.attrs, node.loc)
    return None if type_ == node.output.type else state.rewriter.like(node, *node.inputs)


def _pointwise(state: State, node: Node) -> Value | None:
    first = state.form(node.operands[0])
    if isinstance(first, Accumulated) and node.op in ("relu", "clip"):
        low, high = (0.0, np.inf) if node.op == "relu" else (number(node.attrs, "lo"), number(node.attrs, "hi"))
        state.forms[node.output.name] = first.clamped(low, high)
        return None
    if node.op == "add":
        sum_ = add_bias(state, node) or interpolated(state, node)
        if sum_ is not None:
            return sum_
    if node.op == "mul" and (scaled := times_number(state, node)) is not None:
        return scaled
    if (constant := _constant(state, node)) is not None:
        return constant
    table = tabulate(state, node)
    if table is None:
        state.keep_float(node, _why_no_table(state, node))
        return None
    return _with_table(state, node, table)


def _constant(state: State, node: Node) -> Value | None:
    """What depends on constants only, some of them stored as integers."""
    arrays = [state.constant(value) for value in node.operands]
    if any(array is None for array in arrays):
        return None
    (result,) = OPS[node.op].evaluate(arrays, node.attrs)
    return state.rewriter.constant(result, node.output.name)


def _why_no_table(state: State, node: Node) -> str:
    forms = [state.form(value) for value in node.operands]
    if any(isinstance(form, Accumulated) for form in forms):
        return "its operand is an accumulator: it is not quantized before"
    if any(form is not None for form in forms):
        return "it is not a function of one or two quantized tensors of 8 bits"
    return "its operands are not quantized"


def _with_table(state: State, node: Node, table: Tabled) -> Value | None:
    """Notes the form. What is costly becomes a look into a table of floats, in case that a float is wanted."""
    source = table.sources[0].value
    if len(table.sources) > 1 or not (table.costly and table.single) or source.dtype not in BYTES:
        state.forms[node.output.name] = table
        return None
    floats = state.rewriter.constant(table.table.reshape(-1), f"{node.output.name}.table")
    if not floats.dtype.is_float:
        state.forms[node.output.name] = table
        return None
    (result,) = state.rewriter.emit("lookup", [source, floats], loc=node.loc, names=[node.output.name])
    state.forms[result.name] = table
    return result
