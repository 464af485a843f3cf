"""The Tokenizer of ONNX Runtime's domain, which scikit-learn's text vectorizers become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ..ir.graph import Value
from ..ops.strings import rows_of
from .code_points import Ranges, negated, normal
from .context import NodeContext, Rule
from .ops_strings import rows_and_extents, string_input
from .pattern_syntax import WORDS, Characters, Choice, Edge, RegexError, Repeat, Tree, parse
from .pattern_syntax import Sequence as Parts
from .places import filled_beyond
from .string_tables import constant_rows, register, utf8, widened

_MOST_SEPARATORS = 256
_ALL: Ranges = ((1, 0x10FFFF),)
_FORMS = "tokens are supported that are single characters of a class, as '.', or runs of them, as '[a-z0-9]+'"


def tokenizer(ctx: NodeContext) -> Sequence[Value]:
    """Strings ``[C]`` or ``[N, C]`` to tokens with a new last dimension, as long as the longest list of a run; shorter
    lists end with ``pad_value``."""
    x, padding_text = string_input(ctx, 0), utf8(ctx.string("pad_value"), ctx.loc)
    if len(x.shape) not in (1, 2):
        raise ctx.invalid(f"Tokenizer of strings {list(x.shape)}")
    if ctx.integer("mark", 0) or ctx.integer("mincharnum", 1) > 1:
        raise ctx.unsupported("marks around tokens, and a mincharnum above 1")
    characters, single = _tokens(ctx)
    whole, content, extents = rows_and_extents(ctx, x)
    width = content.shape[1]
    limit = width if single else (width + 1) // 2
    between = _separators(ctx, characters)
    separators = ctx.constant(rows_of(between, max(map(len, between))))
    parts, counts = whole.emit_all("string_split", content, separators, limit=limit, merge=True, each=single)
    counts = filled_beyond(whole, whole.reshape(counts, x.shape), extents)
    longest = whole.emit("reduce", counts, kind="max", axes=tuple(range(len(x.shape))), keepdims=False)
    bound = max(width, len(padding_text))
    rows = whole.reshape(parts, (x.type.size * limit, width))
    padding = constant_rows(ctx.builder, [padding_text], ctx.stem)
    table = whole.emit("concat", *(widened(ctx.builder, each, bound, ctx.loc) for each in (padding, rows)), axis=0)
    shape = (*x.shape, limit)
    numbers = whole.constant(np.arange(1, prod(shape) + 1, dtype=np.int32).reshape(shape))
    there = whole.emit("lt", whole.constant(np.arange(limit)), whole.reshape(counts, (*x.shape, 1)))
    found = whole.emit("where", there, numbers, whole.scalar(0, numbers))
    known = ctx.array(longest)
    if known is not None:
        sizes = (*x.shape, int(known))
        found = whole.emit("slice", found, starts=(0,) * len(sizes), steps=(1,) * len(sizes), sizes=sizes)
        return [register(ctx.builder, found, table)]
    ctx.with_extents(found, {**extents, len(x.shape): longest})
    return [register(ctx.builder, found, table, False)]


def _tokens(ctx: NodeContext) -> tuple[Ranges, bool]:
    """The characters of tokens, and whether each of them is a token."""
    separators = ctx.strings("separators", ())
    try:
        if not separators and ctx.string("tokenexp") != ".":
            return _class_of(parse(ctx.string("tokenexp")))
        if [utf8(each, ctx.loc) for each in separators] in ([], [b""]):  # ends of lines as well
            return _ALL, True
        trees = [_alone(parse(utf8(each, ctx.loc).decode())) for each in separators]
        if not all(isinstance(tree, Characters) for tree in trees):
            raise RegexError("separators of several characters")
        apart = normal([each for tree in trees if isinstance(tree, Characters) for each in tree.ranges])
        return negated(apart), False
    except RegexError as problem:
        raise ctx.unsupported(f"a Tokenizer's pattern has {problem}", hint=_FORMS) from problem


def _alone(tree: Tree) -> Tree:
    """The only part of a group."""
    while isinstance(tree, (Choice, Parts)) and len(tree.parts) == 1:
        tree = tree.parts[0]
    return tree


def _class_of(tree: Tree) -> tuple[Ranges, bool]:
    tree = _alone(tree)
    if isinstance(tree, Parts) and len(tree.parts) == 3:  # \b\w+\b
        first, words, last = map(_alone, tree.parts)
        if first is last is Edge.WORD and words == Repeat(Characters(WORDS), 1, None):
            return WORDS, False
    if isinstance(tree, Characters):
        return tree.ranges, True
    part = _alone(tree.part) if isinstance(tree, Repeat) and (tree.least, tree.most) == (1, None) else None
    if isinstance(part, Characters):
        return part.ranges, False
    raise RegexError("another form")


def _separators(ctx: NodeContext, characters: Ranges) -> list[bytes]:
    """What is between tokens of some characters. Where these are of ASCII alone, so are bytes of all others."""
    if characters and characters[-1][1] < 0x80:
        members = {code for first, last in characters for code in range(first, last + 1)}
        return [bytes([byte]) for byte in range(1, 256) if byte not in members]
    between = [(max(first, 1), last) for first, last in negated(characters) if last]
    if sum(last - first + 1 for first, last in between) > _MOST_SEPARATORS:
        raise ctx.unsupported(f"more than {_MOST_SEPARATORS} characters beyond ASCII between tokens", hint=_FORMS)
    codes = [code for first, last in between for code in range(first, last + 1) if not 0xD800 <= code < 0xE000]
    return [chr(code).encode() for code in codes] or [b"\xff"]  # which no text has


RULES: Mapping[str, Rule] = {"com.microsoft.Tokenizer": tokenizer}
