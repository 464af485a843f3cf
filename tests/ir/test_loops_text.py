"""Loop IR text: its look, round trips, and errors that say where and what."""

import math
from textwrap import dedent

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.ir import program as prog
from ccml.ir.build import load, store
from ccml.ir.loops import (
    BOOL,
    F32,
    I32,
    INDEX,
    Access,
    Alloc,
    Binary,
    Bitcast,
    Buffer,
    Call,
    Const,
    Convert,
    Expr,
    For,
    If,
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
    Store,
    Type,
    Unary,
    Var,
)
from ccml.ir.loops_rewrite import loop
from ccml.ir.loops_text import parse_kernel, print_expr, print_kernel
from ccml.ir.program_text import print_program
from ccml.ir.types import DType, TensorType
from hypothesis import given, settings
from hypothesis import strategies as st

F32X16 = Type(DType.F32, 16)
H, J = Var("i"), Var("j")
X = Buffer("x", F32, (4, 64), access=Access.READ)
Y = Buffer("y", F32, (64,), access=Access.WRITE)
ACC = Buffer("acc", F32X16, (2,), Space.REG)

CONVOLUTION = """\
kernel conv_0(x: f32[58,12,1] const align 64, w: f32[2,10,4,1,32] const, b: f32[64] const, y: f32[25,5,64] out)   @"c/2"
  parallel ob:2
    for oh:25
      reg acc: f32x16[5,2]
      unroll i:5, j:2
        acc[i, j] = b[ob*32+j*16 : 16]
      for kh:10, kw:4
        prefetch &w[ob+1, kh, kw, 0, 640]
        reg wv: f32x16[2]
        unroll j:2
          wv[j] = w[ob, kh, kw, 0, j*16 : 16]
        unroll i:5, j:2
          acc[i, j] = fma(splat<16>(x[oh*2+kh, i*2+kw, 0]), wv[j], acc[i, j])
      unroll i:5, j:2
        y[oh, i, ob*32+j*16 : 16] = max(acc[i, j], 0.0f32x16)
"""

EVERY_STATEMENT = """\
kernel "a kernel"(x: i8[] inout, y: u8[7] inout, "let": f64[7] out)
  stack t: f32[7] align 16
  t[3 : 4 active min(4, 7)] = 1.5f32x4
  for i:7
    rolled j:i+1
      if (i-4 >= 0) & (j != 2):
        pass
      else:
        let q: i32 = convert<i32>(t[i]) % 3i32
        y[i] = convert<u8>(q)
    if true:
      x[] = -128i8
    else:
      "let"[0] = f64(-inf)
"""


@pytest.mark.parametrize("text", [CONVOLUTION, EVERY_STATEMENT])
def test_printed_form_is_stable(text: str) -> None:
    assert print_kernel(parse_kernel(text)) == text


def test_parsed_kernel_is_the_tree_it_shows() -> None:
    text = """
        kernel k(x: f32[4,64] const, y: f32[64] out)   @"node"   # a comment
          for i:4, j:4
            y[j*16 : 16] = x[i, j*16 : 16 active 7]
    """
    body = loop(H, 4, *loop(J, 4, store(Y[J * 16], load(X, H, J * 16, lanes=16, active=Const(7, INDEX)))))
    assert parse_kernel(dedent(text)) == Kernel("k", (X, Y), body, "node")


def test_long_headers_list_one_parameter_a_line() -> None:
    params = tuple(Buffer(f"parameter_{n}", F32, (100, 100)) for n in range(8))
    kernel = Kernel("k", params, (), "loc")
    text = print_kernel(kernel)
    assert max(map(len, text.splitlines())) < 60
    assert parse_kernel(text) == kernel


B = Var("b", BOOL)
F, G = Var("f", F32), Var("g", F32)
N, M = Var("n", I32), Var("m", I32)

