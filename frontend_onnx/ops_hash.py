"""The MurmurHash3 of ONNX Runtime's domain, by which scikit-learn's FeatureHasher finds columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..ir.graph import Value
from ..ir.types import DType
from .context import NodeContext, Rule
from .ops_strings import is_string
from .string_tables import by_row

_WORDS = {4: DType.U32, 8: DType.U64}


def murmur3(ctx: NodeContext) -> Sequence[Value]:
    """The hash of each string, or of the bytes of each number of 4 or 8 bytes; of type uint32 where it is ``positive``,
    else int32."""
    x, seed = ctx.input(0), ctx.integer("seed", 0)
    if is_string(ctx, x):
        y = by_row(ctx.builder, x, lambda rows: ctx.emit("murmur3", rows, seed=seed, text=True), ctx.loc)
    else:
        y = _of_numbers(ctx, x, seed)
    return [y if ctx.integer("positive", 1) else ctx.emit("bitcast", y, to=DType.I32)]


def _of_numbers(ctx: NodeContext, x: Value, seed: int) -> Value:
    size = x.dtype.numpy.itemsize
    if size not in _WORDS:
        raise ctx.invalid(f"MurmurHash3 of {x.type}")
    whole, words = replace(ctx, over_bounds=True), x
    if x.dtype is not _WORDS[size]:
        words = whole.emit("bitcast", x, to=_WORDS[size])
    shifted = [whole.emit("shr", words, whole.scalar(8 * place, words)) for place in range(size)]
    columns = [whole.reshape(whole.cast(each, DType.U8), (x.type.size, 1)) for each in shifted]
    found = whole.emit("murmur3", whole.emit("concat", *columns, axis=1), seed=seed, text=False)
    return ctx.with_extents(whole.reshape(found, x.shape), ctx.extents(x))


RULES: Mapping[str, Rule] = {"com.microsoft.MurmurHash3": murmur3}
