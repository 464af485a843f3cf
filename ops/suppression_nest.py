"""Plain nest of suppress: the best box that is left, again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.build import convert, gt, lt, maximum, minimum, ne, store
from ..ir.graph import Node, Value
from ..ir.loops import INDEX, Alloc, Block, Buffer, Expr, If, Unary, const
from ..ir.types import DType
from .attributes import flag, integer
from .nest_tools import Lets, accumulator, operand, register, serial_loop, serial_loops
from .opdef import NestContext

I32 = DType.I32


def suppress(ctx: NestContext, node: Node) -> Block:
    """The boxes that may still be chosen are listed in memory of the call, in their order. Each choice goes through
    the list once: it drops what overlaps the chosen box, and finds the best of the others."""
    scores, (rows, number) = operand(node, 1), node.outputs
    batch, classes, count = scores.shape
    most = min(integer(node.attrs, "limit"), count)
    left, allocated = ctx.scratch("left", I32, (count,))
    total, init_total = accumulator(ctx, "total", I32, 0)
    limit = Lets(ctx)
    wanted = limit.bind("wanted", ctx.read(operand(node, 2), ()))

    def of_class(index: tuple[Expr, ...]) -> Block:
        image, kind = index
        boxes = Boxes(ctx, node, image)
        kept = _Kept(ctx, left, lambda n: ctx.read(scores, (image, kind, n)))

        def candidate(n: Expr) -> Block:
            fits = gt(ctx.read(scores, (image, kind, n)), ctx.read(operand(node, 4), ()))
            return (If(fits, kept.add(n)),)

        def choose(k: Expr) -> Block:
            lets = Lets(ctx)
            chosen = lets.bind("chosen", kept.box(convert(kept.best[0], INDEX.dtype)))
            at = lets.bind("at", convert(total[0], INDEX.dtype))
            listed = lets.bind("listed", minimum(convert(kept.length[0], INDEX.dtype), count))
            row = [convert(entry, DType.I64) for entry in (image, kind, chosen)]
            written = tuple(stmt for j, entry in enumerate(row) for stmt in ctx.write(rows, (at, _const(j)), entry))
            own = Lets(ctx)
            corners = boxes.corners(own, chosen)

            def pass_on(place: Expr) -> Block:
                names = Lets(ctx)
                n = names.bind("n", kept.box(place))
                most_shared = ctx.read(operand(node, 3), ())
                overlaps = names.bind("overlaps", overlap(names, corners, boxes.corners(names, n), most_shared))
                stays = If(Unary("not", overlaps) & ne(n, chosen), kept.add(n))
                return (*names.block, stays)

            passes = (*kept.cleared(), *serial_loop(ctx, "place", listed, pass_on))
            taken = (*lets.block, *written, *own.block, *passes, store(total[0], total[0] + 1))
            return (If(lt(convert(k, I32), wanted) & gt(kept.length[0], 0), taken),)

        return (
            *kept.allocated(), *kept.cleared(), *serial_loop(ctx, "n", count, candidate),
            *serial_loop(ctx, "k", most, choose),
        )  # fmt: skip

    return (
        *allocated, *init_total, *limit.block,
        *serial_loops(ctx, ("image", "kind"), (batch, classes), of_class),
        *clear_rows(ctx, rows, total),
        *ctx.write(number, (), convert(total[0], DType.I64)),
    )  # fmt: skip


def clear_rows(ctx: NestContext, rows: Value, total: Buffer) -> Block:
    """Zeros in the rows from number ``total`` on."""
    most = rows.shape[0]
    done = convert(total[0], INDEX.dtype)

    def clear(index: tuple[Expr, ...]) -> Block:
        return ctx.write(rows, (minimum(done + index[0], most - 1), index[1]), _zero64())

    return serial_loops(ctx, ("z", "j"), (minimum(most - done, most), rows.shape[1]), clear)


def _const(value: int) -> Expr:
    return const(value, INDEX)


def _zero64() -> Expr:
    return convert(const(0, INDEX), DType.I64)


class Boxes:
    """The boxes of one image."""

    def __init__(self, ctx: NestContext, node: Node, image: Expr) -> None:
        self.ctx, self.boxes, self.image = ctx, operand(node, 0), image
        self.centered = flag(node.attrs, "centered")

    def corners(self, lets: Lets, box: Expr) -> list[Expr]:
        """The lower and the upper bound in one direction and in the other."""
        a, b, c, d = (lets.bind("e", self.ctx.read(self.boxes, (self.image, box, _const(k)))) for k in range(4))
        pairs = ((a, c), (b, d))
        if self.centered:
            found = [bound for middle, size in pairs for bound in (middle - size * 0.5, middle + size * 0.5)]
        else:
            found = [bound for one, other in pairs for bound in (minimum(one, other), maximum(one, other))]
        return [lets.bind("corner", bound) for bound in found]


def overlap(lets: Lets, own: Sequence[Expr], other: Sequence[Expr], threshold: Expr) -> Expr:
    """Whether what boxes with these corners have in common, as a share of what they cover, is above ``threshold``; of
    vectors, lane by lane."""
    sides = []
    for d in (0, 2):
        low = lets.bind("low", maximum(own[d], other[d]))
        sides.append((low, lets.bind("high", minimum(own[d + 1], other[d + 1]))))
    common = lets.bind("common", (sides[0][1] - sides[0][0]) * (sides[1][1] - sides[1][0]))
    areas = [lets.bind("area", (corners[1] - corners[0]) * (corners[3] - corners[2])) for corners in (own, other)]
    union = lets.bind("union", areas[0] + areas[1] - common)
    positive = gt(minimum(minimum(areas[0], areas[1]), minimum(common, union)), 0.0)
    met = gt(sides[0][1], sides[0][0]) & gt(sides[1][1], sides[1][0])
    return met & positive & gt(common / union, threshold)


class _Kept:
    """The boxes that are left, listed in ``left``: their ``length``, and the place of the ``best`` of them, the first
    of those with the greatest score."""

    def __init__(self, ctx: NestContext, left: Buffer, score_of: Callable[[Expr], Expr]) -> None:
        self.ctx, self.left, self.score_of = ctx, left, score_of
        self.length, self.best = register(ctx, "length", I32), register(ctx, "best", I32)
        self.score = register(ctx, "score", DType.F32)

    def allocated(self) -> Block:
        return Alloc(self.length), Alloc(self.best), Alloc(self.score)

    def cleared(self) -> Block:
        """The list is begun anew, in the memory of the one before."""
        return store(self.length[0], 0), store(self.best[0], 0), store(self.score[0], 0.0)

    def box(self, place: Expr) -> Expr:
        """The box at a place of the list; the limits show the verifier that it is one."""
        last = self.left.shape[0] - 1
        listed = self.left[maximum(minimum(place, last), 0)]
        return maximum(minimum(convert(listed, INDEX.dtype), last), 0)

    def add(self, box: Expr) -> Block:
        lets = Lets(self.ctx)
        own = lets.bind("own", self.score_of(box))
        place = minimum(convert(self.length[0], INDEX.dtype), self.left.shape[0] - 1)
        better = If(
            lt(self.length[0], 1) | gt(own, self.score[0]),
            (store(self.best[0], self.length[0]), store(self.score[0], own)),
        )
        listed = store(self.left[maximum(place, 0)], convert(box, I32))
        return (*lets.block, better, listed, store(self.length[0], self.length[0] + 1))
