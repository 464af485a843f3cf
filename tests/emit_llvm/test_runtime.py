"""The helpers behind instructions that a machine lacks give the bits that the instruction would."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.driver import compile_source, import_source
from ccml.emit_llvm.elf import defined_symbols
from ccml.emit_llvm.jit import JitKernel
from ccml.emit_llvm.objects import emit_objects
from ccml.emit_llvm.runtime import helper_object
from ccml.ir.loops import Binary, Call, Convert, Expr, Type
from ccml.ir.types import DType
from ccml.targets import Machine, select
from ccml.verification.emulated_model import EmulatedModel
from onnx import TensorProto, helper

from tests.emit_llvm.programs import elementwise, program_of
from tests.frontend_onnx.graphs import model, value
from tests.tools import needs

BASELINE = select("android", "x86_64")
ARMV7 = select("android", "armeabi-v7a")


def convert(array: np.ndarray, result: DType, machine: Machine, lanes: int = 1) -> np.ndarray:
    source = Type(DType.from_numpy(array.dtype), lanes)
    kernel = elementwise(lambda x: Convert(Type(result, lanes), x), array.size, Type(result, lanes), a=source)
    y = np.empty(array.size, result.numpy)
    JitKernel(kernel, machine).run({"a": array, "y": y})
    return y


@pytest.mark.parametrize("result", [DType.F32, DType.F64])
@pytest.mark.parametrize("lanes", [1, 4])
def test_every_half_widens_exactly(result: DType, lanes: int) -> None:
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(convert(halves, result, BASELINE, lanes), halves.astype(result.numpy))


@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_narrowing_rounds_once_to_nearest_even(source: type) -> None:
    """All halves, the midpoints between neighbours, and what lies just beside the midpoints."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(source)
    steps = np.append(halves[1:], source(65536))
    middle = (halves + steps) / 2
    near = [np.nextafter(middle, source(side)) for side in (0, np.inf)]
    values = np.concatenate([halves, middle, *near, [np.inf, np.nan, 1e30, 1e-30]]).astype(source)
    values = np.concatenate([values, -values])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    actual = convert(values, DType.F16, BASELINE)
    np.testing.assert_array_equal(actual, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual[known]), np.signbit(expected[known]))


@pytest.mark.parametrize(
    ("dtype", "word", "infinity"), [(np.float32, np.uint32, 0x7F800000), (np.float64, np.uint64, 0x7FF << 52)]
)
def test_square_roots_without_the_instruction(dtype: type, word: type, infinity: int) -> None:
    """Random numbers of all sizes, squares and their neighbours, and what is no positive number."""
    bits = np.random.default_rng(0).integers(0, infinity, 50000, word)
    squares = np.arange(1, 4096, dtype=dtype) ** 2
    near = [np.nextafter(squares, dtype(side)) for side in (0, np.inf)]
    ones = [np.nextafter(dtype(4.0) ** np.arange(-60, 60), dtype(side)) for side in (0, np.inf)]
    subnormal = np.arange(1, 2000, dtype=word).view(dtype)
    special = np.array([np.finfo(dtype).max, -0.0, 0, np.inf, -np.inf, np.nan, -1, -1e-40], dtype)
    x = np.concatenate([bits.view(dtype), squares, *near, *ones, subnormal, special]).astype(dtype)
    cpu = replace(BASELINE.cpu, features=BASELINE.cpu.features - {"sqrt"})
    real = Type(DType.from_numpy(np.dtype(dtype)))
    kernel = elementwise(lambda v: Call("sqrt", (v,), real), x.size, real, a=real)
    y = np.empty_like(x)
    JitKernel(kernel, replace(BASELINE, cpu=cpu)).run({"a": x, "y": y})
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(y, np.sqrt(x))
    assert np.signbit(y[-7])


def test_only_what_is_needed_and_what_it_needs() -> None:
    image = helper_object(["__aeabi_idiv", "unknown"], ARMV7)
    assert image is not None
    assert defined_symbols(image) == ["__aeabi_idiv", "__aeabi_uidivmod"]
    assert helper_object(["__aeabi_idiv"], select("cortex-m0")) is None
    assert helper_object(["__extendhfsf2"], select("linux-arm64")) is None


# ---------------------------------------------------------------- Armv7, under emulation

HARNESS = """
static long call(long number, long a, const void *b, long c)
{
    register long r7 __asm__("r7") = number;
    register long r0 __asm__("r0") = a;
    register const void *r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c;
    __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2) : "memory");
    return r0;
}
int model_run(void *, %s void *);
static char memory[%d] __attribute__((aligned(16)));
void _start(void)
{
    long done = 0;
    while (done < %d) done += call(3, 0, memory + done, %d - done);
    const int status = model_run(0, %s memory + %d);
    call(4, 1, memory + %d, %d);
    call(1, status, 0, 0);
}
"""


def on_armv7(function, result: DType, folder: Path, *arrays: np.ndarray) -> np.ndarray:
    """``function`` of all elements, computed by an Armv7 program under QEMU; arrays of one size and 8 bytes at most."""
    count = arrays[0].size
    types = {name: Type(DType.from_numpy(array.dtype)) for name, array in zip("ab", arrays)}
    program = program_of(elementwise(function, count, Type(result), **types))
    paths = []
    for name, image in emit_objects(program, ARMV7):
        paths.append(folder / name)
        paths[-1].write_bytes(image)
    starts = [8 * count * number for number in range(len(arrays) + 1)]
    size, pad = count * result.size, 8 * count
    data = b"".join(array.tobytes().ljust(pad, b"\0") for array in arrays)
    pointers = " ".join(f"memory + {start}," for start in starts[:-1])
    main = folder / "main.c"
    types_text = "const void *, " * len(arrays)
    main.write_text(
        HARNESS % (types_text, starts[-1] + pad, starts[-1], starts[-1], pointers, starts[-1], starts[-1], size)
    )
    flags = ["-march=armv7-a", "-mfpu=neon-vfpv4", "-mfloat-abi=softfp", "-O1", "-static", "-nostdlib", "-marm"]
    flags += ["-fno-builtin", "-Wl,--build-id=none"]
    subprocess.run(["arm-linux-gnueabihf-gcc", *flags, main, *paths, "-o", folder / "main"], check=True)
    done = subprocess.run(["qemu-arm", folder / "main"], input=data, capture_output=True, check=True)
    return np.frombuffer(done.stdout, result.numpy)


