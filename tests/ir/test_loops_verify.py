"""Each invariant of a kernel, kept and broken; and what the bounds analysis can prove."""

import random
from dataclasses import replace
from textwrap import dedent, indent

import numpy as np
import pytest
from ccml.blocks import BLOCKS
from ccml.errors import CcmlError, ErrorCode
from ccml.instructions import INSTRUCTIONS, Instruction
from ccml.ir.interpret import UndefinedBehaviourError, run_kernel
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
    For,
    If,
    Kernel,
    Let,
    Load,
    Reduce,
    Select,
    Space,
    Splat,
    Stmt,
    Store,
    Type,
    Unary,
    Var,
)
from ccml.ir.loops_text import parse_kernel
from ccml.ir.loops_verify import verify_kernel
from ccml.ir.types import DType

HEADER = (
    "kernel k(x: f32[4,64] const, n: i32[8] const, a: i8[16] const, h: f16[8] const, p: f32[8] const, "
    "y: f32[4,64] out, z: f32[8] inout, s: f32[] out)\n"
)


def kernel_of(body: str):
    return parse_kernel(HEADER + indent(dedent(body).strip("\n"), "  ") + "\n")


def complaint(kernel: Kernel, scheduled: bool = False) -> str:
    with pytest.raises(CcmlError) as caught:
        verify_kernel(kernel, scheduled, instructions=INSTRUCTIONS, blocks=BLOCKS)
    assert caught.value.kind is ErrorCode.IR_INVALID
    assert caught.value.loc == kernel.name
    return caught.value.reason


# ---------------------------------------------------------------- kept

KEPT = {
    "sibling loops share a name": """
        for i:4
          z[i] = 0.0f32
        for i:8
          z[i] = 0.0f32
    """,
    "registers, vectors and a call": """
        reg acc: f32x16[2]
        for i:4
          unroll j:2
            acc[j] = x[i, j*16 : 16]
            acc[j] = fma(acc[j], splat<16>(p[0]), acc[j])
            y[i, j*16+32 : 16] = acc[j]
    """,
    "a masked tail": """
        for i:4, j:5
          y[i, min(j*16, 64) : 16 active max(0, min(16, 64-j*16))] = x[i, min(j*16, 48) : 16]
    """,
    "a tail over a tile": """
        for jb:3
          for j:min(3, 8-jb*3)
            z[jb*3+j] = p[jb*3+j]
    """,
    "a triangle": """
        for i:8
          for j:8-i
            z[i+j] = p[7-j-i]
    """,
    "borders by conditions": """
        for oh:25, kh:10
          let ih: index = oh*2+kh-4
          if (ih >= 0) & (ih < 8):
            z[ih] = p[ih]
    """,
    "a border by a named condition, negated": """
        for i:10
          let outside: bool = (i < 1) | (i >= 9)
          if not(outside):
            z[i-1] = p[i-1]
          else:
            z[0] = p[0]
    """,
    "clamps": """
        for i:20
          z[min(max(i-6, 0), 7)] = p[select(i < 8, i, 0)]
    """,
    "split indices": """
        for f:256
          y[floordiv(f, 64), floormod(f, 64)] = x[floormod(f, 4), floordiv(f, 4)]
    """,
    "a fused index put together again": """
        for f:8
          z[floordiv(f, 3)*3+floormod(f, 3)] = p[f]
    """,
    "a gather": """
        for i:8
          z[i] = p[convert<index>(n[i])] + p[convert<index>(n[i])+1]
    """,
    "a gather with clamps": """
        for i:8
          z[i] = p[max(0, min(convert<index>(n[i]), 7))]
    """,
    "borders that unrolling has decided": """
        if (-4 >= 0) & (0 < 8):
          z[-4] = p[-4]
        for i:2
          if i >= 2:
            z[i+8] = p[i+8]
        if true:
          pass
        else:
          z[8] = p[8]
    """,
    "a scalar buffer": "s[] = p[0]",
    "an empty loop": """
        for i:0
          z[i] = p[i]
    """,
    "integers, bits and lanes": """
        let b: i32x4 = bitcast<i32x4>(a[0 : 16])
        let t: i32 = reduce_add(b & 7i32x4 | b << 3i32x4) % 5i32
        let c: boolx4 = (b < splat<4>(t)) ^ (b == b)
        let v: f32x4 = select(c, convert<f32x4>(b), p[4 : 4])
        if not(t < 3i32):
          z[0] = -reduce_max(abs(v)) + convert<f32>(t != 1i32)
    """,
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT.keys())
def test_accepted(body: str) -> None:
    verify_kernel(kernel_of(body), instructions=INSTRUCTIONS)


