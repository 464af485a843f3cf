"""Vectors of 64-bit integers in C: the bits of NumPy by every instruction set, compiler and optimization."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ccml.ir.types import DType
from ccml.targets import Machine

from tests.emit_c.harness import assert_same_bits, compile_cases, run_cases
from tests.emit_c.test_integer_vectors import COMPILERS, COUNT, LANES, ON_LEVELS, Expected, bits, expect
from tests.tools import needs

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
SHIFTS = np.array([0, 1, 31, 32, 33, 62, 63, 7] * (COUNT // 8))


def arithmetic(long: str, lanes: int) -> Expected:
    """What wraps around, shifts by constants, by scalars and lane by lane, and the order of numbers of either sign."""
    at, many = f"b*{lanes} : {lanes}", f"{long}x{lanes}"
    forms = {
        "sums": "x[{at}] + y[{at}] - 5{many}",
        "products": "x[{at}] * y[{at}]",
        "masked": "x[{at}] & y[{at}] | not(x[{at}]) ^ 77{many}",
        "left": "x[{at}] << n[{at}]",
        "right": "x[{at}] >> n[{at}]",
        "down": "x[{at}] >> 40{many}",
        "same": "x[{at}] >> splat<{lanes}>(n[3])",
        "least": "min(x[{at}], y[{at}])",
        "greatest": "max(x[{at}], y[{at}])",
        "chosen": "select(x[{at}] < y[{at}], x[{at}], n[{at}])",
        "equal": "select(x[{at}] == y[{at}], abs(x[{at}]), -y[{at}])",
    }
    outputs = ", ".join(f"{name}: {long}[64] out" for name in forms)
    text = f"kernel arithmetic_{long}_{lanes}(x: {long}[64] const, y: {long}[64] const, n: {long}[64] const, {outputs},"
    text += f" total: {long}[64] out)\n  for b:{COUNT // lanes}\n"
    for name, form in forms.items():
        text += f"    {name}[{at}] = {form.format(at=at, many=many, lanes=lanes)}\n"
    text += f"    total[b] = reduce_add(x[{at}])\n"
    x, y = bits(long, 1), bits(long, 2)
    x[20:24] = y[20:24]
    n = SHIFTS.astype(x.dtype)
    total = np.zeros_like(x)
    total[: COUNT // lanes] = x.reshape(-1, lanes).sum(axis=1, dtype=x.dtype)
    results = {
        "sums": x + y - np.array(5, x.dtype),
        "products": x * y,
        "masked": x & y | ~x ^ np.array(77, x.dtype),
        "left": x << n,
        "right": x >> n,
        "down": x >> np.array(40, x.dtype),
        "same": x >> n[3],
        "least": np.minimum(x, y),
        "greatest": np.maximum(x, y),
        "chosen": np.where(x < y, x, n),
        "equal": np.where(x == y, np.abs(x) if long == "i64" else x, np.zeros_like(y) - y),
        "total": total,
    }
    return expect(text, {"x": x, "y": y, "n": n}, results)


def conversions(long: str, lanes: int) -> Expected:
    """To 64 bits by value, and back by the low bits; moves of the first lanes only."""
    at = f"b*{lanes} : {lanes}"
    others = [other for other in INTEGERS if other != long]
    inputs = {"y": bits(long, 2)} | {f"x_{other}": bits(other, 1) for other in others}
    text = f"  for b:{COUNT // lanes}\n    three[{at} active 3] = y[{at} active 2]\n"
    results = {"three": np.where(np.arange(COUNT) % lanes < 2, inputs["y"], 0).astype(inputs["y"].dtype)}
    for other in others:
        text += f"    wide_{other}[{at}] = convert<{long}x{lanes}>(x_{other}[{at}])\n"
        text += f"    low_{other}[{at}] = convert<{other}x{lanes}>(y[{at}])\n"
        x, y = inputs[f"x_{other}"], inputs["y"]
        results |= {f"wide_{other}": x.astype(y.dtype), f"low_{other}": y.astype(x.dtype)}
    params = [f"{name}: {DType.from_numpy(array.dtype).value}[64] const" for name, array in inputs.items()]
    params += [f"{name}: {DType.from_numpy(array.dtype).value}[64] out" for name, array in results.items()]
    return expect(f"kernel conversions_{long}_{lanes}({', '.join(params)})\n{text}", inputs, results)


def scaled(narrow: str, lanes: int) -> Expected:
    """A sum of two products of words, shifted: with a constant, with a scalar and of two words."""
    at, many = f"b*{lanes} : {lanes}", f"i64x{lanes}"
    text = f"""
    kernel scaled_{narrow}_{lanes}(x: {narrow}[64] const, w: i32[64] const, y: i32[64] out, z: i32[64] out)
      for b:{COUNT // lanes}
        let v: {many} = convert<{many}>(w[{at}]) * convert<{many}>(w[{at}])
        let t: {many} = convert<{many}>(x[{at}]) * 1963675037{many} + v
        y[{at}] = convert<i32x{lanes}>((t + -8668881029{many}) >> 33{many})
        z[{at}] = convert<i32x{lanes}>(convert<{many}>(x[{at}]) * splat<{lanes}>(convert<i64>(w[b])) >> 29{many})
    """
    x, w = bits(narrow, 1), bits("i32", 2)
    wide, words = x.astype("i8"), w.astype("i8")
    scalar = np.repeat(words[: COUNT // lanes], lanes)
    y, z = wide * 1963675037 + words * words - 8668881029 >> 33, wide * scalar >> 29
    return expect(text, {"x": x, "w": w}, {"y": y.astype("i4"), "z": z.astype("i4")})


def everything() -> Iterator[Expected]:
    for lanes in LANES:
        for long in ("i64", "u64"):
            yield arithmetic(long, lanes)
            yield conversions(long, lanes)
        yield from (scaled(narrow, lanes) for narrow in ("i8", "u8", "i16", "u16", "i32"))


ALL = list(everything())


def check(folder: Path, *command: str, runner: tuple[str, ...] = ()) -> None:
    cases = [case for case, _ in ALL]
    found = run_cases(cases, compile_cases(cases, folder, list(command)), runner)
    for (case, want), got in zip(ALL, found, strict=True):
        assert_same_bits(got, want, case.kernel.name)


def test_numpy_and_the_interpreter_agree() -> None:
    for case, want in ALL:
        assert_same_bits(case.expected(), want, case.kernel.name)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("machine", ON_LEVELS)
def test_machine_instructions(machine: Machine, compiler: str, tmp_path: Path) -> None:
    check(tmp_path, compiler, "-O1", *machine.cpu.c_flags)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_portable_form(compiler: str, tmp_path: Path) -> None:
    check(tmp_path, compiler, "-O2", "-DCCML_PORTABLE=1")


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
def test_neon_of_arm64(tmp_path: Path) -> None:
    check(tmp_path, "aarch64-linux-gnu-gcc", "-O1", "-march=armv8-a", "-static", runner=("qemu-aarch64",))
