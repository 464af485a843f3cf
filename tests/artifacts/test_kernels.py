"""LLVM's code against the C compilers', kernel by kernel: every kernel of the fp32 models, on random memory.

How far two floats are apart is counted in units in the last place: the number of representable floats from one to the
other. The bit patterns of positive floats ascend with their values, those of negative ones descend, so after folding
the negative half over, the distance is a difference of integers; -0 and +0 are the same number, and any NaN is any NaN.

The bar is 2 ULP. Both printers print the same loop IR, whose float operations each round once, in an order that is
written down, and neither compiler may contract or reassociate. So nothing is left to differ in, and the test demands
what it sees: 0 ULP, and the same bits in integers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_c.symbols import assign_symbols
from ccml.emit_llvm.jit import JitKernel
from ccml.ir.aliasing import disjoint_params
from ccml.ir.loops import Access, Kernel
from ccml.ir.program import Program
from ccml.targets import Machine

from tests.artifacts.commands import run
from tests.artifacts.machines import NATIVE, V3, runs_here
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import FLOAT, Model
from tests.models import needs_models
from tests.tools import needs

MAX_ULP = 0
FLAGS = ("-std=c99", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared")
CACHE_LINE = 64

Arrays = dict[str, np.ndarray]


@needs_models
@pytest.mark.parametrize(
    ("machine", "compiler"),
    [
        pytest.param(V3, "gcc", marks=[needs("gcc"), runs_here(V3)], id="v3-gcc"),
        pytest.param(NATIVE, "clang", marks=needs("clang"), id="native-clang"),
    ],
)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_c_and_llvm_agree(model: Model, machine: Machine, compiler: str, workshop: Workshop, tmp_path: Path) -> None:
    program = workshop.program(model, machine)
    library = exported_kernels(program, machine, compiler, workshop.c_sources(model, machine), tmp_path)
    rng = np.random.default_rng(7)
    far: dict[str, int] = {}
    for number, (kernel, noalias) in enumerate(called_kernels(program)):
        memory = {param.name: random_array(rng, param.dtype.numpy, param.shape) for param in kernel.params}
        by_c = {name: aligned_copy(array) for name, array in memory.items()}
        library[f"kernel_{number}"](*(ctypes.c_void_p(by_c[param.name].ctypes.data) for param in kernel.params))
        by_llvm = {name: aligned_copy(array) for name, array in memory.items()}
        JitKernel(kernel, machine, noalias=noalias).run(by_llvm)
        for param in kernel.params:
            changed = not np.array_equal(by_c[param.name], memory[param.name], equal_nan=True)
            assert changed == (param.access is not Access.READ), f"{kernel.name}: {param.name}"
            far[f"{kernel.name}: {param.name}"] = ulps_apart(by_c[param.name], by_llvm[param.name])
    assert {name: ulps for name, ulps in far.items() if ulps > MAX_ULP} == {}


def test_units_in_the_last_place() -> None:
    one, tiny = np.float32(1), np.float32(1e-45)
    pairs = [(one, one, 0), (one, np.nextafter(one, np.float32(2)), 1), (-tiny, tiny, 2), (-0.0, 0.0, 0)]
    for lhs, rhs, apart in [*pairs, (np.nan, -np.nan, 0)]:
        assert ulps_apart(np.array([lhs], np.float32), np.array([rhs], np.float32)) == apart
    assert ulps_apart(np.array([1.0], np.float32), np.array([np.nan], np.float32)) > 1 << 20


def called_kernels(program: Program) -> Iterator[tuple[Kernel, frozenset[str]]]:
    """Each kernel that the artifact has, with the parameters that both printers may take for disjoint."""
    noalias = disjoint_params(program)
    for name in assign_symbols(program).kernels:
        yield program.kernel(name), noalias[name]


def exported_kernels(program: Program, machine: Machine, compiler: str, source: Path, folder: Path) -> ctypes.CDLL:
    """The artifact's own C, with a visible function ``kernel_<i>`` around every kernel."""
    symbols = assign_symbols(program)
    lines = [f'#include "{symbols.prefix}.c"']
    for number, (kernel, _) in enumerate(called_kernels(program)):
        params = ", ".join(f"void *p{i}" for i in range(len(kernel.params)))
        arguments = ", ".join(f"p{i}" for i in range(len(kernel.params)))
        export = '__attribute__((visibility("default")))'
        lines.append(f"{export} void kernel_{number}({params}) {{ {symbols.kernels[kernel.name]}({arguments}); }}")
    (folder / "kernels.c").write_text("\n".join(lines) + "\n")
    sources = [folder / "kernels.c", source / f"{symbols.prefix}_weights.c"]
    library = folder / "kernels.so"
    run(compiler, *FLAGS, *machine.cpu.c_flags, f"-I{source}", *sources, "-o", library)
    return ctypes.CDLL(str(library))


def random_array(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Floats of both signs over some orders of magnitude; small integers."""
    if dtype.kind == "f":
        scale = rng.choice(np.array([1 / 64, 1, 16]), size=shape)
        return (rng.standard_normal(shape) * scale).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def aligned_copy(array: np.ndarray) -> np.ndarray:
    memory = np.empty(array.nbytes + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def ulps_apart(lhs: np.ndarray, rhs: np.ndarray) -> int:
    """The largest distance of two elements, in floats between them; of integers, by value."""
    if lhs.dtype.kind != "f":
        return int(np.abs(lhs.astype(np.int64) - rhs.astype(np.int64)).max(initial=0))
    return int(np.abs(_rank(lhs) - _rank(rhs)).max(initial=0))


def _rank(array: np.ndarray) -> np.ndarray:
    """The place of each float in the order of all floats, counted from zero; all NaN behind infinity."""
    bits = array.view(f"i{array.itemsize}").astype(np.int64)
    sign = np.int64(1) << (8 * array.itemsize - 1)
    rank = np.where(bits < 0, -(bits + sign), bits)
    return np.where(np.isnan(array), sign, rank)
