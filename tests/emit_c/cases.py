"""Kernels that together use every operation on every type that C has to print, with hard operands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from ccml.instructions import INSTRUCTIONS
from ccml.ir.build import load, store
from ccml.ir.loops import (
    INDEX,
    Access,
    Binary,
    Bitcast,
    Buffer,
    Call,
    Const,
    Convert,
    Expr,
    For,
    Kernel,
    Lane,
    Load,
    Reduce,
    Select,
    Splat,
    Stmt,
    Type,
    Unary,
    Var,
)
from ccml.ir.types import DType

from tests.emit_c.harness import Arrays, Case

COUNT = 256
I = Var("i")  # noqa: E741
NATIVE = [Type(dtype, lanes) for dtype in (DType.F32, DType.I32, DType.U32) for lanes in (4, 8, 16)]
OTHER = [
    Type(DType.F64, 4), Type(DType.F16, 8), Type(DType.I64, 4), Type(DType.U64, 2),
    Type(DType.U8, 32), Type(DType.F32, 2),
]  # fmt: skip
IN_MEMORY = [dtype for dtype in DType if dtype is not DType.INDEX and dtype.stored is dtype]
SCALARS = [Type(dtype) for dtype in IN_MEMORY if dtype is not DType.BOOL]
NARROW = [
    Type(DType.I8, 4), Type(DType.U8, 8), Type(DType.I8, 16), Type(DType.U16, 4), Type(DType.I16, 8),
    Type(DType.I16, 16),
]  # fmt: skip
NUMBERS = [*SCALARS, *NATIVE, *NARROW, *OTHER]


def all_cases() -> list[Case]:
    return [
        *(arithmetic(type_) for type_ in NUMBERS),
        *(masks(lanes) for lanes in (1, 2, 4, 8, 16)),
        *(conversions(dtype, 1) for dtype in IN_MEMORY),
        *(conversions(dtype, 4) for dtype in (DType.F32, DType.I32, DType.U32, DType.BOOL, DType.I8, DType.F64)),
        *(conversions(dtype, 8) for dtype in (DType.I32, DType.I8, DType.U16)),
        *(conversions(dtype, 16) for dtype in (DType.F32, DType.I32, DType.U8, DType.I16)),
        *(dots(lanes) for lanes in (1, 2, 4, 8, 16)),
        halfword_products(),
        *(lane_factors(type_) for type_ in (Type(DType.F32, 4), Type(DType.I32, 4))),
        *bitcasts(),
        *(partial(type_) for type_ in (*NUMBERS, Type(DType.BOOL), Type(DType.BOOL, 8))),
        *(literals(dtype) for dtype in IN_MEMORY),
        wrapping_trees(),
        index_arithmetic(),
    ]


# ---------------------------------------------------------------- operands


def hard_values(dtype: DType) -> np.ndarray:
    """The ends of the range, ties, denormal numbers, both zeros, infinities and NaN."""
    if dtype is DType.BOOL:
        return np.array([False, True])
    if not dtype.is_float:
        info = np.iinfo(dtype.numpy)
        some = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.max // 2 + 1, info.min, info.min + 1]
        some += [-1, -2, -7] if dtype.is_signed else []
        return np.array(some, dtype.numpy)
    info = np.finfo(dtype.numpy)
    positive = [0.0, 1.0, 0.5, 1.5, 2.5, 0.49999997, 3.0, 1e3, float(info.max), float(info.tiny)]
    positive += [float(info.smallest_subnormal), 2.0**info.nmant - 0.5, 2.0**info.nmant + 1, 1 / 3, np.inf]
    return np.array([*positive, *(-value for value in positive), np.nan], dtype.numpy)


def operands(dtype: DType, seed: int, count: int = COUNT) -> np.ndarray:
    """Hard values against hard values, then random bits."""
    rng = np.random.default_rng(seed)
    hard = hard_values(dtype)
    if dtype is DType.BOOL:
        return rng.integers(0, 2, count).astype(bool)
    values = rng.integers(0, 256, count * dtype.size, dtype=np.uint8).view(dtype.numpy)
    half = count // 2
    values[:half] = rng.permutation(np.resize(hard, half)) if seed else np.resize(hard, half)
    return values


def divisors(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``y`` without the divisors that integers do not have."""
    if x.dtype.kind == "f":
        return y
    bad = y == 0
    if x.dtype.kind == "i":
        bad |= (x == np.iinfo(x.dtype).min) & (y == -1)
    return np.where(bad, np.array(3, y.dtype), y)


# ---------------------------------------------------------------- arithmetic


