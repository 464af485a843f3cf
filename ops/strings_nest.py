"""Plain nests of the operators on strings."""

from __future__ import annotations

from ..ir.build import convert, eq, ge, gt, le, lt, maximum, minimum, ne, select, store
from ..ir.graph import Node, Value
from ..ir.loops import I32, INDEX, U8, Block, Buffer, Expr, If, as_expr, binary, const
from ..ir.types import DType
from .attributes import flag
from .nest_tools import Index, Lets, accumulate, accumulator, loops, operand, serial_loop
from .opdef import NestContext


def _index(register: Buffer) -> Expr:
    return convert(register[0], INDEX.dtype)


def string_concat(ctx: NestContext, node: Node) -> Block:
    """The length of the first string decides for each byte of the result where it comes from."""
    a, b = operand(node, 0), operand(node, 1)
    ends = a.shape[1], b.shape[1]

    def row(at: Index) -> Block:
        first_row, second_row = (at if value.shape[0] == node.output.shape[0] else (as_expr(0),) for value in (a, b))
        length, init = accumulator(ctx, "length", DType.I32, 0)
        counted = serial_loop(
            ctx, "j", ends[0], lambda j: (accumulate("add", length, I32(ne(ctx.read(a, (*first_row, j)), 0))),)
        )
        lets = Lets(ctx)
        end = lets.bind("end", _index(length))

        def byte(j: Expr) -> Block:
            behind = j - end
            first = ctx.read(a, (*first_row, minimum(j, ends[0] - 1)))
            second = ctx.read(b, (*second_row, maximum(minimum(behind, ends[1] - 1), 0)))
            return ctx.write(
                node.output, (*at, j), select(lt(j, end), first, select(lt(behind, ends[1]), second, U8(0)))
            )

        return (*init, *counted, *lets.block, *serial_loop(ctx, "k", sum(ends), byte))

    return loops(ctx, ("i",), node.output.shape[:1], row)