# ---------------------------------------------------------------- broken, as text

BROKEN = [
    ("for i:4\n  for i:4\n    z[i] = 0.0f32", "L1: 'i' is bound already"),
    ("let z: f32 = 0.0f32", "L1: 'z' is bound already"),
    ("let t: f32 = 0.0f32\nlet t: f32 = 0.0f32", "L1: 't' is bound already"),
    ("stack t: f32x4[2]", "L3: buffer 't' in stack memory has elements f32x4"),
    ("stack t: index[2]", "L3: buffer 't' holds index values"),
    ("stack t: f32[-2]", "L3: buffer 't' has the shape [-2]"),
    ("stack t: f32[2] align 12", "L3: buffer 't' is aligned to 12"),
    ("z[0] = p[0] + n[0]", "L4: add of f32 and i32"),
    ("z[0] = p[0] & p[1]", "L4: and of f32"),
    ("z[0] = p[0] % p[1]", "L4: mod of f32"),
    ("let t: i32 = floordiv(n[0], n[1])", "L4: floordiv of i32"),
    ("let t: bool = true + true", "L4: add of bool"),
    ("let t: bool = true < false", "L4: lt of bool"),
    ("let t: bool = -true", "L4: neg of bool"),
    ("let t: f32 = not(p[0])", "L4: not of f32"),
    ("let t: i32 = n[0] << 32i32", "L4: shl of i32 by 32"),
    ("let t: f32 = select(p[0] < p[1], p[0], 1i32)", "L4: select of f32 or i32"),
    ("let t: f32x4 = select(true, p[0 : 4], p[4 : 4])", "L4: select of f32x4 by bool"),
    ("let t: f32x4 = convert<f32x4>(n[0])", "L4: convert of i32 to f32x4"),
    ("let t: i32 = bitcast<i32>(a[0 : 2])", "L4: bitcast of i8x2 to i32"),
    ("let t: index = bitcast<index>(a[0 : 8])", "L4: bitcast of i8x8 to index"),
    ("let t: f32x4 = splat<4>(p[0 : 2])", "L4: splat of f32x2 to 4 lanes"),
    ("let t: f32 = lane<4>(p[0 : 4])", "L4: lane 4 of f32x4"),
    ("let t: f32 = lane<0>(p[0])", "L4: lane 0 of f32"),
    ("let t: f32x4 = shuffle<0, 4, 1, 8>(p[0 : 4], p[0 : 4])", "L4: shuffle of f32x4 by (0, 4, 1, 8)"),
    ("let t: f32x4 = shuffle<0, 4>(p[0 : 4], p[0 : 4])", "L4: shuffle of f32x4 by (0, 4)"),
    ("let t: f32 = shuffle<0>(p[0], p[0])", "L4: shuffle of f32 and f32; it takes two vectors of numbers"),
    ("let t: f32 = reduce_add(p[0 : 3])", "L4: reduce_add of f32x3"),
    ("let t: i32 = p[0]", "L4: 't' has type i32, its value f32"),
    ("if n[0]:\n  pass", "L4: the condition has type i32"),
    ("for i:n[0]\n  pass", "L4: 'i' has type index, its extent i32"),
    ("let t: i8 = 200i8", "L5: 200 (int) is not a literal of type i8"),
    ("let t: u8 = -1u8", "L5: -1 (int) is not a literal of type u8"),
    ("let t: f32 = 1e+39f32", "L5: 1e+39 (float) is not a literal of type f32"),
    ("z[0] = sine(p[0])", "L6: there is no instruction 'sine'"),
    ("z[0] = fma(p[0], p[1])", "L6: fma(f32, f32) of type f32; it takes 3 operands"),
    ("z[0] = sqrt:f32(h[0])", "L6: sqrt(f16) of type f32; it takes one common floating type"),
    ("let t: i32 = sqrt(n[0])", "L6: sqrt(i32) of type i32; it takes one common floating type"),
    ("let t: f32 = sqrt:f32(p[0 : 4])", "L6: sqrt(f32x4) of type f32; lanes differ"),
    ("z[0] = x[0]", "L7: 1 indices for 2 dimensions"),
    ("prefetch &x[0]", "L7: 1 indices for 2 dimensions"),
    ("reg r: f32[2]\nprefetch &r[0]", "L13: 'r' is reg, which has no address"),
    ("z[0] = p[n[0]]", "L7: indices of types i32"),
    ("z[0] = n[0]", "L7: a value of type i32 in 'z' of f32"),
    ("s[ : 2] = p[0 : 2]", "L7: 2 lanes of a buffer without dimensions"),
    ("reg r: f32x4[2]\nr[0] = p[0]", "L7: a value of type f32 in 'r' of f32x4"),
    ("reg r: f32x4[2]\nlet t: f32x4 = r[0 : 4]", "L7: 4 lanes; a reg buffer is read by whole elements"),
    ("reg r: f32x4[2]\nr[0 : 4 active 2] = p[0 : 4]", "L7: an access to a reg buffer is masked"),
    ("z[8] = p[0]", "L8: dimension 0 of 'z' has 8 elements, accessed are 8..8"),
    ("z[0] = p[-1]", "L8: dimension 0 of 'p' has 8 elements, accessed are -1..-1"),
    ("for i:9\n  z[i] = 0.0f32", "L8: dimension 0 of 'z' has 8 elements, accessed are 0..8"),
    ("for i:2\n  z[i*4+1 : 4] = p[0 : 4]", "L8: dimension 0 of 'z' has 8 elements, accessed are 1..8"),
    ("for i:3\n  z[i*3 : 3 active min(3, 9-i*3)] = p[0 : 3]", "L8: dimension 0 of 'z' has 8 elements, accessed are 0"),
    ("for i:8\n  if i > 1:\n    z[i-3] = p[0]", "L8: dimension 0 of 'z' has 8 elements, accessed are -1..4"),
    ("z[min(convert<index>(n[0]), 8)] = p[0]", "L8: dimension 0 of 'z' has 8 elements, accessed are -inf..8"),
    ("for i:8\n  for j:9-i\n    z[i+j] = p[0]", "L8: dimension 0 of 'z' has 8 elements, accessed are 0..8"),
    ("for i:8\n  z[floordiv(i*3, 2)] = p[0]", "L8: dimension 0 of 'z' has 8 elements, accessed are 0..10"),
    ("for i:8, j:8\n  z[i*j] = p[0]", "L8: dimension 0 of 'z' has 8 elements, accessed are 0..49"),
    ("z[0 : 4 active n[0]] = p[0 : 4]", "L9: active has type i32"),
    ("z[0 : 4 active 5] = p[0 : 4]", "L9: active may be 5..5 of 4 lanes"),
    ("for i:3\n  z[0 : 4 active i-1] = p[0 : 4]", "L9: active may be -1..1 of 4 lanes"),
    ("p[0] = 0.0f32", "L10: 'p' is const"),
    ("stack t: f32[4]\nparallel i:4\n  t[i] = 0.0f32", "L11: 't' is allocated outside of the parallel loop"),
    ("reg r: f32[4]\nparallel i:4\n  for j:2\n    r[0] = 0.0f32", "L11: 'r' is allocated outside"),
]


