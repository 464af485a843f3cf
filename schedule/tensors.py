"""How a kernel sees its tensors: a buffer, and where in it the tensor begins.

A tensor's buffer may be larger than the tensor: a *halo* of zeros around it lets convolutions read beyond the border
without a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ..ir.loops import Buffer, Expr, Load, as_expr
from ..record import record


@record
class Halo:
    """Elements before and after the tensor, per dimension, that hold ``fill``: what stands for a real zero."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    fill: int = 0

    @staticmethod
    def none(rank: int) -> Halo:
        return Halo((0,) * rank, (0,) * rank)

    @property
    def empty(self) -> bool:
        return not any(self.before) and not any(self.after)

    def merge(self, other: Halo) -> Halo:
        """The smallest halo that holds both. An empty one takes the other's fill."""
        fill = other.fill if self.empty else self.fill
        assert other.empty or fill == other.fill, "one tensor has one zero point"
        return Halo(tuple(map(max, self.before, other.before)), tuple(map(max, self.after, other.after)), fill)

    def padded(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(b + extent + a for b, extent, a in zip(self.before, shape, self.after, strict=True))


@record
class TensorRef:
    """A tensor of ``shape`` that begins at ``offset`` of ``buffer`` (same rank)."""

    buffer: Buffer
    shape: tuple[int, ...]
    offset: tuple[int, ...]

    @staticmethod
    def whole(buffer: Buffer) -> TensorRef:
        return TensorRef(buffer, buffer.shape, (0,) * len(buffer.shape))

    @property
    def dense(self) -> bool:
        """Whether the tensor fills its buffer."""
        return self.shape == self.buffer.shape

    def at(self, index: Sequence[Expr | int]) -> tuple[Expr, ...]:
        """The buffer index of a tensor index."""
        return tuple(as_expr(i) + o for i, o in zip(index, self.offset, strict=True))

    def __getitem__(self, index: Sequence[Expr | int]) -> Load:
        """The element of a tensor index: ``x[oh, ow, c]``."""
        return self.buffer[self.at(index)]

    __iter__ = None  # Python would count indices up without end

    def reshaped(self, shape: Sequence[int]) -> TensorRef:
        """The same elements under another shape. Only for dense tensors."""
        assert self.dense and prod(shape) == prod(self.shape), (self, shape)
        return TensorRef.whole(replace(self.buffer, shape=tuple(shape)))

    def with_columns_of_channels(self) -> TensorRef:
        """The last two dimensions as one. The last one has to be dense."""
        assert self.buffer.shape[-1] == self.shape[-1], self
        column = len(self.shape) - 2
        return _regroup(self, [*([dim] for dim in range(column)), [column, column + 1]])

    def last_part(self, first: Expr | int, extent: int) -> TensorRef:
        """``extent`` elements of the last dimension, from ``first`` on."""
        return _LastPart(self.buffer, (*self.shape[:-1], extent), self.offset, as_expr(first))

    def aligned(self, rank: int) -> TensorRef:
        """With unit dimensions in front up to ``rank``, as broadcasting reads it."""
        extra = rank - len(self.shape)
        ones, zeros = (1,) * extra, (0,) * extra
        return TensorRef(
            replace(self.buffer, shape=ones + self.buffer.shape), ones + self.shape, zeros + self.offset
        )

    def broadcast_index(self, index: Sequence[Expr]) -> tuple[Expr, ...]:
        """The tensor index that belongs to ``index`` of a result: 0 along dimensions of extent 1."""
        tail = index[len(index) - len(self.shape) :]
        return tuple(as_expr(0) if extent == 1 else i for i, extent in zip(tail, self.shape, strict=True))


@record
class _LastPart(TensorRef):
    """Elements of the last dimension from ``first`` on, which a loop may vary."""

    first: Expr

    def at(self, index: Sequence[Expr | int]) -> tuple[Expr, ...]:
        *outer, last = super().at(index)
        return (*outer, last + self.first)


def merge_dimensions(
    shape: Sequence[int], refs: Mapping[str, TensorRef], keep_last: int = 0, *, rows_apart: bool = False
) -> tuple[tuple[int, ...], dict[str, TensorRef]]:
    """Joins neighbouring dimensions along which every tensor is laid out without a gap, so that loops get long.

    ``refs`` must broadcast to ``shape``; the last ``keep_last`` dimensions stay as they are, and with ``rows_apart``
    the first one of more than one element. Returns the new shape and tensors of that rank.
    """
    rank = len(shape)
    rows = next((dim for dim in range(rank) if shape[dim] > 1), None) if rows_apart else None
    aligned = {name: ref.aligned(rank) for name, ref in refs.items()}
    groups: list[list[int]] = []
    last: int | None = None
    for dim in range(rank):
        kept = dim >= rank - keep_last
        trivial = shape[dim] == 1 and all(ref.buffer.shape[dim] == 1 for ref in aligned.values())
        joins = trivial or last is None or all(_joins(ref, shape, last, dim) for ref in aligned.values())
        if groups and joins and not kept and (trivial or rows is None or last != rows):
            groups[-1].append(dim)
        else:
            groups.append([dim])
            last = None
        last = last if trivial else dim
    merged = {name: _regroup(ref, groups) for name, ref in aligned.items()}
    return tuple(prod(shape[d] for d in group) for group in groups), merged


def _joins(ref: TensorRef, shape: Sequence[int], last: int, dim: int) -> bool:
    """Whether ``dim`` continues ``last`` (only unit dimensions between them) in ``ref`` without a gap."""
    full = ref.shape[last] == shape[last] and ref.shape[dim] == shape[dim] == ref.buffer.shape[dim]
    fixed = ref.buffer.shape[last] == 1 and ref.buffer.shape[dim] == 1
    return full or fixed


def _regroup(ref: TensorRef, groups: Sequence[Sequence[int]]) -> TensorRef:
    physical = tuple(prod(ref.buffer.shape[d] for d in group) for group in groups)
    logical = tuple(prod(ref.shape[d] for d in group) for group in groups)
    offset = []
    for group in groups:
        flat = 0
        for dim in group:
            flat = flat * ref.buffer.shape[dim] + ref.offset[dim]
        offset.append(flat)
    return TensorRef(replace(ref.buffer, shape=physical), logical, tuple(offset))
