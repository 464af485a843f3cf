"""What integer kernels are made of, in C: the bits of NumPy by every instruction set, compiler and optimization."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from ccml.emit_c.artifact import write_c
from ccml.emulation import build_and_run
from ccml.ir.loops_text import parse_kernel
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.machines import GENERIC, machine_id, runs_here
from tests.emit_c.harness import (
    WARNINGS,
    Arrays,
    Case,
    assert_same_bits,
    compile_c,
    compile_cases,
    kernels_source,
    run_cases,
)
from tests.schedule.graphs import random_inputs
from tests.schedule.test_generators import INTEGER_CONVS
from tests.tools import needs

COUNT = 64
LANES = (4, 8, 16)
NARROW = ("i8", "u8", "i16")
LEVELS = [select("x86", cpu=f"x86-64-{level}") for level in ("v2", "v3", "v3-vnni", "v4", "v4-vnni")]
ON_LEVELS = [pytest.param(machine, marks=runs_here(machine), id=machine_id(machine)) for machine in LEVELS]
COMPILERS = [pytest.param(name, marks=needs(name)) for name in ("gcc", "clang")]

Expected = tuple[Case, Arrays]


# ---------------------------------------------------------------- kernels, and what NumPy makes of them


def bits(dtype: str, seed: int, count: int = COUNT) -> np.ndarray:
    """The ends of the range against each other, then random bits."""
    info = np.iinfo(DType(dtype).numpy)
    values = np.random.default_rng(seed).integers(info.min, info.max, count, info.dtype, endpoint=True)
    ends = np.array([info.min, info.max, info.min + 1, 0], info.dtype)
    values[:16] = np.tile(ends, 4) if seed % 2 else np.repeat(ends, 4)
    return values


def expect(text: str, given: Arrays, results: Arrays) -> Expected:
    """A kernel with its inputs, and outputs full of zeros before."""
    empty = {name: np.zeros_like(array) for name, array in results.items()}
    return Case(parse_kernel(dedent(text)), given | empty), results


def conversions(narrow: str, lanes: int) -> Expected:
    """Loads that widen, stores that keep the low bits."""
    text = f"""
    kernel conversions_{narrow}_{lanes}(x: {narrow}[64] const, w: i32[64] const, ints: i32[64] out, floats: f32[64] out,
        low: {narrow}[64] out)
      for b:{COUNT // lanes}
        ints[b*{lanes} : {lanes}] = convert<i32x{lanes}>(x[b*{lanes} : {lanes}])
        floats[b*{lanes} : {lanes}] = convert<f32x{lanes}>(x[b*{lanes} : {lanes}])
        low[b*{lanes} : {lanes}] = convert<{narrow}x{lanes}>(w[b*{lanes} : {lanes}])
    """
    x, w = bits(narrow, 1), bits("i32", 2)
    return expect(text, {"x": x, "w": w}, {"ints": x.astype("i4"), "floats": x.astype("f4"), "low": w.astype(x.dtype)})


def partial(narrow: str, lanes: int) -> Expected:
    """The first ``n`` lanes for every ``n`` (as a variable) and for 3 (as a constant), plus one; low bits of words."""
    text = f"""
    kernel partial_{narrow}_{lanes}(x: {narrow}[{lanes + 1},{lanes}] const, w: i32[{lanes + 1},{lanes}] const,
        some: {narrow}[{lanes + 1},{lanes}] out, low: {narrow}[{lanes + 1},{lanes}] out,
        three: i32[{lanes + 1},{lanes}] out)
      for n:{lanes + 1}
        some[n, 0 : {lanes} active n] = x[n, 0 : {lanes} active n] + 1{narrow}x{lanes}
        low[n, 0 : {lanes} active n] = convert<{narrow}x{lanes}>(w[n, 0 : {lanes}])
        three[n, 0 : {lanes}] = convert<i32x{lanes}>(x[n, 0 : {lanes} active 3])
    """
    x, w = (bits(dtype, 3, (lanes + 1) * lanes).reshape(lanes + 1, lanes) for dtype in (narrow, "i32"))
    within = np.tri(lanes + 1, lanes, -1, dtype=bool)
    one = np.ones((), x.dtype)
    three = np.where(np.arange(lanes) < 3, x, 0).astype("i4")
    results = {"some": np.where(within, x + one, 0 * one), "low": np.where(within, w.astype(x.dtype), 0 * one)}
    return expect(text, {"x": x, "w": w}, {**results, "three": three})


def words(narrow: str) -> Expected:
    """Neighbours read as one 32-bit integer, as dot products take them; the missing ones are zero."""
    group = 4 // DType(narrow).size
    text = f"""
    kernel words_{narrow}(x: {narrow}[64] const, full: i32[16] out, part: i32[16] out)
      for b:{COUNT // group}
        full[b] = bitcast<i32>(x[b*{group} : {group}])
        part[b] = bitcast<i32>(x[b*{group} : {group} active {group - 1}])
    """.replace("[16]", f"[{COUNT // group}]")
    x = bits(narrow, 1)
    part = x.copy()
    part[group - 1 :: group] = 0
    return expect(text, {"x": x}, {"full": x.view("i4"), "part": part.view("i4")})


def dots(lanes: int) -> Expected:
    """The rows of the instruction table on packed words, wrapping around."""
    at, kind = (f"b*{lanes} : {lanes}", f"i32x{lanes}") if lanes > 1 else ("b", "i32")
    forms = {"dot4_u8i8": ("u1", "i1"), "dot4_i8i8": ("i1", "i1"), "dot2_i16i16": ("i2", "i2")}
    stores = [f"{name}[{at}] = {name}:{kind}(acc[{at}], x[{at}], w[{at}])" for name in forms]
    outputs = ", ".join(f"{name}: i32[64] out" for name in forms)
    text = f"kernel dots_{lanes}(acc: i32[64] const, x: i32[64] const, w: i32[64] const, {outputs})\n"
    text += f"  for b:{COUNT // lanes}\n" + "".join(f"    {store}\n" for store in stores)
    acc, x, w = bits("i32", 1), packed(2), packed(3)
    results = {}
    for name, (x_part, w_part) in forms.items():
        products = x.view(x_part).astype("i8") * w.view(w_part).astype("i8")
        results[name] = (acc + products.reshape(COUNT, -1).sum(axis=1)).astype("i4")
    return expect(text, {"acc": acc, "x": x, "w": w}, results)


def bytes_apart(lanes: int) -> Expected:
    """Bytes at even and at odd places of words as halfwords, signed and unsigned."""
    at, kind = (f"b*{lanes} : {lanes}", f"i32x{lanes}") if lanes > 1 else ("b", "i32")
    forms = {"even_bytes": ("u1", 0), "odd_bytes": ("u1", 1), "widen_even": ("i1", 0), "widen_odd": ("i1", 1)}
    stores = [f"{name}[{at}] = {name}:{kind}(x[{at}])" for name in forms]
    text = f"kernel apart_{lanes}(x: i32[64] const, {', '.join(f'{name}: i32[64] out' for name in forms)})\n"
    text += f"  for b:{COUNT // lanes}\n" + "".join(f"    {store}\n" for store in stores)
    x = packed(4)
    parts = {name: x.view(part).reshape(COUNT, 4)[:, first::2] for name, (part, first) in forms.items()}
    results = {name: np.ascontiguousarray(part.astype("i2")).view("i4").reshape(COUNT) for name, part in parts.items()}
    return expect(text, {"x": x}, results)


def matrices() -> Expected:
    """Products of 2 x 8 by 8 x 2 bytes, wrapping around, and halves of vectors."""
    text = """
    kernel matrices(acc: i32[64] const, x: i32[64] const, w: i32[64] const, product: i32[64] out, lower: i32[64] out,
        upper: i32[64] out)
      for b:16
        product[b*4 : 4] = mmla_i8i8:i32x4(acc[b*4 : 4], x[b*4 : 4], w[b*4 : 4])
        lower[b*4 : 4] = lower_halves:i32x4(x[b*4 : 4], w[b*4 : 4])
        upper[b*4 : 4] = upper_halves:i32x4(x[b*4 : 4], w[b*4 : 4])
    """
    acc, x, w = bits("i32", 1), packed(2), packed(3)
    rows, columns = (part.view("i1").astype("i8").reshape(-1, 2, 8) for part in (x, w))
    product = acc + np.einsum("bik,bjk->bij", rows, columns).reshape(-1)
    pairs = [part.reshape(-1, 2, 2) for part in (x, w)]
    halves = [np.concatenate([part[:, half] for part in pairs], axis=1).reshape(-1) for half in (0, 1)]
    results = {"product": product.astype("i4"), "lower": halves[0], "upper": halves[1]}
    return expect(text, {"acc": acc, "x": x, "w": w}, results)


def picked() -> Expected:
    """Words of two vectors by numbers whose upper bits do not count, and tables of bytes and halfwords as words."""
    text = """
    kernel picked(number: i32[64] const, x: i32[64] const, bytes: u8[64] const, halves: i16[64] const, y: i32[64] out,
        words: i32[16] out, pairs: i32[32] out)
      for b:2
        y[b*16 : 16] = pick_words:i32x16(number[b*16 : 16], x[b*16 : 16], x[b*16 + 32 : 16])
        pairs[b*16 : 16] = bitcast<i32x16>(halves[b*32 : 32])
      words[0 : 16] = bitcast<i32x16>(bytes[0 : 64])
    """
    number, x, small, halves = bits("i32", 1), bits("i32", 2), bits("u8", 3), bits("i16", 4)
    y = np.zeros_like(x)
    for b in (0, 16):
        both = np.concatenate([x[b : b + 16], x[b + 32 : b + 48]])
        y[b : b + 16] = both[number[b : b + 16] & 31]
    results = {"y": y, "words": small.view("i4"), "pairs": halves.view("i4")}
    return expect(text, {"number": number, "x": x, "bytes": small, "halves": halves}, results)


def picked_bytes() -> Expected:
    """Bytes of four vectors, or what is there where the number is 64 or more."""
    table = ", ".join(f"table[{at} : 4]" for at in range(0, 16, 4))
    text = f"""
    kernel picked_bytes(x: i32[64] const, number: i32[64] const, table: i32[16] const, y: i32[64] out)
      for b:16
        y[b*4 : 4] = pick_bytes:i32x4(x[b*4 : 4], number[b*4 : 4], {table})
    """
    x, table_words, numbers = bits("i32", 1), bits("i32", 2)[:16], np.arange(256, dtype="u1")
    y = x.view("u1").copy()
    for place in range(64):
        y[place] = table_words.view("u1")[place]
    given = {"x": x, "number": numbers.view("i4"), "table": table_words}
    return expect(text, given, {"y": y.view("i4")})


def packed(seed: int) -> np.ndarray:
    """Words that are extreme as bytes and as halfwords."""
    words_of = np.concatenate([bits("i16", seed), bits("i8", seed).view("i2"), bits("i16", seed + 2)[:32]])
    return words_of.view("i4")[:COUNT]


def requantize(narrow: str, lanes: int) -> Expected:
    """Scaled by channel, rounded to even, clamped, stored in 8 or 16 bits; accumulators meet ties and both ends."""
    low, high = np.iinfo(DType(narrow).numpy).min, np.iinfo(DType(narrow).numpy).max
    at, many = (f"b*{lanes} : {lanes}", f"x{lanes}") if lanes > 1 else ("b", "")
    text = f"""
    kernel requantize_{narrow}_{lanes}(acc: i32[64] const, scale: f32[64] const, y: {narrow}[64] out)
      for b:{COUNT // lanes}
        let scaled: f32{many} = convert<f32{many}>(acc[{at}]) * scale[{at}]
        let kept: f32{many} = min(max(round_even(scaled), {low - 3}.0f32{many}), {high - 3}.0f32{many})
        y[{at}] = convert<{narrow}{many}>(convert<i32{many}>(kept) + 3i32{many})
    """
    acc = np.arange(-COUNT // 2, COUNT // 2, dtype="i4") * (high + 7)
    acc[:4] = [np.iinfo("i4").min, np.iinfo("i4").max, 5, -5]
    scale = np.full(COUNT, 0.0625, "f4")
    scale[2:4] = 0.5
    scaled = np.rint(acc.astype("f4") * scale)
    y = (np.clip(scaled, low - 3, high - 3).astype("i4") + 3).astype(DType(narrow).numpy)
    return expect(text, {"acc": acc, "scale": scale}, {"y": y})


def saturated(narrow: str, lanes: int) -> Expected:
    """Words clamped to the ends of a byte, or to one of them and a number within, as bytes."""
    low, high = np.iinfo(DType(narrow).numpy).min, np.iinfo(DType(narrow).numpy).max
    at, kind = f"b*{lanes} : {lanes}", f"i32x{lanes}"
    text = f"""
    kernel saturated_{narrow}_{lanes}(x: i32[64] const, whole: {narrow}[64] out, part: {narrow}[64] out)
      for b:{COUNT // lanes}
        whole[{at}] = convert<{narrow}x{lanes}>(min(max(x[{at}], {low}{kind}), {high}{kind}))
        part[{at}] = convert<{narrow}x{lanes}>(min(max(x[{at}], {low + 5}{kind}), {high}{kind}))
    """
    x = np.concatenate([bits("i32", 1)[:32], np.arange(-9, 7, dtype="i4") * 40, np.arange(-8, 8, dtype="i4") * 8191])
    results = {name: np.clip(x, least, high).astype(DType(narrow).numpy) for name, least in
               (("whole", low), ("part", low + 5))}  # fmt: skip
    return expect(text, {"x": x}, results)


def integers(lanes: int) -> Expected:
    """Minimum and maximum of 32 bits, and the upper words of products."""
    text = f"""
    kernel integers_{lanes}(x: i32[64] const, w: i32[64] const, least: i32[64] out, greatest: i32[64] out,
        high: i32[64] out)
      for b:{COUNT // lanes}
        least[b*{lanes} : {lanes}] = min(x[b*{lanes} : {lanes}], w[b*{lanes} : {lanes}])
        greatest[b*{lanes} : {lanes}] = max(x[b*{lanes} : {lanes}], w[b*{lanes} : {lanes}])
        high[b*{lanes} : {lanes}] = mul_high:i32x{lanes}(x[b*{lanes} : {lanes}], w[b*{lanes} : {lanes}])
    """
    x, w = bits("i32", 1), bits("i32", 2)
    high = (x.astype("i8") * w.astype("i8") >> 32).astype("i4")
    return expect(text, {"x": x, "w": w}, {"least": np.minimum(x, w), "greatest": np.maximum(x, w), "high": high})


def everything() -> Iterator[Expected]:
    for lanes in LANES:
        for narrow in NARROW:
            yield conversions(narrow, lanes)
            yield partial(narrow, lanes)
            yield requantize(narrow, lanes)
        yield from (saturated(narrow, lanes) for narrow in ("i8", "u8"))
        yield dots(lanes)
        yield bytes_apart(lanes)
        yield integers(lanes)
    yield from (words(narrow) for narrow in NARROW)
    yield dots(1)
    yield bytes_apart(1)
    yield matrices()
    yield picked()
    yield picked_bytes()
    yield requantize("i8", 1)


ALL = list(everything())


def check(folder: Path, *command: str, runner: tuple[str, ...] = ()) -> None:
    cases = [case for case, _ in ALL]
    found = run_cases(cases, compile_cases(cases, folder, list(command)), runner)
    for (case, want), got in zip(ALL, found, strict=True):
        assert_same_bits(got, want, case.kernel.name)


# ---------------------------------------------------------------- tests


def test_numpy_and_the_interpreter_agree() -> None:
    for case, want in ALL:
        assert_same_bits(case.expected(), want, case.kernel.name)


@pytest.mark.parametrize("level", ["-O0", "-O3"])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("machine", ON_LEVELS)
def test_machine_instructions(machine: Machine, compiler: str, level: str, tmp_path: Path) -> None:
    check(tmp_path, compiler, level, *machine.cpu.c_flags)


@pytest.mark.parametrize("level", ["-O0", "-O3"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_portable_form(compiler: str, level: str, tmp_path: Path) -> None:
    check(tmp_path, compiler, level, "-DCCML_PORTABLE=1")


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("march", ["armv8-a", "armv8.2-a+dotprod", "armv8.2-a+dotprod+i8mm"])
def test_neon_of_arm64(march: str, tmp_path: Path) -> None:
    check(tmp_path, "aarch64-linux-gnu-gcc", "-O3", f"-march={march}", "-static", runner=("qemu-aarch64",))


@needs("arm-linux-gnueabihf-gcc", "qemu-arm")
def test_neon_and_smlad_of_arm32(tmp_path: Path) -> None:
    flags = ("-O3", "-march=armv7-a", "-mfpu=neon-vfpv4", "-mthumb", "-static")
    check(tmp_path, "arm-linux-gnueabihf-gcc", *flags, runner=("qemu-arm",))


def assembly(kernel: Case, core: str, folder: Path) -> str:
    """What GCC makes of it for a Cortex-M."""
    header, code = kernels_source([kernel.kernel])
    (folder / "runtime.h").write_text(header)
    (folder / "code.c").write_text(code.replace("static void kernel_0", "void kernel_0(); void kernel_0"))
    flags = ["-O2", *select(core).cpu.c_flags, "-ffreestanding", "-S", "-o", str(folder / "code.s")]
    compile_c(["arm-none-eabi-gcc", *WARNINGS, *flags, str(folder / "code.c")])
    return (folder / "code.s").read_text()


@needs("arm-none-eabi-gcc")
@pytest.mark.parametrize(("core", "has_smlad"), [("cortex-m4", True), ("cortex-m0plus", False)])
def test_pairs_on_cortex_m(core: str, has_smlad: bool, tmp_path: Path) -> None:
    assert ("smlad" in assembly(dots(1)[0], core, tmp_path)) == has_smlad


@needs("arm-none-eabi-gcc")
@pytest.mark.parametrize("narrow", NARROW)
def test_low_bits_are_stored_as_they_are_by_helium(narrow: str, tmp_path: Path) -> None:
    """Without the sign above them, as words have it that are bytes or halfwords."""
    assert "vmovlb" not in assembly(conversions(narrow, 4)[0], "cortex-m55", tmp_path)


# ---------------------------------------------------------------- whole kernels


def machine_or_name(value: Machine | str) -> str:
    return value if isinstance(value, str) else machine_id(value)


@pytest.mark.check
@pytest.mark.parametrize(
    ("machine", "compiler"),
    [
        pytest.param(machine, compiler, marks=[needs(compiler), runs_here(machine)])
        for machine, compiler in zip((*LEVELS, GENERIC), ("clang", "gcc", "gcc", "clang", "gcc", "gcc"), strict=True)
    ],
    ids=machine_or_name,
)
def test_convolutions(machine: Machine, compiler: str, tmp_path: Path) -> None:
    """All as one library, without a warning."""
    programs = [
        replace(lower_graph(graph, machine), name=f"conv{number}")
        for number, graph in enumerate(INTEGER_CONVS.values())
    ]
    for program in programs:
        write_c(program, machine, tmp_path)
    sources = map(str, sorted(tmp_path.glob("*.c")))
    flags = ["-O3", *machine.cpu.c_flags, "-fPIC", "-shared", "-o", str(tmp_path / "convs.so")]
    compile_c([compiler, *WARNINGS, *flags, *sources])
    library = ctypes.CDLL(str(tmp_path / "convs.so"))
    for program, (name, graph) in zip(programs, INTEGER_CONVS.items(), strict=True):
        inputs = random_inputs(graph)
        expected = evaluate_graph(graph, inputs)[graph.outputs[0].name]
        actual = np.zeros_like(expected)
        arena = np.zeros(program.plan.pools[0].size + 64, np.uint8)
        pointers = (arena[-arena.ctypes.data % 64 :], inputs["x"], actual)
        run = getattr(library, f"{program.name}_run")
        assert run(*(ctypes.c_void_p(array.ctypes.data) for array in pointers)) == 0
        np.testing.assert_array_equal(actual, expected, name)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus"])
def test_convolutions_on_cortex_m(core: str, tmp_path: Path) -> None:
    run_emulated(select(core), ["k that fills no group", "depthwise, odd channels", "halfwords"], tmp_path)


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
def test_convolutions_by_dot_products_of_neon(tmp_path: Path) -> None:
    machine = select("linux-arm64", cpu="armv8.2-a-dotprod")
    run_emulated(machine, ["plain 3x3", "k that fills no group", "depthwise, odd channels"], tmp_path)


def run_emulated(machine: Machine, names: list[str], folder: Path) -> None:
    compiler = f"{machine.abi.cross_compile}gcc"
    flags = ["-O3", *machine.cpu.c_flags, *machine.target.c_flags, "-ffp-contract=off"]
    for number, name in enumerate(names):
        graph = INTEGER_CONVS[name]
        program = replace(lower_graph(graph, machine), name=f"conv{number}")
        objects = []
        for source in (path for path in write_c(program, machine, folder) if path.suffix == ".c"):
            objects.append(source.with_suffix(".o"))
            compile_c([compiler, *WARNINGS, *flags, "-c", str(source), "-o", str(objects[-1])])
        inputs = random_inputs(graph)
        (outputs,) = build_and_run(program, machine, objects, [inputs], include=folder)
        expected = evaluate_graph(graph, inputs)
        np.testing.assert_array_equal(outputs[graph.outputs[0].name], expected[graph.outputs[0].name], name)