@pytest.mark.parametrize(("body", "reason"), BROKEN, ids=[f"{reason} | {body}" for body, reason in BROKEN])
def test_broken_invariant_is_named(body: str, reason: str) -> None:
    assert complaint(kernel_of(body)).startswith(reason)


def test_complaint_quotes_the_place() -> None:
    assert complaint(kernel_of("for i:9\n  z[i] = p[0]")).endswith("in `z[i] = p[0]`")
    assert complaint(kernel_of("z[0] = p[9]")).endswith("in `p[9]`")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("unroll i:4\n  z[i] = 0.0f32", "L12: an unroll loop is left"),
        ("reg r: f32[4]\nfor i:4\n  r[i] = 0.0f32", "L12: an index of a reg buffer is not constant"),
        ("reg r: f32[4]\nfor i:4\n  z[i] = r[i]", "L12: an index of a reg buffer is not constant"),
    ],
)
def test_scheduled_kernels_have_no_unroll_loops_and_constant_registers(body: str, reason: str) -> None:
    kernel = kernel_of(body)
    verify_kernel(kernel, instructions=INSTRUCTIONS)
    assert complaint(kernel, scheduled=True).startswith(reason)


def test_scheduled_kernels_have_no_empty_loops() -> None:
    empty = Kernel("k", (), (For(Var("i"), Const(4, INDEX), ()),))
    verify_kernel(empty, instructions=INSTRUCTIONS)
    assert complaint(empty, scheduled=True).startswith("L12: a loop has no body")


