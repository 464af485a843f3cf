"""Loop IR as text.

::

    kernel conv_0(x: f32[49,10,1] const, w: f32[64,10,4,1] const, y: f32[25,5,64] out)   @"conv2d"
      for oh:25, ow:5
        reg acc: f32x16[2]
        unroll i:2
          acc[i] = 0.0f32x16
        if oh*2-4 >= 0:
          let v: f32x16 = w[oh, 0, 0, 0 : 16 active 3]
          acc[0] = fma(splat<16>(x[oh*2-4, ow, 0]), v, acc[0])
        y[oh, ow, 0 : 16] = max(acc[0], 0.0f32x16)
        invoke stage(&x[oh, 0, 0], &s[0], 16)
        prefetch &w[oh+1, 0, 0]
        fetch &s[oh, 0] = x[oh]

Of a parameter that stands for ``rows`` these are fetched. Scalars of a kernel follow its buffers, as ``n: index``;
``chunked 2`` stands behind its parameters.
Loops of one kind that hold nothing but the next loop share a line. Plain integers are ``index``; other literals carry
their type (``1.5f32``, ``3i32``, ``0.0f32x16``, ``f32(inf)``). ``x-3`` on ``index`` is the sum with -3 that the
expression builder makes; the difference itself is ``x-(3)``, and a negated literal is ``-(3)``. Operators bind as in
Python: comparison, ``|``, ``^``, ``&``, shifts, ``+ -``, ``* / %``, unary minus; comparisons do not chain. A Call whose
type is not that of its first argument shows it: ``name:f32(x)``. Names that read as something else are quoted.
"""

from __future__ import annotations

import math
from hashlib import sha256

import numpy as np

from .by_content import bytes_of
from .foreign import Foreign
from .loops import (
    INDEX,
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
    Pointer,
    Prefetch,
    Reduce,
    Select,
    Shuffle,
    Space,
    Splat,
    Stmt,
    Store,
    Unary,
    Var,
)
from .loops_parse import ATOM, INFIX, LOOP_WORDS, RESERVED, UNARY, parse_kernel
from .text import quoted, spell_loc, spell_name, spell_shape
from .types import DType

__all__ = ["parse_kernel", "print_block", "print_expr", "print_kernel"]

MAX_HEADER = 120
_LOOP_WORD = {kind: word for word, kind in LOOP_WORDS.items()}


# ---------------------------------------------------------------- kernels


def print_kernel(kernel: Kernel) -> str:
    """The text of ``kernel``; :func:`parse_kernel` gives an equal kernel back."""
    params = [_buffer(param, _behind(param)) for param in kernel.params]
    params += [f"{_name(scalar.name)}: {scalar.type}" for scalar in kernel.scalars]
    end = f"){f' chunked {kernel.chunked}' if kernel.chunked else ''}{spell_loc(kernel.loc)}"
    header = f"kernel {_name(kernel.name)}({', '.join(params)}{end}"
    if len(header) > MAX_HEADER:
        listed = "".join(f"    {param},\n" for param in params)
        header = f"kernel {_name(kernel.name)}(\n{listed}{end}"
    body = _block(kernel.body, "  ") if kernel.foreign is None else _foreign(kernel.foreign)
    return "\n".join([header, *body]) + "\n"


def _foreign(foreign: Foreign) -> list[str]:
    """A line for each field."""
    pairs = (number for pair in foreign.in_place for number in pair)
    return [
        f"  foreign {quoted(foreign.operator)} {quoted(foreign.function)} {quoted(foreign.file)}",
        f"  arguments {spell_shape(foreign.arguments)}",
        f"  types {' '.join(map(quoted, foreign.types))}",
        f"  in_place {spell_shape(tuple(pairs))}",
        f"  constants {quoted(foreign.constants)}",
        f"  code {quoted(foreign.code)}",
    ]


def _behind(param: Buffer) -> str:
    """The access of a parameter; of one that is never written whether its rows are fetched."""
    return Space.ROWS.value if param.space is Space.ROWS else param.access.value


def print_block(block: Block) -> str:
    """The text of statements alone."""
    return "\n".join(_block(block, "")) + "\n"


def _name(name: str) -> str:
    return spell_name(name, RESERVED)


def _buffer(buffer: Buffer, access: str) -> str:
    words = [f"{_name(buffer.name)}: {buffer.type}{spell_shape(buffer.shape)}", access]
    if buffer.align:
        words.append(f"align {buffer.align}")
    return " ".join(word for word in words if word)


def _block(block: Block, indent: str) -> list[str]:
    lines = [line for stmt in block for line in _stmt(stmt, indent)]
    return lines or [f"{indent}pass"]