def string_find(ctx: NestContext, node: Node) -> Block:
    """Binary search for the first key that is not below the string, which then is or is not equal to it."""
    x, keys = operand(node, 0), operand(node, 1)
    count, width = keys.shape[0], max(x.shape[1], keys.shape[1])

    def byte_of(value: Value, row: Expr, j: Expr) -> Expr:
        extent = value.shape[1]
        byte = I32(ctx.read(value, (row, minimum(j, extent - 1))))
        return byte if extent == width else select(lt(j, extent), byte, 0)

    def compare(row: Expr, key: Expr) -> tuple[Buffer, Block]:
        """A register that is below, at or above 0 as the key comes before the string, equals it or comes behind it."""
        order, init = accumulator(ctx, "order", DType.I32, 0)

        def byte(j: Expr) -> Block:
            apart = store(order[0], byte_of(keys, key, j) - byte_of(x, row, j))
            return (If(eq(order[0], 0), (apart,)),)

        return order, (*init, *serial_loop(ctx, "j", width, byte))

    def search(at: Index) -> Block:
        low, init_low = accumulator(ctx, "low", DType.I32, 0)
        high, init_high = accumulator(ctx, "high", DType.I32, const(count, I32))

        def halve(_: Expr) -> Block:
            lets = Lets(ctx)
            middle = lets.bind("middle", minimum((_index(low) + _index(high)) // 2, count - 1))
            order, compared = compare(at[0], middle)
            upper, lower = store(low[0], convert(middle + 1, DType.I32)), store(high[0], convert(middle, DType.I32))
            step = If(lt(order[0], 0), (upper,), (lower,))
            return (If(lt(low[0], high[0]), (*lets.block, *compared, step)),)

        halved = serial_loop(ctx, "level", count.bit_length(), halve)
        lets = Lets(ctx)
        place = lets.bind("place", minimum(_index(low), count - 1))
        order, compared = compare(at[0], place)
        found = select(lt(low[0], count) & eq(order[0], 0), low[0], I32(count))
        return (*init_low, *init_high, *halved, *lets.block, *compared, *ctx.write(node.output, at, found))

    return loops(ctx, ("i",), x.shape[:1], search)


def string_match(ctx: NestContext, node: Node) -> Block:
    """A step of the automaton for each byte that is not 0."""
    x, classes, table = (operand(node, position) for position in range(3))

    def row(at: Index) -> Block:
        state, init = accumulator(ctx, "state", DType.I32, 0)

        def byte(j: Expr) -> Block:
            lets = Lets(ctx)
            byte = lets.bind("byte", ctx.read(x, (*at, j)))
            kind = lets.bind("kind", minimum(INDEX(ctx.read(classes, (INDEX(byte),))), table.shape[1] - 1))
            now = minimum(_index(state), table.shape[0] - 1)
            return (*lets.block, If(ne(byte, 0), (store(state[0], I32(ctx.read(table, (now, kind)))),)))

        return (*init, *serial_loop(ctx, "j", x.shape[1], byte), *ctx.write(node.output, at, state[0]))

    return loops(ctx, ("i",), x.shape[:1], row)


def string_map(ctx: NestContext, node: Node) -> Block:
    """Decodes the character that begins at each byte which is no continuation, looks for its range by binary search,
    and encodes what it becomes."""
    x, y = operand(node, 0), node.output
    size = y.shape[1]

    def row(at: Index) -> Block:
        clear = serial_loop(ctx, "z", size, lambda j: ctx.write(y, (*at, j), U8(0)))
        end, init = accumulator(ctx, "end", DType.I32, 0)

        def character(j: Expr) -> Block:
            lets = Lets(ctx)
            lead = lets.bind("lead", I32(ctx.read(x, (*at, j))))
            code = _decoded(ctx, lets, x, at, j, lead)
            changed, found = _changed(ctx, node, code)
            inner = Lets(ctx)
            new = inner.bind("new", changed[0])
            written = _encoded(ctx, y, at, end, new)
            begins = ne(lead, 0) & ne(lead & 0xC0, 0x80)
            return (*lets.block, If(begins, (*found, *inner.block, *written)))

        return (*clear, *init, *serial_loop(ctx, "j", x.shape[1], character))

    return loops(ctx, ("i",), x.shape[:1], row)


def _decoded(ctx: NestContext, lets: Lets, x: Value, at: Index, j: Expr, lead: Expr) -> Expr:
    """The code point that begins with byte ``lead`` at ``j``; bytes behind the row are 0."""

    def rest(k: int) -> Expr:
        byte = I32(ctx.read(x, (*at, minimum(j + k, x.shape[1] - 1))))
        return lets.bind(f"b{k}", select(lt(j + k, x.shape[1]), byte & 0x3F, I32(0)))

    b1, b2, b3 = rest(1), rest(2), rest(3)
    two = ((lead & 0x1F) << 6) | b1
    three = ((lead & 0x0F) << 12) | (b1 << 6) | b2
    four = ((lead & 0x07) << 18) | (b1 << 12) | (b2 << 6) | b3
    wide = select(lt(lead, 0xE0), two, select(lt(lead, 0xF0), three, four))
    return lets.bind("code", select(lt(lead, 0x80), lead, wide))


def _changed(ctx: NestContext, node: Node, code: Expr) -> tuple[Buffer, Block]:
    """A register with what a character becomes. Ranges do not overlap: the last that begins not behind it is its."""
    first, last, step, offset = (operand(node, position) for position in range(1, 5))
    count = first.shape[0]
    new, init = accumulator(ctx, "new", DType.I32, code)
    low, init_low = accumulator(ctx, "low", DType.I32, 0)
    high, init_high = accumulator(ctx, "high", DType.I32, const(count, I32))

    def halve(_: Expr) -> Block:
        lets = Lets(ctx)
        middle = lets.bind("middle", minimum((_index(low) + _index(high)) // 2, count - 1))
        upper, lower = store(low[0], convert(middle + 1, DType.I32)), store(high[0], convert(middle, DType.I32))
        inner = If(le(ctx.read(first, (middle,)), code), (upper,), (lower,))
        return (If(lt(low[0], high[0]), (*lets.block, inner)),)

    search = serial_loop(ctx, "level", count.bit_length(), halve)
    lets = Lets(ctx)
    place = lets.bind("place", maximum(minimum(_index(low), count) - 1, 0))
    start = lets.bind("start", ctx.read(first, (place,)))
    within = ge(code, start) & le(code, ctx.read(last, (place,)))
    on_step = eq(binary("mod", code - start, maximum(ctx.read(step, (place,)), 1)), 0)
    moved = store(new[0], code + ctx.read(offset, (place,)))
    return new, (*init, *init_low, *init_high, *search, *lets.block, If(within, (If(on_step, (moved,)),)))


def _encoded(ctx: NestContext, y: Value, at: Index, end: Buffer, code: Expr) -> Block:
    """Writes a character behind those before it, unless its bytes do not fit."""
    size = y.shape[1]

    def written(*parts: Expr) -> Block:
        lets = Lets(ctx)
        place = lets.bind("place", _index(end))
        stores = [
            stmt
            for k, part in enumerate(parts)
            for stmt in ctx.write(y, (*at, minimum(place + k, size - 1)), U8(part))
        ]
        fits = le(place + len(parts), size)
        return (*lets.block, If(fits, (*stores, store(end[0], end[0] + len(parts)))))

    def rest(shift: int) -> Expr:
        return ((code >> shift) & 0x3F) | 0x80

    four = written((code >> 18) & 0x07 | 0xF0, rest(12), rest(6), rest(0))
    three = If(lt(code, 0x10000), written((code >> 12) | 0xE0, rest(6), rest(0)), four)
    two = If(lt(code, 0x800), written((code >> 6) | 0xC0, rest(0)), (three,))
    return (If(lt(code, 0x80), written(code), (two,)),)


def string_split(ctx: NestContext, node: Node) -> Block:
    """Goes once over the bytes of a string; ``part`` counts the parts begun, ``end`` the bytes of the last one. With
    ``each`` a byte that is no continuation of UTF-8 begins one."""
    x, (y, counts) = operand(node, 0), node.outputs
    merge, limit, extent = flag(node.attrs, "merge"), y.shape[1], x.shape[1]

    def row(at: Index) -> Block:
        def cleared(k: Expr) -> Block:
            return serial_loop(ctx, "z", extent, lambda j: ctx.write(y, (*at, k, j), U8(0)))

        part, init_part = accumulator(ctx, "part", DType.I32, 0 if merge else 1)
        end, init_end = accumulator(ctx, "end", DType.I32, 0)
        inside, init_inside = accumulator(ctx, "inside", DType.I32, 0 if merge else 1)
        skip, init_skip = accumulator(ctx, "skip", DType.I32, 0)

        def byte(j: Expr) -> Block:
            lets = Lets(ctx)
            byte = lets.bind("byte", ctx.read(x, (*at, j)))
            length, measured = _separator(ctx, node, at, j, byte)
            place = (maximum(minimum(_index(part), limit) - 1, 0), minimum(_index(end), extent - 1))
            begins = eq(inside[0], 0)
            if node.attrs.get("each", False):
                begins = begins | ne(byte & 0xC0, 0x80)
            begin = If(begins, (store(part[0], part[0] + 1), store(inside[0], 1), store(end[0], 0)))
            copy = (begin, *ctx.write(y, (*at, *place), byte), store(end[0], end[0] + 1))
            closed = (store(inside[0], 0),) if merge else (store(part[0], part[0] + 1), store(end[0], 0))
            last = ge(part[0], limit) & ne(inside[0], 0)
            apart = If(ne(length[0], 0), (*closed, store(skip[0], length[0] - 1)), copy)
            look = (*measured, If(last, copy, (apart,)))
            step = If(gt(skip[0], 0), (store(skip[0], skip[0] - 1),), look)
            return (*lets.block, If(ne(byte, 0), (step,)))

        return (
            *serial_loop(ctx, "c", limit, cleared), *init_part, *init_end, *init_inside, *init_skip,
            *serial_loop(ctx, "j", extent, byte), *ctx.write(counts, at, convert(part[0], DType.I64)),
        )  # fmt: skip

    return loops(ctx, ("i",), x.shape[:1], row)


def _separator(ctx: NestContext, node: Node, at: Index, j: Expr, byte: Expr) -> tuple[Buffer, Block]:
    """A register with the length of the first separator that stands at ``j``, or 0."""
    x, separators = operand(node, 0), operand(node, 1)
    count, width = separators.shape
    length, init = accumulator(ctx, "length", DType.I32, 0)

    def each(s: Expr) -> Block:
        same, init_same = accumulator(ctx, "same", DType.I32, 1)
        size, init_size = accumulator(ctx, "size", DType.I32, 0)

        def compared(k: Expr) -> Block:
            lets = Lets(ctx)
            wanted = lets.bind("wanted", ctx.read(separators, (s, k)))
            there = lets.bind("there", ctx.read(x, (*at, minimum(j + k, x.shape[1] - 1))))
            equal = eq(there, wanted) & lt(j + k, x.shape[1])
            unequal = If(equal, (store(size[0], size[0] + 1),), (store(same[0], 0),))
            return (*lets.block, If(ne(wanted, 0), (unequal,)))

        whole = If(ne(same[0], 0), (store(length[0], size[0]),))
        tested = (*init_same, *init_size, *serial_loop(ctx, "k", width, compared), whole)
        begins = eq(length[0], 0) & eq(ctx.read(separators, (s, as_expr(0))), byte)
        return (If(begins, tested),)

    return length, (*init, *serial_loop(ctx, "s", count, each))
