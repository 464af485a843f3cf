"""Rows of the instruction table: what they say in one form they say in all."""

from __future__ import annotations

from pathlib import Path

import ccml
import ml_dtypes
import numpy as np
import pytest
from ccml.instructions import INSTRUCTIONS, Instruction
from ccml.ir.build import load, store
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import I32, Access, Buffer, Call, Const, Kernel, Type
from ccml.ir.loops_verify import verify_kernel
from ccml.ir.types import DType
from ccml.targets import TARGETS

RUNTIME = Path(ccml.__file__).parent / "runtime_c"
WORDS = [row for row in INSTRUCTIONS.values() if row.expansion and row.result is DType.I32]
FLOATS = [row for row in INSTRUCTIONS.values() if row.expansion and row.result is None]
EDGES = np.array([0, 1, -1, 0x7FFF, -0x8000, 0x7FFFFFFF, -0x80000000, 0x00FF00FF, 0x7F80807F, -0x7F80], np.int64)


def by_name(row: Instruction) -> str:
    return row.name


def computed(
    row: Instruction, dtype: DType, expand: bool, operands: list[np.ndarray], result_dtype: DType | None = None
) -> np.ndarray:
    """Element by element, as a verified kernel that calls the row or holds its expansion; the result is of the type of
    the operands or of ``result_dtype``."""
    made = result_dtype or dtype
    count = operands[0].size
    params = [Buffer(f"x{n}", Type(dtype), (count,), access=Access.READ) for n in range(len(operands))]
    y = Buffer("y", Type(made), (count,), access=Access.WRITE)
    body = []
    for at in range(count):
        call = Call(row.name, tuple(load(param, Const(at, Type(DType.INDEX))) for param in params), Type(made))
        value = row.expansion(call) if expand and row.expansion else call
        assert value is not None
        body.append(store(y[Const(at, Type(DType.INDEX))], value))
    kernel = Kernel("k", (*params, y), tuple(body))
    verify_kernel(kernel, instructions=INSTRUCTIONS)
    result = np.zeros(count, made.numpy)
    named = {param.name: operand for param, operand in zip(params, operands)}
    run_kernel(kernel, {**named, "y": result}, instructions=INSTRUCTIONS)
    return result


@pytest.mark.parametrize("row", WORDS, ids=by_name)
def test_expansions_of_words(row: Instruction) -> None:
    rng = np.random.default_rng(0)
    operands = [rng.permutation(np.concatenate([EDGES, rng.integers(-(2**31), 2**31, 60)])) for _ in row.operands]
    words = [operand.astype(np.int32) for operand in operands]
    np.testing.assert_array_equal(computed(row, I32.dtype, True, words), computed(row, I32.dtype, False, words))


@pytest.mark.parametrize("row", FLOATS, ids=by_name)
def test_expansions_of_floats(row: Instruction) -> None:
    """In the first type that is expanded."""
    rng = np.random.default_rng(0)
    values = np.concatenate([[0.0, -0.0, 0.5, 1.5, 2.5, 1e-3, 4097.0, np.inf], rng.uniform(0, 100, 40)])
    for dtype in (DType.F32, DType.F16):
        ones = (Const(1.0, Type(dtype)),) * len(row.operands)
        if row.expansion and row.expansion(Call(row.name, ones, Type(dtype))) is not None:
            operands = [values.astype(dtype.numpy), *(rng.permutation(values).astype(dtype.numpy) for _ in ones[1:])]
            found, wanted = computed(row, dtype, True, operands), computed(row, dtype, False, operands)
            assert found.tobytes() == wanted.tobytes()
            return
    raise AssertionError("no type is expanded")


def test_expansion_of_the_rounding_to_bfloat16() -> None:
    """Ties, what overflows, subnormal numbers, infinities; a NaN is one still."""
    rng = np.random.default_rng(0)
    edges = [0, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x7F7F7FFF, 0x7F800000, 0x7F800001, 0x007FFFFF, 0x8001]
    bits = np.array([*edges, *(edge | 0x80000000 for edge in edges), *rng.integers(0, 2**32, 200)], np.uint32)
    row, x = INSTRUCTIONS["round_bf16"], bits.view(np.float32)
    found, called = (computed(row, DType.F32, expand, [x], DType.U16) for expand in (True, False))
    numbers = ~np.isnan(x)
    assert np.array_equal(found[numbers], called[numbers])
    values = found.view(ml_dtypes.bfloat16).astype(np.float64)
    assert np.array_equal(np.isnan(values), ~numbers)
    normal = np.isfinite(x) & (np.abs(x) >= 2.0**-126)
    fraction, exponent = np.frexp(x[normal].astype(np.float64))
    wanted = np.ldexp(np.round(fraction * 2**8), exponent - 8)
    assert np.array_equal(values[normal], np.where(np.abs(wanted) < 2.0**128, wanted, np.sign(wanted) * np.inf))


@pytest.mark.parametrize("row", INSTRUCTIONS.values(), ids=by_name)
def test_c_function(row: Instruction) -> None:
    """It stands in the header; without one, the expansion is what C has."""
    if row.c_header is None:
        assert row.expansion is not None
    elif row.c_header:
        assert row.name in (RUNTIME / row.c_header).read_text()


def test_architectures_are_those_of_targets() -> None:
    known = {abi.architecture for target in TARGETS for abi in target.abis}
    assert {name for row in INSTRUCTIONS.values() for name in row.intrinsics if name} <= known


def test_llvm_can_say_what_a_cpu_has() -> None:
    """For the lanes of its multiply-accumulates, and single words of everything else; whole registers where it is said
    of all lanes."""
    missing = []
    registers = {"pick_words": 16}
    for target in TARGETS:
        for abi in target.abis:
            for cpu in abi.cpus:
                for row in (INSTRUCTIONS[name] for name in cpu.features if name in INSTRUCTIONS):
                    alone = registers.get(row.name, 4) if row.across else 1
                    lanes = {dot.lanes for dot in cpu.dots if dot.name == row.name} or {alone}
                    for count in lanes:
                        if row.intrinsic(abi.architecture, count) is None and row.recognized is None:
                            missing.append((cpu.name, row.name, count))
    assert missing == []
