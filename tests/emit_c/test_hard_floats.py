"""Rounded operations on numbers chosen to be hard: instructions and the portable C give the same, right bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.instructions import INSTRUCTIONS
from ccml.ir.build import load, store
from ccml.ir.loops import INDEX, Access, Buffer, Call, Const, For, Kernel, Type, Var
from ccml.ir.types import DType

from tests.emit_c.harness import Arrays, Case, assert_same_bits, compile_cases, run_cases
from tests.emit_c.test_operations import cpu
from tests.tools import needs

COUNT = 40000
ROUNDING = ("floor", "ceil", "trunc", "round_even")


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [function_case(name, dtype) for dtype in (DType.F32, DType.F64) for name in ("fma", "sqrt", *ROUNDING)]


def function_case(name: str, dtype: DType) -> Case:
    arity = len(INSTRUCTIONS[name].operands)
    values = {"fma": near_ties, "sqrt": near_squares}.get(name, near_halves)(dtype.numpy)
    inputs = [Buffer(f"x{n}", Type(dtype), (COUNT,), access=Access.READ) for n in range(arity)]
    out = Buffer("out", Type(dtype), (COUNT,), access=Access.WRITE)
    i = Var("i")
    value = Call(name, tuple(load(buffer, i) for buffer in inputs), Type(dtype))
    body = For(i, Const(COUNT, INDEX), (store(out[i], value),))
    arrays = {f"x{n}": column for n, column in enumerate(values)} | {"out": np.zeros(COUNT, dtype.numpy)}
    return Case(Kernel(f"{name}_{dtype.value}", (*inputs, out), (body,)), arrays)


def any_bits(dtype: np.dtype, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, COUNT * dtype.itemsize, np.uint8).view(dtype)


def near_ties(dtype: np.dtype) -> list[np.ndarray]:
    """Sums that cancel, that are off a tie by less than the addend's last bit, or become denormal or zero."""
    rng = np.random.default_rng(1)
    x, y, z = (any_bits(dtype, seed) for seed in range(3))
    short = rng.integers(-4096, 4096, (2, COUNT)).astype(dtype)
    kind = np.arange(COUNT) % 6
    with np.errstate(all="ignore"):
        x = np.where(kind == 1, short[0], np.where(kind >= 2, rng.uniform(-2, 2, COUNT).astype(dtype), x))
        y = np.where(kind == 1, short[1], np.where(kind >= 2, rng.uniform(-2, 2, COUNT).astype(dtype), y))
        product = (x * y).astype(dtype)
        ulp = np.spacing(product)
        z = np.where(kind == 1, ulp * dtype.type(0.5), z)
        z = np.where(kind == 2, -product, z)
        z = np.where(kind == 3, product * dtype.type(2) ** rng.integers(-110, 110, COUNT).astype(dtype), z)
        info = np.finfo(dtype)
        x = np.where(kind >= 4, x * info.tiny, x)
        z = np.where(kind == 4, short[0] * info.smallest_subnormal, np.where(kind == 5, -(x * y), z))
    return [column.astype(dtype) for column in (x, y, z)]


def near_squares(dtype: np.dtype) -> list[np.ndarray]:
    roots = np.abs(any_bits(dtype, 5))
    with np.errstate(all="ignore"):
        squares = np.nextafter(roots * roots, any_bits(dtype, 6))
    return [np.where(np.arange(COUNT) % 2 == 0, squares, any_bits(dtype, 7))]


def near_halves(dtype: np.dtype) -> list[np.ndarray]:
    rng = np.random.default_rng(8)
    digits = np.finfo(dtype).nmant
    whole = np.ldexp(rng.uniform(-1, 1, COUNT), rng.integers(0, digits + 2, COUNT)).astype(dtype)
    ties = np.round(whole) + dtype.type(0.5)
    with np.errstate(all="ignore"):
        beside = np.nextafter(ties, any_bits(dtype, 9))
    kind = np.arange(COUNT) % 4
    return [np.choose(kind, [whole, ties, beside, any_bits(dtype, 10)]).astype(dtype)]


@pytest.fixture(scope="module")
def portable(cases: list[Case], tmp_path_factory: pytest.TempPathFactory) -> list[Arrays]:
    folder = tmp_path_factory.mktemp("portable")
    return run_cases(cases, compile_cases(cases, folder, ["gcc", "-O2", "-DCCML_PORTABLE=1"]))


@needs("gcc")
def test_portable_bits_are_right(cases: list[Case], portable: list[Arrays]) -> None:
    """Against NumPy, and for fma against exact arithmetic."""
    for case, got in zip(cases, portable):
        name = case.kernel.name.split("_f")[0]
        columns = [array for key, array in case.arrays.items() if key != "out"]
        meaning = INSTRUCTIONS[name].meaning
        with np.errstate(all="ignore"):
            want = np.array([meaning(*row) for row in zip(*columns)], columns[0].dtype)
        assert_same_bits(got, {"out": want}, case.kernel.name)


@needs("gcc")
@cpu("avx2", "fma")
def test_instructions_give_the_portable_bits(cases: list[Case], portable: list[Arrays], tmp_path: Path) -> None:
    actual = run_cases(cases, compile_cases(cases, tmp_path, ["gcc", "-O2", "-mavx2", "-mfma"]))
    for case, got, want in zip(cases, actual, portable):
        assert_same_bits(got, want, case.kernel.name)


@needs("gcc")
@cpu("fma")
def test_gcc_does_not_contract_in_its_default_mode(tmp_path: Path) -> None:
    """A user's build need not pass -ffp-contract=off."""
    names = ("x", "y", "z")
    inputs = [Buffer(name, Type(DType.F32), (COUNT,), access=Access.READ) for name in names]
    out = Buffer("out", Type(DType.F32), (COUNT,), access=Access.WRITE)
    i = Var("i")
    x, y, z = (load(buffer, i) for buffer in inputs)
    body = For(i, Const(COUNT, INDEX), (store(out[i], x * y + z),))
    columns = dict(zip(names, near_ties(DType.F32.numpy)))
    case = Case(Kernel("separate", (*inputs, out), (body,)), {**columns, "out": np.zeros(COUNT, np.float32)})
    with np.errstate(all="ignore"):
        want = columns["x"] * columns["y"] + columns["z"]
    program = compile_cases([case], tmp_path, ["gcc", "-O3", "-mfma", "-std=gnu11"])
    assert_same_bits(run_cases([case], program)[0], {"out": want}, "x * y + z")