# ---------------------------------------------------------------- broken, beyond what text can say

P = Buffer("p", F32, (8,))
T = Var("t", F32)
ZERO, ONE = Const(0, INDEX), Const(1.0, F32)

BROKEN_TREES: list[tuple[str, Stmt, str]] = [
    ("empty name", Let(Var("", F32), ONE), "L1: a name is empty"),
    ("unbound variable", Let(T, Var("u", F32)), "L2: 'u' is not in scope"),
    ("unbound buffer", Store(Buffer("q", F32, (8,)), (ZERO,), ONE), "L2: 'q' is not in scope"),
    ("other shape", Store(Buffer("p", F32, (9,)), (ZERO,), ONE), "L2: 'p' is used as"),
    ("variable that ended", If(Const(True, BOOL), (Let(T, ONE),), (Store(P, (ZERO,), T),)), "L2: 't' is not in scope"),
    ("global alloc", Alloc(Buffer("q", F32, (8,))), "L3: buffer 'q' cannot be global here"),
    ("float loop", For(Var("i", F32), ZERO, ()), "L4: 'i' has type f32"),
    ("not a statement", P, "L4: Buffer("),  # type: ignore[list-item]
    ("unary operator", Let(T, Unary("sin", ONE)), "L4: there is no unary operator 'sin'"),
    ("binary operator", Let(T, Binary("pow", ONE, ONE)), "L4: there is no binary operator 'pow'"),
    ("reduction", Let(T, Reduce("xor", ONE)), "L4: there is no reduction 'xor'"),
    ("int as a float", Let(T, Const(1, F32)), "L5: 1 (int)"),
    ("NumPy float", Let(T, Const(np.float32(1), F32)), "L5: np.float32(1.0) (float32)"),  # type: ignore[arg-type]
    ("float as an index", Store(P, (Const(1.0, INDEX),), ONE), "L5: 1.0 (float)"),
    ("number as a bool", If(Const(2, BOOL), ()), "L5: 2 (int)"),
    ("no lanes", Let(T, Load(P, (ZERO,), 0)), "L7: 0 lanes"),
    ("no lanes of a literal", Let(T, Const(1.0, Type(DType.F32, 0))), "L4: f32x0 has no lanes"),
    ("splat to nothing", Let(T, Splat(ONE, 0)), "L4: splat of f32 to 0 lanes"),
    ("bits of a bool", Let(T, Bitcast(F32, Const(True, BOOL))), "L4: bitcast of bool to f32"),
    ("convert in a select", Let(T, Select(Convert(BOOL, ONE), ONE, Const(1, I32))), "L4: select of f32 or i32"),
    ("call result", Let(T, Call("sqrt", (ONE,), I32)), "L6: sqrt(f32) of type i32"),
]


@pytest.mark.parametrize(
    ("stmt", "reason"), [row[1:] for row in BROKEN_TREES], ids=[row[0] for row in BROKEN_TREES]
)
def test_broken_tree(stmt: Stmt, reason: str) -> None:
    assert complaint(Kernel("k", (P,), (stmt,))).startswith(reason)


def test_parameters_are_global_and_unique() -> None:
    local = Buffer("p", F32, (8,), Space.STACK)
    assert complaint(Kernel("k", (local,), ())).startswith("L3: buffer 'p' cannot be stack")
    assert complaint(Kernel("k", (P, Buffer("p", I32, (1,), access=Access.READ)), ())) == "L1: 'p' is bound already"


def test_scalars_of_a_kernel() -> None:
    """How long parameters are is not known before a call, but what is known of their elements and of locals is."""
    text = "kernel k(x: i8[{}] const, y: i32[4] out, n: {})\n  for i:n\n    {}\n"
    good = "invoke spread(&x[i*n], &y[0], &y[1], n)"
    verify_kernel(parse_kernel(text.format(1, "index", good)), instructions=INSTRUCTIONS, blocks=BLOCKS)
    assert complaint(parse_kernel(text.format("2,2", "index", good))).startswith("L14: 'x' has 2 dimensions")
    assert complaint(parse_kernel(text.format(1, "index", "x[i] = 0i8"))).startswith("L10: 'x' is const")
    assert complaint(parse_kernel(text.format(1, "index", good.replace("n)", "n+x[i])")))).startswith("L4: add of")
    kernel = parse_kernel(text.format(1, "index", good))
    assert complaint(replace(kernel, scalars=(Var("n", I32),))).startswith("L14: scalar 'n' has type i32")
    assert complaint(replace(kernel, scalars=())).startswith("L2: 'n' is not in scope")


