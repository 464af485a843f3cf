"""The plain nest of MurmurHash3."""

from __future__ import annotations

from ..ir.build import lt, minimum, ne, select, store
from ..ir.graph import Node
from ..ir.loops import U8, U32, Block, Expr
from ..ir.types import DType
from .attributes import flag, integer
from .murmur import END, MIX, STEP
from .nest_tools import Index, Lets, accumulate, accumulator, loops, operand, serial_loop
from .opdef import NestContext


def murmur3(ctx: NestContext, node: Node) -> Block:
    """A step for each word of a row. Bytes behind a string are 0 and their words change nothing: the mix of 0 is 0, and
    the rest of a step is for words that the string fills."""
    x = operand(node, 0)
    width, text = x.shape[1], flag(node.attrs, "text")

    def row(at: Index) -> Block:
        state, init = accumulator(ctx, "state", DType.U32, integer(node.attrs, "seed") & 0xFFFFFFFF)
        length, init_length = accumulator(ctx, "length", DType.U32, 0 if text else width)

        def step(block: Expr) -> Block:
            lets = Lets(ctx)
            parts = [lets.bind("byte", _byte(ctx, node, at, block * 4 + place)) for place in range(4)]
            word = lets.bind("word", sum((part << 8 * place for place, part in enumerate(parts[1:], 1)), parts[0]))
            mixed = lets.bind("mixed", state[0] ^ _rotated(word * MIX[0], MIX[1]) * MIX[2])
            filled = ne(parts[3], 0) if text else lt(block * 4 + 3, width)
            after = select(filled, _rotated(mixed, STEP[0]) * STEP[1] + STEP[2], mixed)
            counted = accumulate("add", length, sum((U32(ne(part, 0)) for part in parts[1:]), U32(ne(parts[0], 0))))
            return (*lets.block, store(state[0], after), *((counted,) if text else ()))

        words = serial_loop(ctx, "block", -(-width // 4), step)
        lets = Lets(ctx)
        found = lets.bind("found", state[0] ^ length[0])
        for shift, factor in END:
            found = lets.bind("found", (found ^ found >> shift) * factor)
        return (*init, *init_length, *words, *lets.block, *ctx.write(node.output, at, found))

    return loops(ctx, ("i",), x.shape[:1], row)


def _byte(ctx: NestContext, node: Node, at: Index, place: Expr) -> Expr:
    """A byte of a row, and 0 behind its end."""
    x = operand(node, 0)
    byte, width = ctx.read(x, (*at, minimum(place, x.shape[1] - 1))), x.shape[1]
    return U32(byte if width % 4 == 0 else select(lt(place, width), byte, U8(0)))


def _rotated(word: Expr, by: int) -> Expr:
    return word << by | word >> 32 - by
