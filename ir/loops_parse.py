"""Parses the text of ``ir/loops_text.py``: recursive descent for statements, precedence climbing for operators."""

from __future__ import annotations

from typing import TypeVar

from .foreign import Foreign
from .loops import (
    BOOL,
    COMPARE_OPS,
    INDEX,
    REDUCE_OPS,
    Access,
    Alloc,
    Binary,
    Bitcast,
    Block,
    Buffer,
    Call,
    Const,
    Convert,
    Expr,
    Fetch,
    For,
    If,
    Invoke,
    Kernel,
    Lane,
    Let,
    Load,
    LoopKind,
    Pointer,
    Prefetch,
    Reduce,
    Select,
    Shuffle,
    Space,
    Splat,
    Stmt,
    Store,
    Type,
    Unary,
    Var,
)
from .text import Cursor, syntax_error, tokenize, type_named
from .types import DType

INFIX: dict[str, tuple[str, int]] = {
    "eq": ("==", 1), "ne": ("!=", 1), "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1),
    "or": ("|", 2), "xor": ("^", 3), "and": ("&", 4), "shl": ("<<", 5), "shr": (">>", 5),
    "add": ("+", 6), "sub": ("-", 6), "mul": ("*", 7), "div": ("/", 7), "mod": ("%", 7),
}  # fmt: skip
UNARY, ATOM = 8, 9
LOOP_WORDS = {
    "for": LoopKind.SERIAL, "unroll": LoopKind.UNROLL, "parallel": LoopKind.PARALLEL, "rolled": LoopKind.ROLLED,
}  # fmt: skip

_SYMBOLS = {symbol: (op, level) for op, (symbol, level) in INFIX.items()}
_ALLOC_WORDS = {"stack": Space.STACK, "reg": Space.REG}
_UNARY_FUNCTIONS = ("not", "abs")
_BINARY_FUNCTIONS = ("min", "max", "floordiv", "floormod")
_REDUCTIONS = {f"reduce_{op}": op for op in REDUCE_OPS}
_CONVERSIONS: dict[str, type[Convert] | type[Bitcast]] = {"convert": Convert, "bitcast": Bitcast}

_Named = TypeVar("_Named", Var, Buffer)

RESERVED = frozenset(
    {"kernel", "pass", "let", "if", "else", "true", "false", "active", "align", "invoke", "prefetch", "foreign"}
    | {"fetch", "chunked", "select", "splat", "lane", "shuffle"}
    | {*LOOP_WORDS, *_ALLOC_WORDS, *_UNARY_FUNCTIONS, *_BINARY_FUNCTIONS, *_REDUCTIONS, *_CONVERSIONS}
)


def parse_kernel(text: str) -> Kernel:
    """The kernel whose text is ``text``. Raises ``CcmlError`` (IR_SYNTAX) that names the line and what was expected."""
    return _KernelParser(Cursor(tokenize(text, layout=True))).kernel()