def test_instructions_of_a_target_are_given_as_a_table() -> None:
    table = {"dot": Instruction("dot", (DType.I8, DType.I8), DType.I32, lambda a, b: a)}
    verify_kernel(kernel_of("let t: i32 = dot:i32(a[0], a[1])"), instructions=table)
    with pytest.raises(CcmlError, match="L6: dot\\(i8, i32\\) of type i32; it takes i8, not i32"):
        verify_kernel(kernel_of("let t: i32 = dot:i32(a[0], n[1])"), instructions=table)


# ---------------------------------------------------------------- the analysis against execution


def _random_index(rng: random.Random, names: list[str], depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([*names, str(rng.randint(-4, 9))])
    x, y = (_random_index(rng, names, depth - 1) for _ in range(2))
    return rng.choice(
        [
            f"({x}) + ({y})", f"({x}) - ({y})", f"({x})*{rng.randint(-3, 3)}", f"({x})*({y})", f"min({x}, {y})",
            f"max({x}, {y})", f"floordiv({x}, {rng.randint(1, 4)})", f"floormod({x}, {rng.randint(1, 4)})",
            f"select({x} < {y}, {x}, {y})", f"-({x})",
        ]
    )  # fmt: skip


def _random_kernel(rng: random.Random) -> Kernel:
    """A store at a random index under random conditions in a loop nest with dependent extents."""

    def small() -> str:
        return _random_index(rng, ["i", "j"], 1)

    conds = [f"({small()} {rng.choice(['<', '<=', '>', '>=', '=='])} {small()})" for _ in range(rng.randint(1, 2))]
    return parse_kernel(
        "kernel k(y: u8[6] out)\n"
        f"  for i:{rng.randint(1, 5)}, j:{_random_index(rng, ['i'], 1)}\n"
        f"    let t: index = {small()}\n"
        f"    if {' & '.join(conds)}:\n"
        f"      y[{_random_index(rng, ['i', 'j', 't'], 2)}] = 1u8\n"
    )


def test_what_is_accepted_never_leaves_its_buffer() -> None:
    rng, accepted = random.Random(7), 0
    for _ in range(2000):
        kernel = _random_kernel(rng)
        try:
            verify_kernel(kernel, instructions=INSTRUCTIONS)
        except CcmlError:
            continue
        accepted += 1
        try:
            run_kernel(kernel, {"y": np.zeros(6, np.uint8)})
        except UndefinedBehaviourError as error:
            pytest.fail(f"accepted, but {error}\n{kernel}")
    assert accepted > 200


def test_bounds_are_tight_for_affine_indices() -> None:
    for extents in ((3, 4, 5), (1, 7, 2)):
        body = "".join(f"{'  ' * d}for v{d}:{extent}\n" for d, extent in enumerate(extents, start=1))
        body += "        stop[v1*2-v2+v3*3+10] = 1u8\n"
        values = [
            a * 2 - b + c * 3 + 10 for a in range(extents[0]) for b in range(extents[1]) for c in range(extents[2])
        ]
        text = f"kernel k(stop: u8[%d] out)\n{body}"
        verify_kernel(parse_kernel(text % (max(values) + 1)), instructions=INSTRUCTIONS)
        reason = complaint(parse_kernel(text % max(values)))
        assert f"accessed are {min(values)}..{max(values)}" in reason


def test_a_place_that_is_prefetched_may_lie_outside() -> None:
    """It is no access: nothing happens there."""
    kernel = kernel_of("for i:4\n  prefetch &x[i+1, i*64+640]")
    verify_kernel(kernel, scheduled=True, instructions=INSTRUCTIONS, blocks=BLOCKS)
    given = {param.name: np.ones(param.shape, param.dtype.numpy) for param in kernel.params}
    before = {name: array.copy() for name, array in given.items()}
    run_kernel(kernel, given, instructions=INSTRUCTIONS)
    for name, array in given.items():
        np.testing.assert_array_equal(array, before[name])