def _stmt(stmt: Stmt, indent: str) -> list[str]:
    match stmt:
        case For():
            return _loops(stmt, indent)
        case If(cond, then, orelse):
            lines = [f"{indent}if {print_expr(cond)}:", *_block(then, indent + "  ")]
            return [*lines, f"{indent}else:", *_block(orelse, indent + "  ")] if orelse else lines
        case Let(var, value):
            return [f"{indent}let {_name(var.name)}: {var.type} = {print_expr(value)}"]
        case Alloc(buffer):
            access = "" if buffer.access is Access.READ_WRITE else buffer.access.value
            return [f"{indent}{buffer.space.value} {_buffer(buffer, access)}"]
        case Store(buffer, index, value, active):
            lanes = 1 if buffer.space is Space.REG and active is None else value.type.lanes
            return [f"{indent}{_element(buffer, index, lanes, active)} = {print_expr(value)}"]
        case Invoke(block, pointers, scalars):
            numbers = (str(scalar) if isinstance(scalar, int) else print_expr(scalar) for scalar in scalars)
            given = [*(_pointer(pointer) for pointer in pointers), *numbers]
            return [f"{indent}invoke {_name(block)}({', '.join(given)})"]
        case Prefetch(pointer):
            return [f"{indent}prefetch {_pointer(pointer)}"]
        case Fetch(source, row, target):
            return [f"{indent}fetch {_pointer(target)} = {_element(source, (row,), 1, None)}"]
    raise TypeError(f"not a statement of the loop IR: {stmt!r}")


def _pointer(pointer: Pointer) -> str:
    return f"&{_element(pointer.buffer, pointer.index, 1, None)}"


def _loops(stmt: For, indent: str) -> list[str]:
    """A nest of loops of one kind without anything between them, on one line."""
    heads, kind, body = [_loop_head(stmt)], stmt.kind, stmt.body
    while len(body) == 1 and isinstance(inner := body[0], For) and inner.kind is kind:
        heads.append(_loop_head(inner))
        body = inner.body
    return [f"{indent}{_LOOP_WORD[kind]} {', '.join(heads)}", *_block(body, indent + "  ")]


def _loop_head(stmt: For) -> str:
    return f"{_name(stmt.var.name)}:{print_expr(stmt.extent)}"


# ---------------------------------------------------------------- expressions


def print_expr(expr: Expr, level: int = 0) -> str:
    """The text of ``expr``, in parentheses where it binds less tightly than ``level``."""
    match expr:
        case Const():
            return _literal(expr)
        case Var(name):
            return _name(name)
        case Load(buffer, index, lanes, active):
            return _element(buffer, index, lanes, active)
        case Unary("neg", x):
            inner = f"({_literal(x)})" if isinstance(x, Const) else print_expr(x, UNARY)
            return _grouped(f"-{inner}", UNARY, level)
        case Binary(op) if op in INFIX:
            return _infix(expr, level)
        case Unary(op, x):
            return f"{op}({print_expr(x)})"
        case Binary(op, x, y):
            return f"{op}({_list((x, y))})"
        case Select(cond, x, y):
            return f"select({_list((cond, x, y))})"
        case Convert(type_, x):
            return f"convert<{type_}>({print_expr(x)})"
        case Bitcast(type_, x):
            return f"bitcast<{type_}>({print_expr(x)})"
        case Splat(x, lanes):
            return f"splat<{lanes}>({print_expr(x)})"
        case Lane(x, number):
            return f"lane<{number}>({print_expr(x)})"
        case Shuffle(x, y, picks):
            return f"shuffle<{', '.join(map(str, picks))}>({_list((x, y))})"
        case Reduce(op, x):
            return f"reduce_{op}({print_expr(x)})"
        case Call(function, args, type_):
            shown = "" if args and args[0].type == type_ else f":{type_}"
            return f"{_name(function)}{shown}({_list(args)})"
    raise TypeError(f"not an expression of the loop IR: {expr!r}")


def _infix(expr: Binary, level: int) -> str:
    """Arithmetic on ``index`` is set without spaces, so that addresses read as one."""
    symbol, own = INFIX[expr.op]
    lhs_level = own if own > INFIX["eq"][1] else own + 1
    lhs, rhs = print_expr(expr.x, lhs_level), print_expr(expr.y, own + 1)
    if isinstance(expr.y, Const) and expr.y.type == INDEX:
        if expr.op == "add" and expr.y.value < 0:
            symbol, rhs = "-", str(-expr.y.value)
        elif expr.op == "sub":
            rhs = f"({rhs})"
    space = "" if expr.op in ("add", "sub", "mul", "div", "mod") and expr.x.type == INDEX else " "
    return _grouped(f"{lhs}{space}{symbol}{space}{rhs}", own, level)


def _grouped(text: str, own: int, level: int) -> str:
    return f"({text})" if own < level <= ATOM else text


def _list(exprs: tuple[Expr, ...]) -> str:
    return ", ".join(print_expr(expr) for expr in exprs)


def _element(buffer: Buffer, index: tuple[Expr, ...], lanes: int, active: Expr | None) -> str:
    inside = _list(index)
    if lanes != 1 or active is not None:
        inside += f" : {lanes}"
    if active is not None:
        inside += f" active {print_expr(active)}"
    return f"{_name(buffer.name)}[{inside}]"


def _literal(const: Const) -> str:
    type_ = const.type
    if type_.dtype is DType.BOOL and type_.lanes == 1:
        return "true" if const.value else "false"
    if type_ == INDEX:
        return str(int(const.value))
    if not type_.dtype.is_float:
        return f"{int(const.value)}{type_}"
    value = float(const.value)
    return f"{value!r}{type_}" if math.isfinite(value) else f"{type_}({value!r})"


# ---------------------------------------------------------------- arrays


def content_summary(array: np.ndarray) -> str:
    """``dense<sha256:...>`` with the first 16 digits of the hash of the array's element type, shape and bytes."""
    digest = sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(bytes_of(array).data)
    return f"dense<sha256:{digest.hexdigest()[:16]}>"
