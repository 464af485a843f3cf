"""Tensors of strings while a model is imported: tensors of row numbers, and tables of rows.

A tensor of strings of shape S is a value i32[S] whose elements are numbers of rows of a table u8[rows, bytes], which
holds UTF-8 filled up with zeros; the builder knows the table by the value's name. So what moves strings moves numbers,
labels are chosen by number, and what is computed of a string is computed once for each row. Bytes are put in the places
of the numbers where strings are compared with each other or leave the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Value
from ..ir.types import DType, TensorType
from ..ops.strings import rows_of
from ..record import record
from .polynomials import Polynomial
from .probe import MARK
from .problems import LimitError

if TYPE_CHECKING:
    from .folding import FoldingBuilder

DEFAULT_BOUND = 64
"""Bytes of a string of an input, unless the user says how many it may have."""

MAX_TABLE_BYTES = 64 * 2**20
"""A larger table of constant strings is not made."""


@record
class StringTable:
    """``rows`` is u8[rows, bytes]. ``whole``: the numbers are those of all rows in order."""

    rows: Value
    whole: bool


def register(builder: FoldingBuilder, index: Value, rows: Value, whole: bool | None = None) -> Value:
    """Makes ``index`` stand for strings of a table; ``whole`` is found out where it is constant."""
    if whole is None:
        array = builder.constants.get(index.name)
        count = rows.shape[0]
        whole = array is not None and array.size == count and np.array_equal(array.reshape(-1), np.arange(count))
    builder.strings[index.name] = StringTable(rows, whole)
    return index


def renumbered(builder: FoldingBuilder, index: Value, rows: Value, loc: str) -> Value:
    """Strings of another table with the same numbers, which are another value."""
    table = builder.strings.get(index.name)
    array = builder.constants.get(index.name)
    if array is not None:
        return register(builder, builder.constant(array, f"{loc}.rows"), rows)
    extents = builder.extents_of(index, loc)
    shape = {"shape": index.shape}
    (copy,) = builder.emit_whole("reshape", [index], shape, loc=loc, names=[f"{loc}.rows"])
    if extents:
        builder.extents[copy.name] = extents
    return register(builder, copy, rows, table is not None and table.whole)


def in_order(builder: FoldingBuilder, rows: Value, shape: Sequence[int], name: str) -> Value:
    """The strings of all rows in order, as a tensor of ``shape``."""
    numbers = np.arange(prod(shape), dtype=np.int32).reshape(shape)
    return register(builder, builder.constant(numbers, name), rows, True)


def constant_rows(builder: FoldingBuilder, texts: Sequence[bytes], name: str) -> Value:
    """A table of constant strings. Raises ``UNSUPPORTED_FEATURE`` for U+0000 and for tables that are too large."""
    if any(b"\0" in text for text in texts):
        reason = "a string contains U+0000, which ends strings in an artifact"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=name)
    bound = max(1, *map(len, texts)) if texts else 1
    if bound * len(texts) > MAX_TABLE_BYTES:
        raise LimitError(f"a table of {len(texts)} strings of up to {bound} bytes is too large", loc=name)
    return builder.constant(rows_of(texts, bound), f"{name}.strings")


def constant_strings(builder: FoldingBuilder, texts: np.ndarray, name: str) -> Value:
    """Constant strings, the table without repetitions."""
    encoded = [utf8(text, name) for text in texts.reshape(-1).tolist()]
    places = {text: place for place, text in enumerate(dict.fromkeys(encoded))}
    numbers = np.array([places[text] for text in encoded], np.int32).reshape(texts.shape)
    return register(builder, builder.constant(numbers, name), constant_rows(builder, list(places), name))


def utf8(text: object, loc: str) -> bytes:
    """The bytes of a string of the model. Raises ``INVALID_MODEL`` where it is none."""
    try:
        return text if isinstance(text, bytes) else str(text).encode("utf-8")
    except UnicodeEncodeError as problem:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"a string is no valid Unicode: {problem}", loc=loc) from problem


def input_strings(builder: FoldingBuilder, value: Value) -> Value:
    """The strings of an input, which is char[shape, bytes]."""
    loc, (*shape, bound) = value.name, value.shape
    (content,) = builder.emit("bitcast", [value], {"to": DType.U8}, loc=loc, names=[f"{loc}.bytes"])
    flat = {"shape": (prod(shape), bound)}
    (rows,) = builder.emit("reshape", [content], flat, loc=loc, names=[f"{loc}.rows"])
    return in_order(builder, rows, shape, f"{loc}.numbers")


def constant_texts(builder: FoldingBuilder, value: Value) -> list[bytes] | None:
    """The strings of the rows of a table, where these are constant."""
    array = builder.constants.get(builder.strings[value.name].rows.name)
    return None if array is None else [row.tobytes().split(b"\0")[0] for row in array]


def bytes_of(builder: FoldingBuilder, value: Value, loc: str) -> Value:
    """The bytes of strings: u8[shape, bytes]."""
    return by_row(builder, value, lambda rows: rows, loc)


def by_row(builder: FoldingBuilder, value: Value, function: Callable[[Value], Value], loc: str) -> Value:
    """What ``function`` makes of rows [rows, bytes], an entry for each, at the places of the strings.

    It is applied to the table, or where that is computed and has more rows than there are strings, to the strings.
    """
    table = builder.strings[value.name]
    numbers = builder.numbers.table_in_run(value, loc)  # of strings put together, whose numbers a run tells
    if numbers.name != value.name:
        value = register(builder, numbers, table.rows, False)
    if table.rows.name not in builder.constants and not table.whole and value.type.size < table.rows.shape[0]:
        return _by_string(builder, value, function, loc)
    result = function(table.rows)
    shape = (*value.shape, *result.shape[1:])
    if not table.whole:
        return _chosen(builder, result, value, loc, f"{loc}.chosen")
    extents = builder.extents_of(value, loc)
    if not extents or (result.shape == shape and builder.extents_of(result, loc) == extents):
        return _reshaped(builder, result, shape, loc)
    (whole,) = builder.emit_whole("reshape", [result], {"shape": shape}, loc=loc, names=[f"{loc}.chosen"])
    builder.extents[whole.name] = extents
    return whole


def _by_string(builder: FoldingBuilder, value: Value, function: Callable[[Value], Value], loc: str) -> Value:
    """The same for the strings themselves: where a run tells extents of inner dimensions alone, for all within the
    bounds."""
    extents = builder.extents_of(value, loc)
    inner = bool(extents) and 0 not in extents
    rows, size, name = builder.strings[value.name].rows, value.type.size, f"{loc}.rows"
    if value.name in builder.constants:  # flat numbers would be constants of another extent
        each = _chosen(builder, rows, value, loc, name)
        (chosen,) = builder.emit("reshape", [each], {"shape": (size, *rows.shape[1:])}, loc=loc, names=[f"{loc}.flat"])
    else:
        emit = builder.emit_whole if inner else builder.emit
        (flat,) = emit("reshape", [value], {"shape": (size,)}, loc=loc, names=[f"{loc}.flat"])
        chosen = _chosen(builder, rows, flat, loc, name)
    result = function(chosen)
    shape = (*value.shape, *result.shape[1:])
    if not inner and len(extents) != 1:
        return _reshaped(builder, result, shape, loc)
    (whole,) = builder.emit_whole("reshape", [result], {"shape": shape}, loc=loc, names=[f"{loc}.chosen"])
    builder.extents[whole.name] = extents
    return whole


def _chosen(builder: FoldingBuilder, rows: Value, numbers: Value, loc: str, name: str) -> Value:
    """Rows by their numbers, which are within an extent of the rows."""
    found, inner = builder.extents_of(rows, loc), dict(builder.extents_of(numbers, loc))
    if 0 not in found:
        return builder.emit("gather", [rows, numbers], {"axis": 0}, loc=loc, names=[name])[0]
    (chosen,) = builder.emit_whole("gather", [rows, numbers], {"axis": 0}, loc=loc, names=[name])
    extents = inner | {axis + len(numbers.shape) - 1: count for axis, count in found.items() if axis}
    if extents:
        builder.extents[chosen.name] = extents
    return chosen


def _reshaped(builder: FoldingBuilder, value: Value, shape: tuple[int, ...], loc: str) -> Value:
    if value.shape == shape:
        return value
    return builder.emit("reshape", [value], {"shape": shape}, loc=loc, names=[f"{loc}.chosen"])[0]


def merged(builder: FoldingBuilder, values: Sequence[Value], loc: str) -> tuple[list[Value], Value]:
    """Strings of several tables as numbers of rows of one, which is returned with them.

    Tables whose rows follow from the extent of a ranged dimension stand behind the others, and of several the rows
    alternate: where a string is must not depend on the bound of an extent.
    """
    found_rows = [builder.strings[value.name].rows for value in values]
    tables = list({rows.name: rows for rows in found_rows}.values())
    if len(tables) == 1:
        return list(values), tables[0]
    bound = max(rows.shape[1] for rows in tables)
    ranged = [rows for rows in tables if MARK in rows.name or 0 in builder.extents_of(rows, loc)]
    fixed = [rows for rows in tables if rows not in ranged]
    places: dict[str, tuple[int, int]] = {}
    start = 0
    for rows in fixed:
        places[rows.name] = (1, start)
        start += rows.shape[0]
    places |= {rows.name: (len(ranged), start + place) for place, rows in enumerate(ranged)}
    wide = [widened(builder, rows, bound, loc) for rows in (fixed if ranged[1:] else fixed + ranged)]
    if ranged[1:]:
        wide.append(_alternating(builder, ranged, bound, loc))
    (table,) = builder.emit("concat", wide, {"axis": 0}, loc=loc, names=[f"{loc}.strings"]) if wide[1:] else wide
    return [_renumbered(builder, v, *places[r.name], loc) for v, r in zip(values, found_rows)], table


def _renumbered(builder: FoldingBuilder, value: Value, step: int, start: int, loc: str) -> Value:
    for op, by, neutral in (("mul", step, 1), ("add", start, 0)):
        if by != neutral:
            number = builder.constant(np.asarray(by, np.int32), f"{loc}.start")
            (value,) = builder.emit(op, [value, number], loc=loc, names=[f"{loc}.numbers"])
    return value


def _alternating(builder: FoldingBuilder, tables: Sequence[Value], bound: int, loc: str) -> Value:
    """The first row of each table, the second of each, and so on, as many as the largest has."""

    def whole(op: str, values: Sequence[Value], **attrs: AttrValue) -> Value:
        return builder.emit_whole(op, values, attrs, loc=loc, names=[f"{loc}{MARK}"])[0]

    most, count = max(rows.shape[0] for rows in tables), len(tables)
    each = []
    for rows in tables:
        missing = (most - rows.shape[0], bound - rows.shape[1])
        if any(missing):
            rows = whole("pad", [rows], before=(0, 0), after=missing, mode="constant", value=0)
        each.append(whole("reshape", [rows], shape=(most, 1, bound)))
    together = whole("reshape", [whole("concat", each, axis=1)], shape=(most * count, bound))
    found = [builder.extents_of(rows, loc).get(0) for rows in tables]
    if None not in found:
        longest = Polynomial.constant(0)
        for extent in found:
            assert extent is not None
            longest = builder.counts.greatest_of(longest, builder.polynomial(extent), loc)
        builder.extents[together.name] = {0: builder.scaled(builder.counts.value(longest, loc), count, loc)}
    return together


def widened(builder: FoldingBuilder, rows: Value, bound: int, loc: str) -> Value:
    """Rows of bytes with zeros behind them, of ``bound`` bytes each."""
    missing = bound - rows.shape[-1]
    if not missing:
        return rows
    none = (0,) * (len(rows.shape) - 1)
    attrs: dict[str, AttrValue] = {"before": (*none, 0), "after": (*none, missing), "mode": "constant", "value": 0}
    return builder.emit("pad", [rows], attrs, loc=loc, names=[f"{loc}.strings"])[0]


# ---------------------------------------------------------------- inputs and outputs of the model


def described(builder: FoldingBuilder, values: Mapping[str, object]) -> dict[str, object]:
    """Values as ONNX sees them: those that stand for strings have the type of characters."""
    return {
        name: replace(value, type=TensorType(DType.CHAR, value.shape))
        if isinstance(value, Value) and value.name in builder.strings
        else value
        for name, value in values.items()
    }


def string_outputs(builder: FoldingBuilder, outputs: Sequence[tuple[str, Value]]) -> list[tuple[str, Value]]:
    """The outputs of a model by their names, those of strings as char[shape, bytes]."""
    results = []
    for target, value in outputs:
        if value.name in builder.strings:
            content = bytes_of(builder, value, target)
            (value,) = builder.emit("bitcast", [content], {"to": DType.CHAR}, loc=target, names=[f"{target}.string"])
        results.append((target, value))
    targets = {target for target, _ in outputs}
    chosen = [value.name for _, value in outputs if value.name in builder.strings and value.name in targets]
    builder.rename(0, {name: builder.names.fresh(f"{name}.numbers") for name in chosen})
    return results