def integers(dtype: DType, seed: int) -> np.ndarray:
    """Values of all magnitudes and the extremes."""
    rng, info = np.random.default_rng(seed), np.iinfo(dtype.numpy)
    values = rng.integers(info.min, info.max, 2000, dtype.numpy, endpoint=True)
    values >>= rng.integers(0, dtype.size * 8 - 1, 2000).astype(dtype.numpy)
    special = np.array([info.min, info.max, 0, 1, 2**24 + 1, 2**31 - 1], dtype.numpy)
    return np.concatenate([values, special])


emulated = [needs("arm-linux-gnueabihf-gcc"), needs("qemu-arm")]


@pytest.mark.parametrize("op", ["div", "mod"])
@pytest.mark.parametrize("dtype", [DType.I64, DType.U64, DType.I32, DType.U32, DType.I8])
class TestArmv7Division:
    pytestmark = emulated

    def test_division(self, dtype: DType, op: str, tmp_path: Path) -> None:
        if dtype is DType.I8:
            x, y = np.arange(-128, 128).astype(np.int8), np.resize(np.array([7, -3, 100], np.int8), 256)
        else:
            x, y = integers(dtype, 1), np.random.default_rng(3).permutation(integers(dtype, 2))
        y[(y == 0) | (y == -1 if dtype.is_signed else False)] = 3
        actual = on_armv7(lambda a, b: Binary(op, a, b), dtype, tmp_path, x, y)
        wide = [(int(a), int(b)) for a, b in zip(x, y)]
        quotients = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in wide]
        expected = quotients if op == "div" else [a - q * b for (a, b), q in zip(wide, quotients)]
        np.testing.assert_array_equal(actual, np.array(expected, dtype.numpy))


@needs("i686-linux-gnu-gcc", "qemu-i386")
@pytest.mark.parametrize("dtype", [DType.I64, DType.U64])
def test_division_of_two_words_on_i686(dtype: DType) -> None:
    x, y = integers(dtype, 1), np.random.default_rng(3).permutation(integers(dtype, 2))
    y[(y == 0) | (y == -1 if dtype.is_signed else False)] = 3
    sides = [value(name, [x.size], TensorProto.INT64 if dtype.is_signed else TensorProto.UINT64) for name in "xy"]
    nodes = [helper.make_node("Div", ["x", "y"], ["q"]), helper.make_node("Mod", ["x", "y"], ["r"], fmod=1)]
    source = import_source("division.onnx", model(nodes, sides, ["q", "r"]))
    found = EmulatedModel(compile_source(source, select("android", "x86")), "llvm").run({"x": x, "y": y})
    quotients = [abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y)]
    rests = [int(a) - q * int(b) for a, b, q in zip(x, y, quotients)]
    np.testing.assert_array_equal(found["q"], np.array(quotients, dtype.numpy))
    np.testing.assert_array_equal(found["r"], np.array(rests, dtype.numpy))


@pytest.mark.parametrize("source", [DType.I64, DType.U64, DType.I32, DType.U32])
@pytest.mark.parametrize("result", [DType.F32, DType.F64, DType.F16])
class TestArmv7FromInteger:
    pytestmark = emulated

    def test_rounds_to_nearest_even(self, source: DType, result: DType, tmp_path: Path) -> None:
        x = integers(source, 5)
        if source.size == 8:
            halfway = (np.int64(2**53) + 2 * np.arange(-64, 64)) << 9
            x = np.concatenate([x, halfway.astype(source.numpy), (halfway + 1).astype(source.numpy)])
        actual = on_armv7(lambda a: Convert(Type(result), a), result, tmp_path, x)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(actual, x.astype(result.numpy))


@pytest.mark.parametrize("source", [DType.F32, DType.F64])
@pytest.mark.parametrize("result", [DType.I64, DType.U64, DType.I32, DType.U32])
class TestArmv7ToInteger:
    pytestmark = emulated

    def test_truncates(self, source: DType, result: DType, tmp_path: Path) -> None:
        rng, bits = np.random.default_rng(6), 8 * result.size - 1
        x = (rng.random(2000) * 2.0 ** rng.uniform(-2, bits, 2000)).astype(source.numpy)
        if result.is_signed:
            x = x * rng.choice([-1, 1], x.size).astype(source.numpy)
        actual = on_armv7(lambda a: Convert(Type(result), a), result, tmp_path, x)
        np.testing.assert_array_equal(actual, x.astype(result.numpy))


@needs("arm-linux-gnueabihf-gcc", "qemu-arm")
def test_armv7_halves(tmp_path: Path) -> None:
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    middle = halves * (1 + 2.0**-11)
    x = np.concatenate([halves, middle, np.nextafter(middle, 0), np.nextafter(middle, 1e9), -middle])

    def narrow(a: Expr) -> Expr:
        return Convert(Type(DType.F16), a)

    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(on_armv7(narrow, DType.F16, tmp_path, x), x.astype(np.float16))
