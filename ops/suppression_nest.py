"""Plain nest of suppress: the best box that is left, again and again."""

from __future__ import annotations

from ..ir.build import convert, ge, gt, lt, maximum, minimum, ne, store
from ..ir.graph import Node, Value
from ..ir.loops import INDEX, Block, Buffer, Expr, If, const
from ..ir.types import DType
from .attributes import flag, integer
from .nest_tools import Lets, accumulator, operand, serial_loop, serial_loops
from .opdef import NestContext

I32 = DType.I32


def suppress(ctx: NestContext, node: Node) -> Block:
    """Boxes that may still be chosen are marked in memory of the call."""
    scores, (rows, number) = operand(node, 1), node.outputs
    batch, classes, count = scores.shape
    most = min(integer(node.attrs, "limit"), count)
    left, allocated = ctx.scratch("left", I32, (count,))
    total, init_total = accumulator(ctx, "total", I32, 0)
    best, init_best = accumulator(ctx, "best", I32, -1)
    score, init_score = accumulator(ctx, "score", DType.F32, 0.0)
    limit = Lets(ctx)
    wanted = limit.bind("wanted", ctx.read(operand(node, 2), ()))

    def of_class(index: tuple[Expr, ...]) -> Block:
        image, kind = index
        boxes = _Boxes(ctx, node, image)

        def candidate(n: Expr) -> Block:
            fits = gt(ctx.read(scores, (image, kind, n)), ctx.read(operand(node, 4), ()))
            return (store(left[n], convert(fits, I32)),)

        def look(n: Expr) -> Block:
            lets = Lets(ctx)
            own = lets.bind("own", ctx.read(scores, (image, kind, n)))
            better = lt(best[0], 0) | gt(own, score[0])
            taken = (store(best[0], convert(n, I32)), store(score[0], own))
            return (If(ne(left[n], 0), (*lets.block, If(better, taken))),)

        def choose(k: Expr) -> Block:
            search = (store(best[0], -1), *serial_loop(ctx, "n", count, look))
            lets = Lets(ctx)
            chosen = lets.bind("chosen", convert(best[0], INDEX.dtype))
            at = lets.bind("at", convert(total[0], INDEX.dtype))
            row = [convert(entry, DType.I64) for entry in (image, kind, chosen)]
            written = tuple(stmt for j, entry in enumerate(row) for stmt in ctx.write(rows, (at, _const(j)), entry))
            dropped = (*boxes.dropped(chosen, left), store(left[chosen], 0))
            taken = (*lets.block, *written, *dropped, store(total[0], total[0] + 1))
            again = (*search, If(ge(best[0], 0), taken))
            return (If(lt(convert(k, I32), wanted), again),)

        return (*serial_loop(ctx, "n", count, candidate), *serial_loop(ctx, "k", most, choose))

    def clear(index: tuple[Expr, ...]) -> Block:
        zero = ctx.write(rows, index, _zero64())
        return (If(ge(convert(index[0], I32), total[0]), zero),)

    return (
        *allocated, *init_total, *init_best, *init_score, *limit.block,
        *serial_loops(ctx, ("image", "kind"), (batch, classes), of_class),
        *serial_loops(ctx, ("z", "j"), rows.shape, clear),
        *ctx.write(number, (), convert(total[0], DType.I64)),
    )  # fmt: skip


def _const(value: int) -> Expr:
    return const(value, INDEX)


def _zero64() -> Expr:
    return convert(const(0, INDEX), DType.I64)


class _Boxes:
    """The boxes of one image."""

    def __init__(self, ctx: NestContext, node: Node, image: Expr) -> None:
        self.ctx, self.boxes, self.image = ctx, operand(node, 0), image
        self.threshold: Value = operand(node, 3)
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

    def dropped(self, chosen: Expr, left: Buffer) -> Block:
        """Unmarks the boxes that overlap the box ``chosen``."""
        outer = Lets(self.ctx)
        own = self.corners(outer, chosen)

        def box(n: Expr) -> Block:
            lets = Lets(self.ctx)
            other = self.corners(lets, n)
            sides = []
            for d in (0, 2):
                low = lets.bind("low", maximum(own[d], other[d]))
                sides.append((low, lets.bind("high", minimum(own[d + 1], other[d + 1]))))
            common = lets.bind("common", (sides[0][1] - sides[0][0]) * (sides[1][1] - sides[1][0]))
            areas = [
                lets.bind("area", (corners[1] - corners[0]) * (corners[3] - corners[2])) for corners in (own, other)
            ]
            union = lets.bind("union", areas[0] + areas[1] - common)
            positive = gt(minimum(minimum(areas[0], areas[1]), minimum(common, union)), 0.0)
            met = (gt(sides[0][1], sides[0][0]) & gt(sides[1][1], sides[1][0]))
            above = gt(common / union, self.ctx.read(self.threshold, ()))
            drop = If(met & positive & above, (store(left[n], 0),))
            return (If(ne(left[n], 0), (*lets.block, drop)),)

        return (*outer.block, *serial_loop(self.ctx, "n", self.boxes.shape[1], box))