SPELLINGS: list[tuple[Expr, str]] = [
    (H + 3, "i+3"),
    (H - 3, "i-3"),
    (Binary("sub", H, Const(3, INDEX)), "i-(3)"),
    (Binary("sub", H, Const(-3, INDEX)), "i-(-3)"),
    (Binary("sub", H, Binary("mul", Const(3, INDEX), J)), "i-3*j"),
    ((H + J) * 2, "(i+j)*2"),
    (H + J * 2, "i+j*2"),
    (Binary("sub", H, Binary("sub", J, H)), "i-(j-i)"),
    (Binary("sub", Binary("sub", H, J), H), "i-j-i"),
    (H // 4, "floordiv(i, 4)"),
    (H * 8 // 4, "i*2"),
    (H * 8 % 4, "0"),
    (H * 6 // 4, "floordiv(i*6, 4)"),
    (H % 4, "floormod(i, 4)"),
    (Unary("neg", H), "-i"),
    (Unary("neg", Const(3, INDEX)), "-(3)"),
    (Unary("neg", Const(-2.0, F32)), "-(-2.0f32)"),
    (Unary("neg", Unary("neg", F)), "--f"),
    (Unary("neg", Binary("mul", F, G)), "-(f * g)"),
    (Binary("mul", Unary("neg", F), G), "-f * g"),
    (Binary("add", F, Const(-3.0, F32)), "f + -3.0f32"),
    (Binary("sub", F, Const(3.0, F32)), "f - 3.0f32"),
    (Binary("add", N, Const(-3, I32)), "n + -3i32"),
    (Binary("and", Binary("lt", N, M), Binary("ge", F, G)), "(n < m) & (f >= g)"),
    (Binary("lt", Binary("and", N, M), N), "n & m < n"),
    (Binary("eq", Binary("lt", N, M), B), "(n < m) == b"),
    (Binary("eq", B, Binary("lt", N, M)), "b == (n < m)"),
    (Binary("or", Binary("xor", N, M), Binary("and", N, M)), "n ^ m | n & m"),
    (Binary("shr", Binary("add", N, M), Binary("shl", N, M)), "n + m >> (n << m)"),
    (Binary("mod", Binary("div", N, M), N), "n / m % n"),
    (Select(B, F, G), "select(b, f, g)"),
    (Unary("not", B), "not(b)"),
    (Unary("abs", F), "abs(f)"),
    (Convert(F32, N), "convert<f32>(n)"),
    (Bitcast(I32, F), "bitcast<i32>(f)"),
    (Splat(F, 16), "splat<16>(f)"),
    (Lane(Splat(F, 16), 3), "lane<3>(splat<16>(f))"),
    (Shuffle(Splat(F, 2), Splat(F, 2), (3, 0)), "shuffle<3, 0>(splat<2>(f), splat<2>(f))"),
    (Reduce("add", Splat(F, 16)), "reduce_add(splat<16>(f))"),
    (Call("fma", (F, G, F), F32), "fma(f, g, f)"),
    (Call("dot", (N, M), F32), "dot:f32(n, m)"),
    (Call("zero", (), F32X16), "zero:f32x16()"),
    (Call("min", (F, G), F32), '"min"(f, g)'),
    (load(X, H, J, lanes=16), "x[i, j : 16]"),
    (load(X, H, J, lanes=16, active=H + 1), "x[i, j : 16 active i+1]"),
    (load(X, H, J, lanes=1, active=H), "x[i, j : 1 active i]"),
    (Const(1.5, F32), "1.5f32"),
    (Const(0.0, F32X16), "0.0f32x16"),
    (Const(1e-5, F32), "1e-05f32"),
    (Const(1e16, F32), "1e+16f32"),
    (Const(math.inf, F32), "f32(inf)"),
    (Const(-math.inf, F32X16), "f32x16(-inf)"),
    (Const(math.nan, F32), "f32(nan)"),
    (Const(-7, I32), "-7i32"),
    (Const(-7, INDEX), "-7"),
    (Const(2, Type(DType.INDEX, 4)), "2indexx4"),
    (Const(True, BOOL), "true"),
    (Const(False, Type(DType.BOOL, 4)), "0boolx4"),
    (Var("odd name", F32), '"odd name"'),
    (Var("splat", F32), '"splat"'),
    (Var("lane", F32), '"lane"'),
    (Var("i8", F32), '"i8"'),
]


@pytest.mark.parametrize(("expr", "text"), SPELLINGS, ids=[text for _, text in SPELLINGS])
def test_expression_prints_with_minimal_parentheses_and_parses_back(expr: Expr, text: str) -> None:
    assert print_expr(expr) == text
    assert _through_text(expr) == expr


def _through_text(expr: Expr) -> Expr:
    """``expr`` printed and parsed inside a kernel where everything that it may use is in scope."""
    lets = tuple(
        Let(var, Const(1.0 if var.type == F32 else 1, var.type))
        for var in (B, F, G, N, M, Var("odd name", F32), Var("splat", F32), Var("lane", F32), Var("i8", F32))
    )
    nest = For(H, Const(4, INDEX), (For(J, Const(4, INDEX), (*lets, Let(Var("result", expr.type), expr))),))
    parsed = parse_kernel(print_kernel(Kernel("k", (X, Y), (nest,))))
    return parsed.body[0].body[0].body[-1].value  # type: ignore[attr-defined]


# ---------------------------------------------------------------- generated kernels

TYPES = [INDEX, F32, I32, BOOL, F32X16, Type(DType.U8), Type(DType.F16, 4), Type(DType.BOOL, 16)]
NAMES = st.sampled_from(["i", "x", "let", "in put", "a.b", "_", "f32", "min", "true", 'q"q', "é"])


def _literals(type_: Type) -> st.SearchStrategy[Expr]:
    if type_.dtype.is_float:
        values: st.SearchStrategy[object] = st.floats(allow_nan=False)
    elif type_.dtype is DType.BOOL:
        values = st.booleans()
    else:
        values = st.integers(0 if not type_.dtype.is_signed else -100, 100)
    return values.map(lambda value: Const(value, type_))  # type: ignore[arg-type]


@st.composite
def expressions(draw: st.DrawFn, type_: Type, names: dict[str, Var | Buffer], depth: int = 3) -> Expr:
    """A well-typed expression over ``names``."""

    def sub(of: Type) -> Expr:
        return draw(expressions(of, names, depth - 1))

    leaves: list[Expr] = [item for item in names.values() if isinstance(item, Var) and item.type == type_]
    form = draw(st.integers(0, 9)) if depth else 0
    if form == 0 or (form == 9 and type_ == INDEX):
        return draw(st.one_of(_literals(type_), *(st.just(leaf) for leaf in leaves)))
    if form == 1 and type_.dtype is not DType.BOOL:
        op = draw(st.sampled_from(["add", "sub", "mul", "div", "min", "max"]))
        return Binary(op, sub(type_), sub(type_))
    if form == 2 and not type_.dtype.is_float:
        return Binary(draw(st.sampled_from(["and", "or", "xor"])), sub(type_), sub(type_))
    if form == 3:
        return Unary("not" if type_.dtype is DType.BOOL else "neg", sub(type_))
    if form == 4:
        return Select(sub(Type(DType.BOOL, type_.lanes)), sub(type_), sub(type_))
    if form == 5:
        return Convert(type_, sub(draw(st.sampled_from(TYPES)).with_lanes(type_.lanes)))
    if form == 6:
        args = draw(st.lists(st.sampled_from(TYPES), max_size=3))
        return Call(draw(NAMES), tuple(sub(arg) for arg in args), type_)
    if form == 7 and type_.dtype is DType.BOOL:
        of = draw(st.sampled_from([F32, INDEX, I32])).with_lanes(type_.lanes)
        return Binary(draw(st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])), sub(of), sub(of))
    if form == 8 and type_.lanes == 1:
        return Reduce(draw(st.sampled_from(["add", "max"])), sub(type_.with_lanes(16)))
    buffers = [b for b in names.values() if isinstance(b, Buffer) and b.dtype is type_.dtype and b.type.lanes == 1]
    if buffers:
        buffer = draw(st.sampled_from(buffers))
        active = sub(INDEX) if draw(st.booleans()) else None
        return Load(buffer, tuple(sub(INDEX) for _ in buffer.shape), type_.lanes, active)
    return Splat(sub(type_.with_lanes(1)), type_.lanes) if type_.lanes > 1 else draw(_literals(type_))


@st.composite
def blocks(draw: st.DrawFn, names: dict[str, Var | Buffer], depth: int = 3) -> tuple:
    """Statements over ``names``; bindings may shadow each other."""
    names, stmts = dict(names), []
    for _ in range(draw(st.integers(0, 3))):
        form = draw(st.sampled_from(["for", "if", "let", "alloc", "store", "prefetch"] if depth else ["let", "store"]))
        if form == "for":
            var, extent = Var(draw(NAMES)), draw(expressions(INDEX, names))
            body = draw(blocks({**names, var.name: var}, depth - 1))
            stmts.append(For(var, extent, body, draw(st.sampled_from(LoopKind))))
        elif form == "if":
            cond = draw(expressions(BOOL, names))
            stmts.append(If(cond, draw(blocks(names, depth - 1)), draw(blocks(names, depth - 1))))
        elif form == "let":
            var = Var(draw(NAMES), draw(st.sampled_from(TYPES)))
            stmts.append(Let(var, draw(expressions(var.type, names))))
            names[var.name] = var
        elif form == "alloc":
            buffer = Buffer(draw(NAMES), F32, (4, 4), draw(st.sampled_from([Space.STACK, Space.REG])), align=16)
            stmts.append(Alloc(buffer))
            names[buffer.name] = buffer
        elif buffers := [item for item in names.values() if isinstance(item, Buffer)]:
            buffer = draw(st.sampled_from(buffers))
            index = tuple(draw(expressions(INDEX, names)) for _ in buffer.shape)
            if form == "prefetch":
                stmts.append(Prefetch(Pointer(buffer, index)))
                continue
            active = draw(st.none() | expressions(INDEX, names))
            stmts.append(Store(buffer, index, draw(expressions(draw(st.sampled_from(TYPES)), names)), active))
    return tuple(stmts)


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    types = st.sampled_from([F32, I32, BOOL])
    params = [
        Buffer("p", draw(types), (4, 5), access=Access.READ),
        Buffer("q q", draw(types), (7,), access=Access.WRITE, align=64),
        Buffer("r", draw(types), ()),
    ]
    body = draw(blocks({param.name: param for param in params}))
    return Kernel(draw(NAMES), tuple(params), body, draw(st.text(max_size=5)))


@settings(max_examples=120, deadline=None)
@given(kernels())
def test_any_kernel_survives_its_text(kernel: Kernel) -> None:
    parsed = parse_kernel(print_kernel(kernel))
    assert parsed == kernel
    assert repr(parsed) == repr(kernel)  # tells -0.0 from 0.0


# ---------------------------------------------------------------- errors

ERRORS = [
    ("", "line 1: expected 'kernel', found the end of the text"),
    ("kernel k(x: f32[4]\n", "line 2: expected ',', found the end of the text"),
    ("kernel k(x: f33[4])\n  pass", "line 1: expected a type such as f32 or i8x16, found f33"),
    ("kernel k()\nfor i:4", "line 2: expected an indented block, found for"),
    ("kernel k()\n  for i:4\n  pass", "line 3: expected an indented block, found pass"),
    ("kernel k()\n    for i:4\n      pass\n   pass", "line 4: expected an indentation of 0 spaces, found 3"),
    ("kernel k()\n  let t: f32 = u", "line 2: expected a variable in scope, found 'u'"),
    ("kernel k()\n  y[0] = 1.0f32", "line 2: expected a buffer in scope, found 'y'"),
    ("kernel k(y: f32[4])\n  y[0 : 4] = 1.0f32", "line 2: expected a value of 4 lanes, found f32"),
    ("kernel k()\n  let t: index = 1.5", "line 2: expected an integer of type index, found 1.5"),
    ("kernel k()\n  let t: f32 = 1.5g", "line 2: expected a type behind 1.5, found 'g'"),
    ("kernel k()\n  let t: f32 = min(1.5f32)", "line 2: expected 2 arguments, found 1"),
    ("kernel k()\n  let t: f32 = zero()", "line 2: expected a type for zero() without arguments, as in zero:f32()"),
    ("kernel k()\n  let t: bool = 1 < 2 < 3", "line 2: expected the end of the line, found <"),
    ("kernel k()\n  let t: index = (1", "line 2: expected ')', found the end of the block"),
    ("kernel k()\n  let t: index = +", "line 2: expected an expression, found +"),
    ("kernel k()\n  let t: index = for", "line 2: expected an expression, found for"),
    ("kernel k()\n  3", "line 2: expected a statement, found 3"),
    ("kernel k()\n  let t: index = $", "line 2: expected a name, number, string or operator, found '$'"),
    ('kernel k()   @"\\x"\n  pass', 'line 1: expected a string with JSON\'s escapes, found "\\x"'),
]


@pytest.mark.parametrize(("text", "reason"), ERRORS, ids=[reason for _, reason in ERRORS])
def test_syntax_error_names_the_line_and_what_was_expected(text: str, reason: str) -> None:
    with pytest.raises(CcmlError) as caught:
        parse_kernel(text)
    assert caught.value.kind is ErrorCode.IR_SYNTAX
    assert caught.value.reason == reason


# ---------------------------------------------------------------- programs


def test_program_shows_places_calls_and_kernels() -> None:
    kernel = parse_kernel("kernel double(x: f32[4] const, y: f32[4] out)\n  for i:4\n    y[i] = x[i] + x[i]\n")
    decl = {
        "in": prog.BufferDecl("in", DType.F32, (4,), prog.Storage.INPUT),
        "mid": prog.BufferDecl("mid", DType.F32, (4,), prog.Storage.ARENA),
        "w": prog.BufferDecl("w", DType.F32, (4,), prog.Storage.CONSTANT),
        "out": prog.BufferDecl("out", DType.F32, (4,), prog.Storage.OUTPUT),
    }
    program = prog.Program(
        name="demo",
        target="generic",
        inputs=(prog.Interface("x", "x:0", TensorType(DType.F32, (1, 4)), "in"),),
        outputs=(prog.Interface("y", "y:0", TensorType(DType.F32, (1, 4)), "out"),),
        buffers=decl,
        constants={"w": np.zeros(4, np.float32)},
        kernels=(kernel,),
        body=(prog.Call("double", ("in", "mid"), "Add_0", 4), prog.Call("double", ("mid", "out"))),
        plan=prog.MemoryPlan((prog.Pool("arena", {"mid": 32}, 48, 16),)),
        taps={"relu:0": "mid"},
    )
    lines = print_program(program).splitlines()
    assert lines[0] == "program demo for generic"
    assert '  input x: f32[1,4] in in   "x:0"' in lines
    assert "  arena 48 bytes, aligned to 16" in lines
    assert "  buffer mid: f32[4] arena+32   # 16 bytes" in lines
    assert any(line.startswith("  buffer w: f32[4] const dense<sha256:") for line in lines)
    assert '  call double(in, mid)   4 macs   @"Add_0"' in lines
    assert '  tap "relu:0" = mid' in lines
    assert "    y[i] = x[i] + x[i]" in lines


def test_buffers_are_indexed_as_in_the_text() -> None:
    x, i, j = Buffer("x", F32, (8, 4)), Var("i"), Var("j")
    assert print_expr(x[i * 2 + 1, j] * x[0, j]) == "x[i*2+1, j] * x[0, j]"
    assert print_expr(Buffer("acc", F32, (3,))[i]) == "acc[i]"
    with pytest.raises(TypeError):
        list(x)  # type: ignore[call-overload]