def arithmetic(type_: Type) -> Case:
    """Every operation of ``type_``, a row of the output each; comparisons and reductions have their own."""
    dtype, lanes = type_.dtype, type_.lanes
    x, y, z = (operands(dtype, seed) for seed in (0, 1, 2))
    arrays: Arrays = {"x": x, "y": y, "z": z, "d": divisors(x, y)}
    names = ["x", "y", "z", "d"]
    if not dtype.is_float:
        names.append("s")
        arrays["s"] = (np.arange(COUNT) % (8 * dtype.size)).astype(dtype.numpy)
    inputs = {name: _input(name, dtype) for name in names}
    values = {name: load(inputs[name], I * lanes, lanes=lanes) for name in names}
    rows = list(_operations(values, type_))
    compared = [Binary(op, values["x"], values["y"]) for op in ("eq", "ne", "lt", "le", "gt", "ge")]
    reduced = [Reduce(op, values["x"]) for op in ("add", "mul", "min", "max")] if lanes > 1 else []
    out, mask = _output("out", dtype, len(rows)), _output("mask", DType.BOOL, 6)
    reduction = Buffer("red", Type(dtype), (4, COUNT // lanes), access=Access.WRITE)
    body: list[Stmt] = [store(out[row, I * lanes], value) for row, value in enumerate(rows)]
    body += [store(mask[row, I * lanes], value) for row, value in enumerate(compared)]
    body += [store(reduction[row, I], value) for row, value in enumerate(reduced)]
    outputs = [out, mask, *([reduction] if reduced else [])]
    return _case(f"arithmetic_{type_}", inputs, arrays, outputs, body, lanes)


def _operations(v: dict[str, Load], type_: Type) -> Iterator[Expr]:
    for op in ("add", "sub", "mul", "min", "max"):
        yield Binary(op, v["x"], v["y"])
    yield Binary("div", v["x"], v["d"])
    for op in ("neg", "abs"):
        yield Unary(op, v["x"])
    yield Select(Binary("lt", v["x"], v["y"]), v["z"], v["x"])
    if type_.dtype.is_float:
        for name, row in INSTRUCTIONS.items():
            if set(row.operands) == {None}:
                yield Call(name, tuple(v[arg] for arg in "xyz"[: len(row.operands)]), type_)
        return
    yield Unary("not", v["x"])
    yield Binary("mod", v["x"], v["d"])
    for op in ("and", "or", "xor"):
        yield Binary(op, v["x"], v["y"])
    for op in ("shl", "shr"):
        yield Binary(op, v["x"], v["s"])


def masks(lanes: int) -> Case:
    inputs = {name: _input(name, DType.BOOL) for name in "xyz"}
    arrays = {name: operands(DType.BOOL, seed) for seed, name in enumerate("xyz")}
    x, y, z = (load(inputs[name], I * lanes, lanes=lanes) for name in "xyz")
    type_ = Type(DType.BOOL, lanes)
    rows = [Binary(op, x, y) for op in ("and", "or", "xor", "eq", "ne")]
    rows += [Unary("not", x), Select(x, y, z), Const(True, type_), Binary("and", Unary("not", x), Binary("or", y, z))]
    out = _output("out", DType.BOOL, len(rows))
    body: list[Stmt] = [store(out[row, I * lanes], value) for row, value in enumerate(rows)]
    return _case(f"masks_{lanes}", inputs, arrays, [out], body, lanes)


def dots(lanes: int) -> Case:
    """The rows of the instruction table on packed integers."""
    names = [name for name, row in INSTRUCTIONS.items() if name.startswith("dot") and row.result is DType.I32]
    inputs = {name: _input(name, DType.I32) for name in "xyz"}
    arrays = {name: operands(DType.I32, seed) for seed, name in enumerate("xyz")}
    values = tuple(load(inputs[name], I * lanes, lanes=lanes) for name in "xyz")
    out = _output("out", DType.I32, len(names))
    rows = [Call(name, values, Type(DType.I32, lanes)) for name in names]
    body: list[Stmt] = [store(out[row, I * lanes], value) for row, value in enumerate(rows)]
    return _case(f"dots_{lanes}", inputs, arrays, [out], body, lanes)


def halfword_products() -> Case:
    """Products of halfwords added to words, by vectors and by each lane of a vector."""
    inputs = {name: _input(name, dtype) for name, dtype in (("x", DType.I16), ("w", DType.I16), ("acc", DType.I32))}
    arrays = {name: operands(buffer.dtype, seed) for seed, (name, buffer) in enumerate(inputs.items())}
    out4, out8 = (_output(f"out{lanes}", DType.I32, 9) for lanes in (4, 8))
    x = load(inputs["x"], I * 8, lanes=8)
    factors = [x, *(Splat(Lane(x, number), 8) for number in range(8))]
    body = [
        store(out8[row, I * 8], _widened_product(load(inputs["acc"], I * 8, lanes=8), factor, inputs["w"], I * 8))
        for row, factor in enumerate(factors)
    ]
    for start in (I * 8, I * 8 + 4):
        halves = [load(inputs["x"], start, lanes=4), *(Splat(Lane(x, number), 4) for number in range(8))]
        acc = load(inputs["acc"], start, lanes=4)
        sums = [_widened_product(acc, factor, inputs["w"], start) for factor in halves]
        body += [store(out4[row, start], sum_) for row, sum_ in enumerate(sums)]
    return _case("halfword_products", inputs, arrays, [out4, out8], body, 8)


def _widened_product(acc: Expr, factor: Expr, weights: Buffer, start: Expr) -> Expr:
    w = load(weights, start, lanes=acc.type.lanes)
    return acc + Convert(acc.type, factor) * Convert(acc.type, w)


def lane_factors(type_: Type) -> Case:
    """Multiply-adds, or dot products, whose factor is each lane of a vector."""
    inputs = {name: _input(name, type_.dtype) for name in "xyz"}
    arrays = {name: operands(type_.dtype, seed) for seed, name in enumerate("xyz")}
    x, y, z = (load(inputs[name], I * 4, lanes=4) for name in "xyz")
    out = _output("out", type_.dtype, 4)
    body: list[Stmt] = []
    for number in range(4):
        factor = Splat(Lane(x, number), 4)
        value = Call("fma", (factor, y, z), type_) if type_.dtype.is_float else Call("dot4_i8i8", (z, factor, y), type_)
        body.append(store(out[number, I * 4], value))
    return _case(f"lane_factors_{type_}", inputs, arrays, [out], body, 4)


# ---------------------------------------------------------------- conversions


def conversions(source: DType, lanes: int) -> Case:
    """To every type; where floats become integers, from values that fit."""
    arrays: Arrays = {"x": operands(source, 0)}
    targets = [dtype for dtype in IN_MEMORY if dtype is not source]
    inputs, outputs, body = {"x": _input("x", source)}, [], []
    for target in targets:
        name = "x"
        if source.is_float and target.is_integer:
            name = f"x_{target.value}"
            inputs[name] = _input(name, source)
            arrays[name] = _fitting(source, target)
        out = _output(f"to_{target.value}", target, 1)
        outputs.append(out)
        value = Convert(Type(target, lanes), load(inputs[name], I * lanes, lanes=lanes))
        body.append(store(out[0, I * lanes], value))
    return _case(f"conversions_{source.value}x{lanes}", inputs, arrays, outputs, body, lanes)


def _fitting(source: DType, target: DType) -> np.ndarray:
    """Floats whose integral part ``target`` holds, in a type that holds the bounds."""
    info = np.iinfo(target.numpy)
    low, high = max(info.min, -60000), min(info.max, 60000)
    values = np.random.default_rng(3).uniform(low, high, COUNT).astype(source.numpy)
    return np.clip(values, low, high - 64 if high == 60000 else high).astype(source.numpy)


def bitcasts() -> Iterator[Case]:
    pairs = [
        ("f32", "i32", 1), ("i32", "f32", 1), ("f32", "u32", 1), ("u32", "f32", 1), ("f64", "i64", 1),
        ("u64", "f64", 1), ("i32", "u32", 1), ("u16", "f16", 1), ("f32", "i32", 4), ("u32", "f32", 8),
        ("i32", "u32", 16), ("i32", "i8", 4), ("i8", "u16", 16), ("f32", "u8", 1),
    ]  # fmt: skip
    for old, new, lanes in pairs:
        source, target = DType(old), DType(new)
        new_lanes = lanes * source.size // target.size
        x = _input("x", source)
        out = Buffer("out", Type(target), (COUNT * source.size // target.size,), access=Access.WRITE)
        value = Bitcast(Type(target, new_lanes), load(x, I * lanes, lanes=lanes))
        body: list[Stmt] = [store(out[I * new_lanes], value)]
        yield _case(f"bitcast_{old}_{new}", {"x": x}, {"x": operands(source, 0)}, [out], body, lanes)


# ---------------------------------------------------------------- memory, literals, trees


def partial(type_: Type) -> Case:
    """0 to ``lanes`` lanes loaded and stored at the very end of the arrays."""
    lanes = type_.lanes
    source = operands(type_.dtype, 0, lanes)
    inputs = {f"x{n}": Buffer(f"x{n}", Type(type_.dtype), (n,), access=Access.READ) for n in range(1, lanes + 1)}
    arrays = {f"x{n}": source[lanes - n :].copy() for n in range(1, lanes + 1)}
    loaded = Buffer("loaded", Type(type_.dtype), (lanes, lanes), access=Access.WRITE)
    body: list[Stmt] = []
    outputs = [loaded]
    for n in range(1, lanes + 1):
        tail = Buffer(f"tail{n}", Type(type_.dtype), (n,), access=Access.READ_WRITE)
        outputs.append(tail)
        value = load(inputs[f"x{n}"], 0, lanes=lanes, active=Const(n, INDEX))
        body.append(store(loaded[n - 1, 0], value))
        body.append(store(tail[0], value, active=Const(n, INDEX)))
        body.append(store(tail[0], value, active=Const(0, INDEX)))
    arrays |= {out.name: np.zeros(out.shape, type_.dtype.numpy) for out in outputs}
    return Case(Kernel(f"partial_{type_}", (*inputs.values(), *outputs), tuple(body)), arrays)


def literals(dtype: DType) -> Case:
    values = [dtype.numpy.type(value).item() for value in hard_values(dtype)]
    values += [dtype.numpy.type(value).item() for value in (0.1, 1e-7, 12345.6)] if dtype.is_float else []
    if dtype is DType.F16:
        values = [value for value in values if abs(value) <= 65504 or value != value or np.isinf(value)]
    out = Buffer("out", Type(dtype), (len(values),), access=Access.WRITE)
    body = tuple(store(out[n], Const(value, Type(dtype))) for n, value in enumerate(values))
    return Case(Kernel(f"literals_{dtype.value}", (out,), body), {"out": np.zeros(len(values), dtype.numpy)})


def wrapping_trees() -> Case:
    """Nested integer arithmetic that overflows at every step, through every width."""
    integers = [type_ for type_ in SCALARS if type_.dtype.is_integer]
    inputs = {f"{name}_{type_}": _input(f"{name}_{type_}", type_.dtype) for type_ in integers for name in "xy"}
    arrays = {name: operands(buffer.dtype, name.startswith("y")) for name, buffer in inputs.items()}
    outputs, body = [], []
    for type_ in integers:
        x, y = (load(inputs[f"{name}_{type_}"], I) for name in "xy")
        shifted = Binary("shl", x * y + Const(3, type_), Const(2, type_))
        mixed = Binary("xor", shifted, Unary("not", y)) - Unary("neg", x) * Const(77, type_)
        wide = Convert(Type(DType.I32), x) * Convert(Type(DType.I32), y) + Convert(Type(DType.I32), mixed)
        least = Const(int(np.iinfo(type_.dtype.numpy).min), type_)
        narrow = Convert(type_, wide)
        rows = [mixed, narrow, Binary("shr", mixed, Const(3, type_)), mixed - least, Binary("max", x, mixed)]
        out = _output(f"out_{type_}", type_.dtype, len(rows))
        outputs.append(out)
        body += [store(out[row, I], value) for row, value in enumerate(rows)]
    return _case("wrapping_trees", inputs, arrays, outputs, body, 1)


def index_arithmetic() -> Case:
    out = Buffer("out", Type(DType.I64), (17, 7, 9), access=Access.WRITE)
    i, j = Var("i"), Var("j")
    a, b = i - 8, j - 3
    divisor = Select(Binary("eq", b, Const(0, INDEX)), Const(5, INDEX), b)
    rows = [
        a // divisor, a % divisor, Binary("div", a, divisor), Binary("mod", a, divisor), Binary("min", a, b),
        Binary("max", a * 3, b), Unary("abs", a), Unary("neg", a), (i * 2 + 4) * 3 - (j + 5) * 2 + 3000000000,
    ]  # fmt: skip
    stores = tuple(store(out[i, j, n], Convert(Type(DType.I64), row)) for n, row in enumerate(rows))
    body = For(i, Const(17, INDEX), (For(j, Const(7, INDEX), stores),))
    return Case(Kernel("index", (out,), (body,)), {"out": np.zeros(out.shape, np.int64)})


# ---------------------------------------------------------------- plumbing


def _input(name: str, dtype: DType) -> Buffer:
    return Buffer(name, Type(dtype), (COUNT,), access=Access.READ)


def _output(name: str, dtype: DType, rows: int) -> Buffer:
    return Buffer(name, Type(dtype), (rows, COUNT), access=Access.WRITE)


def _case(
    name: str, inputs: dict[str, Buffer], arrays: Arrays, outputs: list[Buffer], body: list[Stmt], lanes: int
) -> Case:
    arrays = arrays | {out.name: np.zeros(out.shape, out.dtype.numpy) for out in outputs}
    loop = For(I, Const(COUNT // lanes, INDEX), tuple(body))
    return Case(Kernel(name, (*inputs.values(), *outputs), (loop,)), arrays)