class _KernelParser:
    """``_names`` holds what is in scope: variables and buffers."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._names: dict[str, Var | Buffer] = {}

    # ------------------------------------------------------------ kernel and statements

    def kernel(self) -> Kernel:
        cursor = self._cursor
        cursor.expect("kernel")
        name = cursor.name("the kernel's name")
        cursor.expect("(")
        params: list[Buffer] = []
        scalars: list[Var] = []
        while not cursor.accept(")"):
            if cursor.at(":", 1) and cursor.at("index", 2) and not cursor.at("[", 3):
                scalars.append(self._scalar())
            else:
                params.append(self._buffer(Space.GLOBAL))
            if not cursor.at(")"):
                cursor.expect(",")
        chunked = cursor.integer("a number of loops") if cursor.accept("chunked") else 0
        loc = cursor.loc()
        foreign = self._foreign() if cursor.at("foreign", 2) else None
        body = self._block() if foreign is None else ()
        cursor.expect_kind("end", "the end of the text")
        return Kernel(name, tuple(params), body, loc, tuple(scalars), foreign, chunked)

    def _foreign(self) -> Foreign:
        """What stands in the place of a body where that is C of the user's."""
        cursor = self._cursor
        cursor.expect_kind("newline", "the end of the line")
        cursor.expect_kind("indent", "an indented block")
        cursor.expect("foreign")
        operator, function, file = (cursor.string() for _ in range(3))
        self._end_of_line()
        cursor.expect("arguments")
        arguments = cursor.shape()
        self._end_of_line()
        cursor.expect("types")
        types = tuple(cursor.string("a C type") for _ in arguments)
        self._end_of_line()
        cursor.expect("in_place")
        pairs = cursor.shape()
        self._end_of_line()
        cursor.expect("constants")
        constants = cursor.string()
        self._end_of_line()
        cursor.expect("code")
        code = cursor.string()
        self._end_of_line()
        cursor.expect_kind("dedent", "the end of the kernel")
        in_place = tuple(zip(pairs[::2], pairs[1::2]))
        return Foreign(operator, function, file, code, constants, arguments, types, in_place)

    def _scalar(self) -> Var:
        cursor = self._cursor
        var = Var(cursor.name("a scalar's name"))
        cursor.expect(":")
        cursor.expect("index")
        self._names[var.name] = var
        return var

    def _buffer(self, space: Space) -> Buffer:
        cursor = self._cursor
        name = cursor.name("a buffer's name")
        cursor.expect(":")
        type_, shape = cursor.type(), cursor.shape()
        if space is Space.GLOBAL and cursor.accept(Space.ROWS.value):
            space, access = Space.ROWS, Access.READ
        else:
            access = next((item for item in Access if cursor.accept(item.value)), Access.READ_WRITE)
        align = cursor.integer("an alignment in bytes") if cursor.accept("align") else 0
        buffer = Buffer(name, type_, shape, space, access, align)
        self._names[name] = buffer
        return buffer

    def _block(self) -> Block:
        """The indented lines that follow; names bound inside are forgotten at the end."""
        cursor, outer = self._cursor, dict(self._names)
        cursor.expect_kind("newline", "the end of the line")
        cursor.expect_kind("indent", "an indented block")
        stmts: list[Stmt] = []
        while not cursor.at_kind("dedent"):
            if cursor.accept("pass"):
                self._end_of_line()
            else:
                stmts.append(self._stmt())
        cursor.next()
        self._names = outer
        return tuple(stmts)

    def _end_of_line(self) -> None:
        self._cursor.expect_kind("newline", "the end of the line")

    def _stmt(self) -> Stmt:
        cursor = self._cursor
        word = cursor.peek().text if cursor.at_kind("name") else ""
        if word in LOOP_WORDS:
            cursor.next()
            outer = dict(self._names)
            stmt = self._loops(LOOP_WORDS[word])
            self._names = outer
            return stmt
        if cursor.accept("if"):
            return self._if()
        if cursor.accept("let"):
            return self._let()
        if word in _ALLOC_WORDS:
            cursor.next()
            alloc = Alloc(self._buffer(_ALLOC_WORDS[word]))
            self._end_of_line()
            return alloc
        if cursor.accept("invoke"):
            return self._invoke()
        if cursor.accept("prefetch"):
            cursor.expect("&")
            prefetch = Prefetch(self._pointer())
            self._end_of_line()
            return prefetch
        if cursor.accept("fetch"):
            return self._fetch()
        return self._store()

    def _invoke(self) -> Invoke:
        """``block(&x[i], &y[0], 16)``: pointers, then scalars."""
        cursor = self._cursor
        block = cursor.name("a block instruction")
        pointers: list[Pointer] = []
        scalars: list[int | Expr] = []
        cursor.expect("(")
        while not cursor.accept(")"):
            if cursor.accept("&"):
                pointers.append(self._pointer())
            else:
                scalar = self._expr()
                scalars.append(int(scalar.value) if isinstance(scalar, Const) and scalar.type == INDEX else scalar)
            if not cursor.at(")"):
                cursor.expect(",")
        self._end_of_line()
        return Invoke(block, tuple(pointers), tuple(scalars))

    def _fetch(self) -> Fetch:
        """``&s[i] = x[row]``."""
        cursor = self._cursor
        cursor.expect("&")
        target = self._pointer()
        cursor.expect("=")
        source = self._pointer()
        self._end_of_line()
        if len(source.index) != 1:
            cursor.fail("the number of a row")
        return Fetch(source.buffer, source.index[0], target)

    def _pointer(self) -> Pointer:
        """``x[i]``, behind the ``&``."""
        buffer = self._resolve(self._cursor.name("a buffer's name"), Buffer)
        return Pointer(buffer, self._subscript()[0])

    def _loops(self, kind: LoopKind) -> For:
        """``i:4, j:8`` and the block below: a nest."""
        cursor = self._cursor
        var = Var(cursor.name("a loop variable"))
        cursor.expect(":")
        extent = self._expr()
        self._names[var.name] = var
        body: Block = (self._loops(kind),) if cursor.accept(",") else self._block()
        return For(var, extent, body, kind)

    def _if(self) -> If:
        cursor = self._cursor
        cond = self._expr()
        cursor.expect(":")
        then, orelse = self._block(), ()  # type: tuple[Block, Block]
        if cursor.accept("else"):
            cursor.expect(":")
            orelse = self._block()
        return If(cond, then, orelse)

    def _let(self) -> Let:
        cursor = self._cursor
        name = cursor.name("a name")
        cursor.expect(":")
        var = Var(name, cursor.type())
        cursor.expect("=")
        value = self._expr()
        self._end_of_line()
        self._names[name] = var
        return Let(var, value)

    def _store(self) -> Store:
        cursor = self._cursor
        if not cursor.at_kind("name") and not cursor.at_kind("string"):
            cursor.fail("a statement")
        line = cursor.peek().line
        buffer = self._resolve(cursor.name(), Buffer)
        index, lanes, active = self._subscript()
        cursor.expect("=")
        value = self._expr()
        if lanes is not None and lanes != value.type.lanes:
            raise syntax_error(line, f"expected a value of {lanes} lanes, found {value.type}")
        self._end_of_line()
        return Store(buffer, index, value, active)

    def _subscript(self) -> tuple[tuple[Expr, ...], int | None, Expr | None]:
        """``[i, j : lanes active n]``; no lanes give ``None``."""
        cursor = self._cursor
        cursor.expect("[")
        index: list[Expr] = []
        while not cursor.at("]") and not cursor.at(":"):
            index.append(self._expr())
            if not cursor.at("]") and not cursor.at(":"):
                cursor.expect(",")
        lanes = cursor.integer("a number of lanes") if cursor.accept(":") else None
        active = self._expr() if lanes is not None and cursor.accept("active") else None
        cursor.expect("]")
        return tuple(index), lanes, active

    # ------------------------------------------------------------ expressions

    def _expr(self, level: int = 1) -> Expr:
        """Operators that bind at least as tightly as ``level``."""
        cursor = self._cursor
        lhs = self._prefix()
        while cursor.at_kind("op") and cursor.peek().text in _SYMBOLS:
            op, own = _SYMBOLS[cursor.peek().text]
            if own < level:
                break
            cursor.next()
            start, literal = cursor.position, cursor.at_kind("number")
            rhs = self._expr(own + 1)
            alone = literal and cursor.position == start + 1
            if op == "sub" and alone and isinstance(rhs, Const) and rhs.type == INDEX:
                lhs = Binary("add", lhs, Const(-rhs.value, INDEX))
            else:
                lhs = Binary(op, lhs, rhs)
            if op in COMPARE_OPS:
                level = own + 1
        return lhs

    def _prefix(self) -> Expr:
        cursor = self._cursor
        if not cursor.accept("-"):
            return self._primary()
        if cursor.at_kind("number"):
            return self._literal(-1)
        return Unary("neg", self._prefix())

    def _primary(self) -> Expr:
        cursor = self._cursor
        if cursor.accept("("):
            inner = self._expr()
            cursor.expect(")")
            return inner
        if cursor.at_kind("number"):
            return self._literal(1)
        if cursor.at_kind("name"):
            found = self._special(cursor.peek().text)
            if found is not None:
                return found
        elif not cursor.at_kind("string"):
            cursor.fail("an expression")
        return self._named()

    def _literal(self, sign: int) -> Const:
        cursor = self._cursor
        line = cursor.peek().line
        digits, suffix = cursor.number()
        type_ = type_named(suffix) if suffix else INDEX
        if type_ is None:
            raise syntax_error(line, f"expected a type behind {digits}, found {suffix!r}")
        if type_.dtype.is_float:
            return Const(sign * float(digits), type_)
        if not digits.isdigit():
            raise syntax_error(line, f"expected an integer of type {type_}, found {digits}")
        return Const(bool(int(digits)) if type_.dtype is DType.BOOL else sign * int(digits), type_)

    def _special(self, word: str) -> Expr | None:
        """What begins with a reserved word; ``None`` for an ordinary name."""
        cursor = self._cursor
        type_ = type_named(word)
        if type_ is None and word not in RESERVED:
            return None
        cursor.next()
        if type_ is not None:
            cursor.expect("(")
            value = cursor.float("inf or nan")
            cursor.expect(")")
            return Const(value, type_)
        if word in ("true", "false"):
            return Const(word == "true", BOOL)
        if word in _CONVERSIONS:
            to = self._angled_type()
            return _CONVERSIONS[word](to, *self._args(1))
        if word == "splat":
            return self._splat()
        if word == "lane":
            return self._lane()
        if word == "shuffle":
            return self._shuffle()
        if word == "select":
            return Select(*self._args(3))
        if word in _UNARY_FUNCTIONS:
            return Unary(word, *self._args(1))
        if word in _BINARY_FUNCTIONS:
            return Binary(word, *self._args(2))
        if word in _REDUCTIONS:
            return Reduce(_REDUCTIONS[word], *self._args(1))
        raise syntax_error(cursor.peek().line, f"expected an expression, found {word}")

    def _angled_type(self) -> Type:
        self._cursor.expect("<")
        type_ = self._cursor.type()
        self._cursor.expect(">")
        return type_

    def _splat(self) -> Splat:
        lanes = self._angled_number("a number of lanes")
        return Splat(self._args(1)[0], lanes)

    def _lane(self) -> Lane:
        number = self._angled_number("the number of a lane")
        return Lane(self._args(1)[0], number)

    def _shuffle(self) -> Shuffle:
        cursor = self._cursor
        cursor.expect("<")
        picks = [cursor.integer("the number of a lane")]
        while cursor.accept(","):
            picks.append(cursor.integer("the number of a lane"))
        cursor.expect(">")
        x, y = self._args(2)
        return Shuffle(x, y, tuple(picks))

    def _angled_number(self, what: str) -> int:
        self._cursor.expect("<")
        number = self._cursor.integer(what)
        self._cursor.expect(">")
        return number

    def _args(self, count: int | None = None) -> tuple[Expr, ...]:
        cursor = self._cursor
        line = cursor.peek().line
        cursor.expect("(")
        args: list[Expr] = []
        while not cursor.accept(")"):
            args.append(self._expr())
            if not cursor.at(")"):
                cursor.expect(",")
        if count is not None and len(args) != count:
            raise syntax_error(line, f"expected {count} arguments, found {len(args)}")
        return tuple(args)

    def _named(self) -> Expr:
        """A variable, an element of a buffer or a call."""
        cursor = self._cursor
        line, name = cursor.peek().line, cursor.name()
        if cursor.at("["):
            buffer = self._resolve(name, Buffer)
            index, lanes, active = self._subscript()
            return Load(buffer, index, 1 if lanes is None else lanes, active)
        typed = cursor.at(":") and cursor.at("(", 2) and type_named(cursor.peek(1).text) is not None
        if typed or cursor.at("("):
            type_ = cursor.type() if typed and cursor.accept(":") else None
            args = self._args()
            if type_ is None and not args:
                raise syntax_error(line, f"expected a type for {name}() without arguments, as in {name}:f32()")
            return Call(name, args, type_ or args[0].type)
        return self._resolve(name, Var)

    def _resolve(self, name: str, kind: type[_Named]) -> _Named:
        found = self._names.get(name)
        if not isinstance(found, kind):
            expected = "a variable" if kind is Var else "a buffer"
            raise syntax_error(self._cursor.peek().line, f"expected {expected} in scope, found {name!r}")
        return found
