"""The row ``scale_round`` gives the bits of the float definition: its C function and LLVM's helper."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitKernel, host_machine
from ccml.instructions import INSTRUCTIONS
from ccml.ir.loops import Call, Expr, Type
from ccml.ir.types import DType
from ccml.ops.fixed_point import float_multiply_round, float_parts
from ccml.ops.scale_exprs import expand_mul_high

from tests.emit_llvm.programs import elementwise
from tests.tools import needs

I32 = Type(DType.I32)
RUNTIME = Path(__file__).resolve().parents[2] / "runtime_c"
WRAPPER = """#include "ccml_scale.h"
void run(const int32_t *acc, const int32_t *factor, const int32_t *shift, int32_t *y, int n) {
    for (int i = 0; i < n; ++i) y[i] = ccml_i32_scale_round(acc[i], factor[i], shift[i]);
}
void high(const int32_t *a, const int32_t *b, int32_t *y, int n) {
    for (int i = 0; i < n; ++i) y[i] = ccml_i32_mul_high(a[i], b[i]);
}
"""
Function = Callable[..., np.ndarray]


@cache
def library(flags: str, folder: Path) -> ctypes.CDLL:
    source, output = folder / "scale.c", folder / f"scale{len(flags)}.so"
    source.write_text(WRAPPER)
    command = ["gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-shared", "-fPIC"]
    command += ["-fno-sanitize-recover", *flags.split(), f"-I{RUNTIME}", str(source), "-o", str(output)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(output))


def by_c(flags: str, folder: Path, name: str = "run") -> Function:
    def call(*arrays: np.ndarray) -> np.ndarray:
        y = np.empty(arrays[0].size, np.int32)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, y)]
        getattr(library(flags, folder), name)(*pointers, ctypes.c_int(y.size))
        return y

    return call


def in_process(build: Callable[..., Expr], *arrays: np.ndarray) -> np.ndarray:
    y = np.empty(arrays[0].size, np.int32)
    names = [f"v{number}" for number in range(len(arrays))]
    kernel = elementwise(build, y.size, I32, **dict.fromkeys(names, I32))
    JitKernel(kernel, host_machine()).run({**dict(zip(names, arrays)), "y": y})
    return y


def helper(*arrays: np.ndarray) -> np.ndarray:
    return in_process(lambda *args: Call("scale_round", args, I32), *arrays)


def floats(scale: np.float32, acc: np.ndarray) -> list[np.ndarray]:
    mantissa, exponent = float_parts(scale)
    return [acc, np.full_like(acc, mantissa), np.full_like(acc, exponent)]


def hard_cases() -> list[np.ndarray]:
    """Accumulators, mantissas and exponents where one of the three roundings is a close call."""
    rng = np.random.default_rng(3)
    scales = [2.0**-9, 2.0**-24, 0.5, 1.0, 1.5, 3e-39, 1e-45, 2.0**22, 0.0010482848, 1 / 3, 1.9999999, 1e-4]
    scales += list(2.0 ** rng.uniform(-20, 3, 60))
    cases = []
    for scale in np.array(scales, np.float32):
        halves = np.clip(np.rint((np.arange(-300, 300) + 0.5) / float(scale)), -(2**31), 2**31 - 1)
        borders = [s * (2**b + d) for b in (8, 16, 23, 24, 25, 30) for d in (-3, -2, -1, 0, 1, 2, 3) for s in (-1, 1)]
        acc = np.concatenate([
            halves, halves - 1, halves + 1, borders, [0, 1, -1, 2**31 - 1, -(2**31)], 256 * (2 * np.arange(50) + 1),
            rng.integers(-(2**31), 2**31, 200), rng.integers(-(2**20), 2**20, 200),
        ])  # fmt: skip
        cases.append(floats(scale, np.clip(acc, -(2**31), 2**31 - 1).astype(np.int32)))
    return [np.concatenate(column) for column in zip(*cases)]


def defined(acc: np.ndarray, mantissa: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """In NumPy's own float32."""
    scale = np.ldexp(mantissa.astype(np.float32), exponent)
    steps = np.rint(acc.astype(np.float32) * scale).astype(np.float64)
    return np.clip(steps, -(2.0**31), 2.0**31 - 1).astype(np.int64).astype(np.int32)


def test_the_meaning_is_the_definition() -> None:
    cases = [column[::17] for column in hard_cases()]
    meaning = INSTRUCTIONS["scale_round"].meaning
    np.testing.assert_array_equal([meaning(*case) for case in zip(*cases)], defined(*cases))


def test_the_specification_is_the_definition() -> None:
    acc = hard_cases()[0]
    for scale in (np.float32(0.0010482848), np.float32(2.0**-9), np.float32(1e-45)):
        np.testing.assert_array_equal(float_multiply_round(acc, *float_parts(scale)), defined(*floats(scale, acc)))


@needs("gcc")
@pytest.mark.parametrize("flags", ["", "-DCCML_SHORT_PRODUCTS", "-DCCML_PORTABLE"])
def test_binary32_in_c(flags: str, tmp_path: Path) -> None:
    cases = hard_cases()
    np.testing.assert_array_equal(by_c(flags, tmp_path)(*cases), defined(*cases))


def test_binary32_in_llvm() -> None:
    cases = hard_cases()
    np.testing.assert_array_equal(helper(*cases), defined(*cases))


def multipliers() -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    edges = np.array([0, 1, -1, 2**15, -(2**15), 2**16 - 1, 65536, 2**31 - 1, -(2**31)], np.int32)
    acc = np.concatenate([np.repeat(edges, edges.size), rng.integers(-(2**31), 2**31, 3000, dtype=np.int32)])
    factor = np.concatenate([np.tile(edges, edges.size), rng.integers(0, 2**31, 3000, dtype=np.int32)])
    return [acc, np.maximum(factor, 0), rng.integers(1, 24, acc.size, dtype=np.int32)]


def test_multipliers_round_halves_up(tmp_path: Path) -> None:
    acc, factor, shift = multipliers()
    wide = acc.astype(np.int64) * factor
    expected = (wide + (np.int64(1) << 31 + shift.astype(np.int64))) >> 32 + shift.astype(np.int64)
    for function in (helper, by_c("", tmp_path), by_c("-DCCML_SHORT_PRODUCTS", tmp_path)):
        np.testing.assert_array_equal(function(acc, factor, shift), expected)
    meaning = INSTRUCTIONS["scale_round"].meaning
    np.testing.assert_array_equal([meaning(*case) for case in zip(acc, factor, shift)], expected)


def test_the_upper_word_from_halfwords(tmp_path: Path) -> None:
    a, b, _ = multipliers()
    b = np.where(np.arange(b.size) % 2, b, -b)
    expected = (a.astype(np.int64) * b >> 32).astype(np.int32)
    np.testing.assert_array_equal(in_process(expand_mul_high, a, b), expected)
    np.testing.assert_array_equal(by_c("-DCCML_SHORT_PRODUCTS", tmp_path, "high")(a, b), expected)
