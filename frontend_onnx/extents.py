"""Dimensions whose extent is only known in a run, followed through the operators of the graph IR.

Shapes are bounds; what lies beyond an extent is arbitrary, and must never reach what lies within. A rule for each
operator says along which dimensions its results have extents, and puts elements that change nothing in the place of
what is arbitrary where an operator looks across such a dimension. Operators without a rule are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Value
from ..ir.types import DType, TensorType
from ..ops.attributes import flag, floats, integer, ints, text
from ..ops.opdef import Kind
from ..ops.recurrent import lengths_position
from ..ops.table import OPS
from .joined_extents import concat, pad, transposed_windows, windows

if TYPE_CHECKING:
    from .folding import FoldingBuilder

Extents = Mapping[int, Value]
"""The dimensions of a tensor whose extents are values (i64, at most the bound) of the graph."""

Rule = Callable[["Site"], Sequence[Extents]]
"""The extents of the results of an operator. A rule may replace operands of the site."""


@dataclass
class Site:
    """A node that is about to be emitted, whose results will have ``types``."""

    builder: FoldingBuilder
    op: str
    operands: list[Value | None]
    attrs: dict[str, AttrValue]
    types: Sequence[TensorType]
    loc: str

    def extents(self, position: int) -> Extents:
        """Those of an operand; none where it is absent."""
        value = self.operands[position] if position < len(self.operands) else None
        return {} if value is None else self.builder.extents_of(value, self.loc)

    def operand(self, position: int) -> Value:
        value = self.operands[position]
        assert value is not None
        return value

    def refuse(self, axis: int, why: str, way_out: str = "or end the model before this node") -> CcmlError:
        reason = f"{self.op} {why} dimension {axis}, whose extent is only known in a run"
        hint = f"fix the dimension with --dim or --shape, {way_out}"
        return CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=self.loc, hint=hint)

    def constant_over(self, position: int, axes: Sequence[int], why: str) -> None:
        """Refuses an operand that has extents along ``axes``."""
        for axis in self.extents(position):
            if axis in axes:
                raise self.refuse(axis, why)

    def fixed(self, *positions: int) -> None:
        """Refuses operands that have any extents."""
        for position in positions:
            for axis in self.extents(position):
                raise self.refuse(axis, f"has operand {position} with")

    def same(self, axis: int, found: Sequence[Value | None]) -> Value | None:
        """The extent along dimension ``axis`` of several operands that have to agree there."""
        known = {None if value is None else value.name: value for value in found}
        if len(known) > 1:
            if self.builder.compares:  # with constants, of which the first import knows no extents
                known.pop(None, None)
                known = self._most_known([value for value in known.values() if value is not None])
            if len(known) > 1:
                way_out = (
                    "or say more of its extents: the least that the model takes, such as --dim t=400..900, or of what "
                    "they are multiples, such as --dim h=32*1..7"
                )
                raise self.refuse(axis, "combines tensors of different extents along", way_out)
        return next(iter(known.values()), None)

    def least(self, count: Value) -> int:
        """The least that an extent can be."""
        return self.builder.counts.span(self.builder.polynomial(count))[0]

    def is_found(self, count: Value) -> bool:
        """Whether an extent is not known before a run."""
        return not self.builder.counts.is_static(self.builder.polynomial(count))

    def _most_known(self, found: Sequence[Value]) -> dict[str | None, Value | None]:
        """Of extents that are the same in the first import, but for what a run finds, the one of the most factors and
        arguments: others have lost those that constants have, as places that a run gathers from."""
        polynomials = {value.name: self.builder.polynomial(value) for value in found}
        if len({self.builder.counts.partly_probed(each) for each in polynomials.values()}) > 1:
            return {value.name: value for value in found}
        best = max(found, key=lambda value: (polynomials[value.name].degree, len(polynomials[value.name].atoms)))
        return {best.name: best}

    def emit(self, op: str, *operands: Value, **attrs: AttrValue) -> Value:
        """A node over whole tensors, beyond extents as well."""
        return self.builder.emit_whole(op, operands, attrs, loc=self.loc, names=[f"{self.loc}.extent"])[0]

    def constant(self, number: float, dtype: DType) -> Value:
        return self.builder.constant(np.asarray(number).astype(dtype.numpy), f"{self.loc}.extent")

    def cleared(self, position: int, axis: int, fill: float) -> None:
        """Replaces what lies beyond the extent along ``axis`` of an operand by ``fill``."""
        value, extents = self.operand(position), self.extents(position)
        count = extents.get(axis)
        if count is None:
            return
        places = np.arange(value.shape[axis], dtype=np.int64).reshape(-1, *[1] * (len(value.shape) - axis - 1))
        within = self.emit("lt", self.builder.constant(places, f"{self.loc}.extent"), count)
        if value.dtype is DType.BOOL and not fill:
            result = self.emit("and", value, within)
        else:
            result = self.emit("where", within, value, self.constant(fill, value.dtype))
        self.operands[position] = result
        self.builder.extents[result.name] = extents


def extents_of_results(site: Site) -> Sequence[Extents]:
    """The extents that follow from those of the operands, some of which change. Raises ``UNSUPPORTED_FEATURE``."""
    if not any(map(site.extents, range(len(site.operands)))):
        return ()
    rule = _pointwise if OPS[site.op].kind is Kind.POINTWISE else RULES.get(site.op)
    if rule is None:
        axis = next(axis for position in range(len(site.operands)) for axis in site.extents(position))
        raise site.refuse(axis, "has an operand with")
    return rule(site)


# ---------------------------------------------------------------- pointwise operators and views


def _pointwise(site: Site) -> Sequence[Extents]:
    if site.op in ("quantize", "dequantize") and len(floats(site.attrs, "scale")) > 1:
        site.constant_over(0, [integer(site.attrs, "axis")], "has a scale for each index of")
    tables = OPS[site.op].tables
    site.fixed(*tables)
    return [_broadcast(site, [n for n in range(len(site.operands)) if n not in tables], site.types[0].shape)]


def _broadcast(site: Site, positions: Sequence[int], shape: Sequence[int], last: int = 0) -> dict[int, Value]:
    """The extents of the result of broadcasting operands, whose last ``last`` dimensions do not take part. One of
    at most 1 that a run finds is 1 beside greater ones: ONNX repeats nothing else."""
    found: dict[int, Value] = {}
    for axis in range(len(shape)):
        here: list[Value | None] = []
        repeated: list[Value] = []
        for position in positions:
            value = site.operands[position] if position < len(site.operands) else None
            dim = -1 if value is None else axis - len(shape) + len(value.shape) - last
            if value is not None and dim >= 0:
                extent = site.extents(position).get(dim)
                if extent is not None and value.shape[dim] == 1 and site.is_found(extent):
                    repeated.append(extent)
                elif extent is not None or value.shape[dim] != 1:
                    here.append(extent)
        if not here:
            here = [site.builder.product(repeated, site.loc)] if repeated else []
        elif not any(extent is None or site.least(extent) > 1 for extent in here):
            here += repeated
        extent = site.same(axis, here)
        if extent is not None:
            found[axis] = extent
    return found


def _reshape(site: Site) -> Sequence[Extents]:
    """A dimension stays one, or is the outermost of several that become one."""
    x, y = site.operand(0), site.types[0]
    found: dict[int, Value] = {}
    for axis, count in site.extents(0).items():
        before, extent, after = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
        kept = [
            d
            for d, size in enumerate(y.shape)
            if size == extent and prod(y.shape[:d]) == before and prod(y.shape[d + 1 :]) == after
        ]
        merged = [d for d, size in enumerate(y.shape) if prod(y.shape[:d]) == before == 1 and size % extent == 0]
        if len(kept) == 1 or (kept and len(x.shape) == len(y.shape) and axis in kept):
            found[axis if axis in kept and len(kept) > 1 else kept[0]] = count
        elif not kept and len(merged) == 1 and len(site.extents(0)) == 1 and y.shape[merged[0]] > extent:
            factor = y.shape[merged[0]] // extent
            found[merged[0]] = site.builder.scaled(count, factor, site.loc)
        else:
            raise site.refuse(axis, "splits or merges")
    return [found]


def keeps_places(site: Site) -> bool:
    """Whether a reshape leaves elements at the pitch of the bounds."""
    try:
        _reshape(site)
    except CcmlError:
        return False
    return True


def _transpose(site: Site) -> Sequence[Extents]:
    extents = site.extents(0)
    return [{new: extents[old] for new, old in enumerate(ints(site.attrs, "perm")) if old in extents}]


def _expand(site: Site) -> Sequence[Extents]:
    x, y = site.operand(0), site.types[0]
    shift = y.rank - len(x.shape)
    for axis in site.extents(0):
        if x.shape[axis] != y.shape[axis + shift]:
            raise site.refuse(axis, "repeats")
    return [{axis + shift: count for axis, count in site.extents(0).items()}]


def _slice(site: Site) -> Sequence[Extents]:
    """Of a dimension all, or a part that is within the least extent and the same for every extent."""
    found = {}
    for axis, count in site.extents(0).items():
        start, step, size = (ints(site.attrs, name)[axis] for name in ("starts", "steps", "sizes"))
        last = start + (size - 1) * step
        least_extent = site.builder.least(count) or 0
        if (start, step, size) == (0, 1, site.operand(0).shape[axis]):
            found[axis] = count
        elif max(start, last) >= least_extent:
            raise site.refuse(axis, "takes a part of")
    return [found]


# ---------------------------------------------------------------- gathers and scatters


def _gather(site: Site) -> Sequence[Extents]:
    axis, rank = integer(site.attrs, "axis"), len(site.operand(1).shape)
    site.constant_over(0, [axis], "takes elements along")
    found = {axis + dim: count for dim, count in site.extents(1).items()}
    return [found | {d if d < axis else d + rank - 1: count for d, count in site.extents(0).items()}]


def _scatter(site: Site) -> Sequence[Extents]:
    """Rows beyond the extent get a place that is out of range, which leaves them out."""
    rank = len(site.operand(1).shape)
    site.constant_over(0, [0], "puts elements to places along")
    for dim in range(rank):
        site.same(dim, [site.extents(1).get(dim), site.extents(2).get(dim)])
    for dim in site.extents(1):
        site.cleared(1, dim, -1)
    for dim in range(1, len(site.operand(0).shape)):
        site.same(dim, [site.extents(0).get(dim), site.extents(2).get(dim - 1 + rank)])
    return [site.extents(0)]


def _roi_align(site: Site) -> Sequence[Extents]:
    """Images of which an operand says where they end."""
    if len(site.operands) < 4:
        site.constant_over(0, (1, 2), "reads regions along")
    regions = site.same(0, [site.extents(1).get(0), site.extents(2).get(0)])
    found = {0: regions, 3: site.extents(0).get(3)}
    return [{axis: count for axis, count in found.items() if count is not None}]


# ---------------------------------------------------------------- contractions, reductions


def _matmul(site: Site) -> Sequence[Extents]:
    """Along the dimension that is summed up both operands become 0: 0 times something may be NaN. An extent that a run
    finds beside a static one is that: ONNX multiplies nothing else."""
    a, b, shape = site.operand(0), site.operand(1), site.types[0].shape
    if min(len(a.shape), len(b.shape)) < 2:
        raise site.refuse(0, "multiplies by a list with")
    columns, rows = len(a.shape) - 1, len(b.shape) - 2
    outer = _broadcast(site, (0, 1), shape[:-2], 2)
    sides = [site.extents(0).get(columns), site.extents(1).get(rows)]
    full = None in sides and all(count is None or site.is_found(count) for count in sides)
    summed = None if full else site.same(columns, sides)
    found = {len(shape) - 2: site.extents(0).get(columns - 1), len(shape) - 1: site.extents(1).get(rows + 1)}
    site.fixed(*range(2, len(site.operands)))
    if summed is not None:
        site.cleared(0, columns, 0)
        site.cleared(1, rows, 0)
    return [outer | {axis: count for axis, count in found.items() if count is not None}]


def _over_rows(*inner: int) -> Rule:
    """Operators whose first operand has extents along all dimensions but the last ``inner`` of them, as the result."""

    def rule(site: Site) -> Sequence[Extents]:
        site.fixed(*range(1, len(site.operands)))
        rank = len(site.operand(0).shape)
        site.constant_over(0, [rank - 1 - d for d in inner], "works along")
        return [site.extents(0)]

    return rule


def _dequantize_blocks(site: Site) -> Sequence[Extents]:
    """Elements and their parameters have the same extents along all dimensions but that of the blocks."""
    positions = range(len(site.operands))
    for position in positions:
        site.constant_over(position, [integer(site.attrs, "axis")], "has blocks along")
    return [_broadcast(site, positions, site.types[0].shape)]


def _over_batch(site: Site) -> Sequence[Extents]:
    """Operators that treat the indices of the first dimension alike."""
    site.fixed(*range(1, len(site.operands)))
    site.constant_over(0, range(1, len(site.operand(0).shape)), "works along")
    return [site.extents(0) for _ in site.types]


def _sample(site: Site) -> Sequence[Extents]:
    """Images of the batch and their channels, and points of each image."""
    x, points = site.extents(0), site.extents(1)
    last = len(site.operand(0).shape) - 1
    site.constant_over(0, range(1, last), "reads between elements along")
    site.constant_over(1, (2,), "reads at points of")
    batch = site.same(0, [x.get(0), points.get(0)])
    found = {0: batch, 1: points.get(1), 2: x.get(last)}
    return [{axis: count for axis, count in found.items() if count is not None}]


def _string_concat(site: Site) -> Sequence[Extents]:
    """Both operands have as many strings, or one has a single one."""
    several = [position for position in (0, 1) if site.operand(position).shape[0] != 1]
    extent = site.same(0, [site.extents(position).get(0) for position in several])
    return [{} if extent is None else {0: extent}]


def least(dtype: DType) -> float:
    """A number that changes no maximum."""
    return -inf if dtype.is_float else int(np.iinfo(dtype.numpy).min) if dtype.is_integer else 0


def greatest(dtype: DType) -> float:
    """A number that changes no minimum."""
    return inf if dtype.is_float else int(np.iinfo(dtype.numpy).max) if dtype.is_integer else 1


def _reduce(site: Site) -> Sequence[Extents]:
    axes, dtype, kind = ints(site.attrs, "axes"), site.operand(0).dtype, text(site.attrs, "kind")
    neutral = {"sum": 0.0, "prod": 1.0, "max": least(dtype), "min": greatest(dtype)}
    for axis in [axis for axis in site.extents(0) if axis in axes]:
        if kind not in neutral:
            raise site.refuse(axis, f"computes a {kind} over")
        site.cleared(0, axis, neutral[kind])
    return [_reduced(site.extents(0), axes, flag(site.attrs, "keepdims"))]


def _reduced(extents: Extents, axes: Sequence[int], keepdims: bool) -> Extents:
    kept = {axis: count for axis, count in extents.items() if axis not in axes}
    return kept if keepdims else {axis - sum(other < axis for other in axes): count for axis, count in kept.items()}


def _arg_reduce(site: Site) -> Sequence[Extents]:
    axis, dtype = integer(site.attrs, "axis"), site.operand(0).dtype
    if axis in site.extents(0):
        if flag(site.attrs, "last"):
            raise site.refuse(axis, "looks for the last place along")
        site.cleared(0, axis, least(dtype) if text(site.attrs, "kind") == "max" else greatest(dtype))
    return [_reduced(site.extents(0), (axis,), flag(site.attrs, "keepdims"))]


def _softmax(site: Site) -> Sequence[Extents]:
    axis = integer(site.attrs, "axis")
    if axis in site.extents(0):
        site.cleared(0, axis, -inf)
    return [site.extents(0)]


def _cumulative(neutral: float) -> Rule:
    def rule(site: Site) -> Sequence[Extents]:
        axis = integer(site.attrs, "axis")
        if axis in site.extents(0) and flag(site.attrs, "reverse"):
            site.cleared(0, axis, neutral)
        return [site.extents(0)]

    return rule


def _normalize(site: Site) -> Sequence[Extents]:
    site.constant_over(0, ints(site.attrs, "axes"), "normalizes over")
    return [site.extents(0)]


def _top_k(site: Site) -> Sequence[Extents]:
    """What lies beyond the extent comes last. The k, which no extent may be below, is none."""
    axis, dtype = integer(site.attrs, "axis"), site.operand(0).dtype
    if axis in site.extents(0):
        site.cleared(0, axis, least(dtype) if flag(site.attrs, "largest") else greatest(dtype))
    return [{dim: count for dim, count in site.extents(0).items() if dim != axis}]


def _nonzero(site: Site) -> Sequence[Extents]:
    """What lies beyond the extent is false."""
    site.cleared(0, 0, 0)
    return ()


def _suppress(site: Site) -> Sequence[Extents]:
    """Scores beyond the extent are below all that count."""
    site.constant_over(0, (2,), "suppresses boxes over")
    for boxes, scores in ((0, 0), (1, 2)):
        site.same(scores, [site.extents(0).get(boxes), site.extents(1).get(scores)])
    for axis in range(3):
        site.cleared(1, axis, -inf)
    return ()


def _recurrent(states: int) -> Rule:
    """Sequences have a length each where time has an extent: behind it nothing is computed, and results are 0."""

    def rule(site: Site) -> Sequence[Extents]:
        time, position = site.extents(0).get(0), lengths_position(states)
        site.constant_over(0, (2,), "multiplies by weights along")
        batches = [site.extents(0).get(1)]
        for n in range(1, len(site.operands)):
            allowed = (1,) if 4 <= n < 4 + states else (0,) if n == position else ()
            site.constant_over(n, [axis for axis in site.extents(n) if axis not in allowed], "has weights with")
            if site.operands[n] is not None and allowed:
                batches.append(site.extents(n).get(allowed[0]))
        batch = site.same(1, batches)
        given = site.operands[position] if position < len(site.operands) else None
        if time is not None and given is None:
            length = site.emit("cast", time, to=DType.I32)
            lengths = site.emit("expand", length, shape=(site.operand(0).shape[1],))
            site.operands += [None] * (position + 1 - len(site.operands))
            site.operands[position] = lengths
        along = {axis: count for axis, count in ((0, time), (2, batch)) if count is not None}
        return [along, *([{} if batch is None else {1: batch}] * (len(site.types) - 1))]

    return rule


RULES: Mapping[str, Rule] = {
    "reshape": _reshape, "transpose": _transpose, "expand": _expand, "slice": _slice, "concat": concat, "pad": pad,
    "gather": _gather, "scatter": _scatter, "roi_align": _roi_align, "matmul": _matmul, "reduce": _reduce,
    "dequantize_blocks": _dequantize_blocks, "weight_matmul": _over_rows(0), "det": _over_rows(0, 1),
    "conv": windows, "conv_transpose": transposed_windows, "pool": windows, "col2im": _over_batch, "fft": _over_batch,
    "arg_reduce": _arg_reduce, "softmax": _softmax, "log_softmax": _softmax, "normalize": _normalize,
    "rms_normalize": _normalize, "cumsum": _cumulative(0), "cumprod": _cumulative(1), "string_concat": _string_concat,
    "string_find": _over_batch, "string_map": _over_batch, "string_match": _over_batch, "string_split": _over_batch,
    "top_k": _top_k, "nonzero": _nonzero, "trees": _over_batch, "square_distance": _over_batch,
    "count_ngrams": _over_batch, "murmur3": _over_batch, "sample": _sample,
    "couple_probabilities": _over_batch, "suppress": _suppress,
    "lstm": _recurrent(2), "gru": _recurrent(1), "rnn": _recurrent(1),
}  # fmt: skip
"""By operator; pointwise ones have one rule for all."""

COUNTED: Mapping[str, tuple[int, ...]] = {"nonzero": (0,), "unique": (0, 2), "suppress": (0,)}
"""Operators whose last result is the extent of the first dimension of others, and which these are."""
