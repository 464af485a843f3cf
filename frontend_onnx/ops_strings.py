"""Rules of operators on strings: Equal, RegexFullMatch, StringConcat, StringNormalizer, StringSplit; and what the rules
of other operators do with strings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ir.types import DType
from ..ops.infer import broadcast_shapes
from ..ops.strings import rows_of
from .character_case import LOWER, UPPER, case_ranges, grown
from .context import NodeContext, Rule, RunExtents
from .places import filled_beyond
from .regular_expressions import RegexError, automaton
from .string_casts import cast_strings
from .string_tables import (
    StringTable,
    by_row,
    bytes_of,
    constant_rows,
    constant_strings,
    constant_texts,
    in_order,
    register,
    renumbered,
    utf8,
    widened,
)

MAX_PAIRS = 2**12
"""Concatenations of constant strings that are made when the model is compiled."""


def is_string(ctx: NodeContext, value: Value) -> bool:
    return value.name in ctx.builder.strings


def string_input(ctx: NodeContext, position: int) -> Value:
    """An operand that stands for strings."""
    value = ctx.input(position)
    if not is_string(ctx, value):
        raise ctx.invalid(f"operand {position} of {ctx.op_type} is {value.type}, not strings")
    return value


def table_of(ctx: NodeContext, value: Value) -> StringTable:
    return ctx.builder.strings[value.name]


def string_positions(ctx: NodeContext, x: Value, keys: Sequence[str | bytes]) -> Value:
    """Where each string stands first among ``keys``, in i32; their number where it is none of them."""
    encoded = [utf8(key, ctx.loc) for key in keys]
    places = {key: place for place, key in reversed(list(enumerate(encoded)))}
    order = sorted(places)
    numbers = np.array([*(places[key] for key in order), len(encoded)], np.int32)
    rows = constant_rows(ctx.builder, order, f"{ctx.stem}.keys")

    def find(strings: Value) -> Value:
        place = ctx.emit("string_find", strings, rows)
        if np.array_equal(numbers, np.arange(len(numbers))):
            return place
        return ctx.emit("gather", ctx.constant(numbers), place, axis=0)

    return by_row(ctx.builder, x, find, ctx.loc)


def chosen_strings(ctx: NodeContext, place: Value, texts: Sequence[str | bytes]) -> Value:
    """The strings with the numbers ``place`` among constant ones."""
    rows = constant_rows(ctx.builder, [utf8(text, ctx.loc) for text in texts], ctx.stem)
    return renumbered(ctx.builder, ctx.cast(place, DType.I32), rows, ctx.stem)


def equal(ctx: NodeContext) -> Sequence[Value]:
    """Where one side is constant, places among its strings are compared, else all bytes."""
    a, b = string_input(ctx, 0), string_input(ctx, 1)
    for known in (b, a):
        texts = constant_texts(ctx.builder, known)
        if texts:
            return [ctx.emit("eq", *(string_positions(ctx, value, texts) for value in (a, b)))]
    content = [bytes_of(ctx.builder, value, ctx.loc) for value in (a, b)]
    bound = max(value.shape[-1] for value in content)
    same = ctx.emit("eq", *(widened(ctx.builder, value, bound, ctx.loc) for value in content))
    axis = len(same.shape) - 1
    least = ctx.emit("reduce", ctx.cast(same, DType.U8), kind="min", axes=(axis,), keepdims=False)
    return [ctx.cast(least, DType.BOOL)]


def concat(ctx: NodeContext) -> Sequence[Value]:
    """Concatenates all pairs of rows of two small constant tables, else the strings themselves."""
    a, b = string_input(ctx, 0), string_input(ctx, 1)
    shape = broadcast_shapes(a.shape, b.shape)
    texts = [constant_texts(ctx.builder, value) for value in (a, b)]
    first, second = texts
    if first and second and len(first) * len(second) <= MAX_PAIRS:
        rows = constant_rows(ctx.builder, [x + y for x in first for y in second], ctx.stem)
        number = ctx.emit("add", ctx.emit("mul", a, ctx.scalar(len(second), a)), b)
        return [renumbered(ctx.builder, number, rows, ctx.stem)]
    content = [flat_rows(ctx, value, shape) for value in (a, b)]
    return [in_order(ctx.builder, ctx.emit("string_concat", *content), shape, f"{ctx.stem}.numbers")]


def flat_rows(ctx: NodeContext, value: Value, shape: tuple[int, ...]) -> Value:
    """The bytes of strings that are broadcast to ``shape``, a row each; of a single string one row."""
    content = bytes_of(ctx.builder, value, ctx.loc)
    bound = content.shape[-1]
    if value.type.size == 1:
        return ctx.reshape(content, (1, bound))
    if value.shape != shape:
        content = ctx.reshape(content, (*[1] * (len(shape) - len(value.shape)), *value.shape, bound))
        content = ctx.emit("expand", content, shape=(*shape, bound))
    return ctx.reshape(content, (prod(shape), bound))


def rows_and_extents(ctx: NodeContext, x: Value) -> tuple[NodeContext, Value, RunExtents]:
    """The bytes of strings within the bounds, a row each, the extents of their dimensions, and the context in which
    more is made of these rows."""
    content, whole = bytes_of(ctx.builder, x, ctx.loc), replace(ctx, over_bounds=True)
    extents = dict(ctx.builder.extents_of(content, ctx.loc))
    return whole, whole.reshape(content, (x.type.size, content.shape[-1])), extents


def full_match(ctx: NodeContext) -> Sequence[Value]:
    """The pattern becomes a finite automaton, which reads each byte once."""
    x, pattern = string_input(ctx, 0), ctx.string("pattern")
    try:
        found = automaton(pattern)
    except RegexError as problem:
        reason = f"the pattern {pattern!r} has {problem}"
        hint = "docs/conformance.md tells which expressions are supported"
        raise ctx.unsupported(reason, hint=hint) from problem

    def match(rows: Value) -> Value:
        state = ctx.emit("string_match", rows, ctx.constant(found.classes), ctx.constant(found.table))
        return ctx.emit("gather", ctx.constant(found.accepting), state, axis=0)

    return [by_row(ctx.builder, x, match, ctx.loc)]


def split(ctx: NodeContext) -> Sequence[Value]:
    """As many parts as the longest string may have; how many there are a run finds out."""
    x, delimiter = string_input(ctx, 0), utf8(ctx.string("delimiter", ""), ctx.loc)
    most = ctx.integer("maxsplit", -1) if ctx.has("maxsplit") else -1
    separators = [delimiter] if delimiter else WHITESPACE
    whole, content, extents = rows_and_extents(ctx, x)
    if not x.type.size:
        nothing = ctx.constant(np.zeros((*x.shape, 0), np.int32))
        register(ctx.builder, nothing, constant_rows(ctx.builder, [b""], ctx.stem))
        return [nothing, ctx.constant(np.zeros(x.shape, np.int64))]
    bound = content.shape[1]
    limit = bound // len(delimiter) + 1 if delimiter else (bound + 1) // 2
    limit = min(limit, most + 1) if most >= 0 else limit
    table = ctx.constant(rows_of(separators, max(map(len, separators))))
    parts, counts = whole.emit_all("string_split", content, table, limit=limit, merge=not delimiter)
    number = filled_beyond(whole, whole.reshape(counts, x.shape), extents)
    count = whole.emit("reduce", number, kind="max", axes=tuple(range(len(x.shape))), keepdims=False)
    known = ctx.array(count)
    rows, shape = whole.reshape(parts, (x.type.size * limit, bound)), (*x.shape, limit)
    ctx.with_extents(number, extents)
    if known is not None:
        places = np.arange(prod(shape), dtype=np.int32).reshape(shape)[..., : int(known)]
        return [register(ctx.builder, ctx.constant(places), rows), number]
    order = in_order(ctx.builder, rows, shape, f"{ctx.stem}.order")
    return [_with_extents(ctx, order, {**extents, len(x.shape): count}), number]


def _with_extents(ctx: NodeContext, value: Value, extents: Mapping[int, Value]) -> Value:
    """Strings in the order of their rows whose dimensions have extents; their numbers are no constant any more."""
    table, builder = table_of(ctx, value), ctx.builder
    count = next(iter(extents.values()))
    none = ctx.emit("min", ctx.cast(count, DType.I32), ctx.constant(np.zeros((), np.int32)))
    (number,) = builder.emit_whole("add", [value, none], {}, loc=ctx.loc, names=[f"{ctx.stem}.numbers"])
    builder.extents[number.name] = dict(extents)
    return register(builder, number, table.rows, True)


WHITESPACE = [
    chr(code).encode() for code in (*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028,
                                    0x2029, 0x202F, 0x205F, 0x3000)
]  # fmt: skip
"""The characters that Unicode counts as white space."""

_OTHER_CASES = ("tr", "az", "lt")
"""Languages whose letters have another case than Unicode says for all."""


def normalize(ctx: NodeContext) -> Sequence[Value]:
    """Strings that are no stop words, in another case if asked for; the empty string where none is left."""
    x, action = string_input(ctx, 0), ctx.string("case_change_action", "NONE")
    if action not in ("LOWER", "UPPER", "NONE") or len(x.shape) not in (1, 2) or prod(x.shape[:-1]) != 1:
        raise ctx.invalid(f"StringNormalizer of strings {list(x.shape)} with case_change_action {action}")
    if action != "NONE" and ctx.string("locale", "en_US").lower().startswith(_OTHER_CASES):
        raise ctx.unsupported(f"letters of the locale {ctx.string('locale')}", hint="leave the locale out")
    if not x.type.size:
        return [constant_strings(ctx.builder, np.full([1] * len(x.shape), "", object), ctx.stem)]
    table = table_of(ctx, x)
    rows = table.rows if action == "NONE" else _in_case(ctx, table.rows, action)
    words = [utf8(word, ctx.loc) for word in ctx.strings("stopwords", ())]
    if not words:
        return [renumbered(ctx.builder, x, rows, ctx.stem)]
    asked = x
    if not ctx.integer("is_case_sensitive", 0):
        longest = max(1, *map(len, words))
        lower = ctx.array(_in_case(ctx, ctx.constant(rows_of(words, longest)), "LOWER"))
        assert lower is not None
        words = [row.tobytes().rstrip(b"\0") for row in lower]
        asked = renumbered(ctx.builder, x, _in_case(ctx, table.rows, "LOWER"), ctx.stem)
    stopped = ctx.emit("lt", string_positions(ctx, asked, words), ctx.constant(np.array(len(words), np.int32)))
    return [_kept(ctx, x, rows, ctx.reshape(ctx.emit("not", stopped), (x.type.size,)))]


def _in_case(ctx: NodeContext, rows: Value, action: str) -> Value:
    """Rows in upper or lower case."""
    case = UPPER if action == "UPPER" else LOWER
    columns = (ctx.constant(column) for column in case_ranges(case))
    return ctx.emit("string_map", rows, *columns, bytes=grown(case, rows.shape[1]))


def _kept(ctx: NodeContext, x: Value, rows: Value, kept: Value) -> Value:
    """The strings that are kept one behind the other, or the empty one."""
    builder, rank = ctx.builder, len(x.shape)
    empty = ctx.constant(np.zeros((1, rows.shape[1]), np.uint8))
    table = ctx.emit("concat", empty, rows, axis=0)
    numbers = ctx.reshape(ctx.emit("add", x, ctx.scalar(1, x)), (x.type.size,))
    chosen = ctx.array(kept)
    if chosen is not None:
        left = np.flatnonzero(chosen).astype(np.int32)
        nothing = ctx.constant(np.zeros(1, np.int32))
        found = ctx.emit("gather", numbers, ctx.constant(left), axis=0) if len(left) else nothing
        return register(builder, ctx.reshape(found, (*[1] * (rank - 1), max(len(left), 1))), table)

    def emit(op: str, *operands: Value, **attrs: int | tuple[int, ...]) -> Value:
        return builder.emit_whole(op, operands, attrs, loc=ctx.loc, names=[f"{ctx.stem}.numbers"])[0]

    places, count = ctx.emit_all("nonzero", kept)
    one = ctx.constant(np.ones((), np.int64))
    there = emit("eq", emit("min", count, one), one)
    number = emit("where", there, emit("gather", numbers, places, axis=0), ctx.constant(np.zeros((), np.int32)))
    result = emit("reshape", number, shape=x.shape)
    builder.extents[result.name] = {rank - 1: emit("max", count, one)}
    return register(builder, result, table, False)


def unique(ctx: NodeContext) -> Sequence[Value]:
    """Rows of bytes are compared; their order is that of UTF-8, which is that of code points."""
    x, axis = string_input(ctx, 0), None
    if ctx.has("axis"):
        axis = ctx.axis(ctx.integer("axis"), len(x.shape))
    content = bytes_of(ctx.builder, x, ctx.loc)
    bound = content.shape[-1]
    if axis is None:
        numbers, axis, count = ctx.reshape(x, (x.type.size,)), 0, x.type.size
    else:
        numbers, count, last = x, x.shape[axis], len(x.shape)
        perm = (axis, *(d for d in range(last + 1) if d != axis))
        content = content if axis == 0 else ctx.emit("transpose", content, perm=perm)
    rows = ctx.reshape(content, (count, prod(x.shape) // max(count, 1) * bound))
    first, inverse, counts, _ = ctx.emit_all("unique", rows, sorted=bool(ctx.integer("sorted", 1)))
    values = ctx.emit("gather", numbers, first, axis=axis)
    register(ctx.builder, values, table_of(ctx, x).rows, False)
    return [values, *(ctx.cast(value, DType.I64) for value in (first, inverse, counts))]


RULES: Mapping[str, Rule] = {
    "RegexFullMatch": full_match,
    "StringConcat": concat,
    "StringNormalizer": normalize,
    "StringSplit": split,
}

STRING_RULES: Mapping[str, Rule] = {"Cast": cast_strings, "Equal": equal, "Unique": unique}
"""Rules for operands that are strings, of operators that have another one for numbers."""
