"""Uses of block instructions with what they have to leave in memory, and the ways on which they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.blocks import block_kernel
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.instructions import INSTRUCTIONS
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import Access, Alloc, Const, Invoke, Kernel, Load, Pointer, Space, Store, Var, as_expr
from ccml.ir.loops_rewrite import loop
from ccml.ir.program import Program
from ccml.ir.types import DType
from ccml.schedule.legalize import legalize
from ccml.targets import Machine, select

from tests.artifacts.built import run_artifact
from tests.emit_llvm.programs import program_of
from tests.tools import needs

Arrays = dict[str, np.ndarray]
RNG = np.random.default_rng(12)


def signed(*shape: int) -> np.ndarray:
    """Bytes over the whole range, the ends more often than others."""
    ends = RNG.choice(np.array([-128, -127, 127], np.int8), shape)
    return np.where(RNG.random(shape) < 0.2, ends, RNG.integers(-128, 128, shape)).astype(np.int8)


@dataclass(frozen=True)
class Case:
    """One use of a block: what it reads, and what it has to leave in memory that was zero."""

    block: str
    scalars: tuple[int, ...]
    inputs: Arrays
    expected: Arrays


def block_operands(kernel: Kernel) -> Arrays:
    """Values for all parameters of a meaning, zero where it only writes.

    Words that may be float32 scales are those of small floats, factors and accumulators are small: blocks may rely on
    results of less than 2^15 before they are clamped. Of taps that a word has twice both are the same.
    """
    rng, found = np.random.default_rng(len(kernel.name)), {}
    for param in kernel.params:
        dtype, size = param.dtype.numpy, param.shape[0]
        array = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, size, dtype, endpoint=True)
        if param.name in ("w", "s", "scales") and param.dtype is DType.I32:
            array = (rng.random(size) * 1e-3).astype(np.float32).view(np.int32)
            if not any(part in kernel.name for part in ("helium", "_i8", "finish")):
                array = rng.integers(-(1 << 20), 1 << 20, size).astype(np.int32)
        if param.name == "s" and param.dtype is DType.I32:
            array = np.abs(array)
        if param.name == "s" and kernel.name.startswith(("requantize_i8", "requantize_fixed")):
            array[1::2] = rng.integers(1, 16, size // 2)
        if param.name == "w" and kernel.name.startswith("depthwise_line"):
            taps = array[1::3].copy().view(np.uint8).reshape(-1, 4)
            array[1::3] = np.ascontiguousarray(taps[:, [0, 1, 1, 3]]).view(np.int32)[:, 0]
        if param.name == "w" and kernel.name.startswith("helium_depthwise") and "halfword" in kernel.name:
            array = rng.integers(-(1 << 14), 1 << 14, 2 * size).astype(np.int16).view(np.int32)
        if param.name == "offsets":
            array = rng.integers(0, 90, size, np.int32) * 4
        if param.name == "a" or (param.name == "x" and kernel.name.startswith(("depthwise_finish", "depthwise_fixed"))):
            array >>= 18
        if param.name == "s" and param.dtype is DType.I16:
            array = np.abs(array >> 1)
        found[param.name] = np.zeros(size, dtype) if param.access is Access.WRITE else array
    return found


def sampled_case(block: str, numbers: tuple[int, ...]) -> Case:
    """What the interpreter makes of a block with such operands; READ_WRITE operands begin as zeros, as in programs, and
    words are bytes where a block takes no others."""
    kernel = block_kernel(block, numbers)
    arrays = block_operands(kernel)
    if block == "gemm_4x1_bytes":
        arrays["x"] >>= 24
    for param in kernel.params:
        if param.access is not Access.READ:
            arrays[param.name][:] = 0
    inputs = {param.name: arrays[param.name] for param in kernel.params if param.access is Access.READ}
    run_kernel(kernel, arrays, instructions=INSTRUCTIONS)
    return Case(block, numbers, inputs, {name: array for name, array in arrays.items() if name not in inputs})


def program_for(cases: Sequence[Case], machine: Machine) -> Program:
    """One kernel that invokes all cases on memory of their own, zeros where it is written."""
    params, body = [], []
    for number, case in enumerate(cases):
        pointers, results = [], []
        for param in block_kernel(case.block, case.scalars).params:
            access = Access.READ if param.name in case.inputs else Access.READ_WRITE
            own = replace(param, name=f"{param.name}_{number}", access=access, align=0)
            used, i = own, Var(f"i_{own.name}")
            params.append(own)
            if access is not Access.READ:
                body.append(loop(i, own.shape[0], Store(own, (i,), Const(0, own.type))))
            if param.align and (access is Access.READ or param.dtype.size < param.align):
                used = replace(own, name=f"aligned_{own.name}", access=Access.READ_WRITE, align=8, space=Space.STACK)
                body.append((Alloc(used), *loop(i, own.shape[0], Store(used, (i,), Load(own, (i,))))))
                if access is not Access.READ:
                    results.append(loop(i, own.shape[0], Store(own, (i,), Load(used, (i,)))))
            pointers.append(Pointer(used, (as_expr(0),)))
        body += [(Invoke(case.block, tuple(pointers), case.scalars),), *results]
    kernel = Kernel("blocks", tuple(params), tuple(stmt for part in body for stmt in part))
    found = {(case.block, case.scalars): block_kernel(case.block, case.scalars) for case in cases}
    blocks = tuple(replace(block, body=legalize(block.body, machine.cpu)) for block in found.values())
    return replace(program_of(kernel), target=machine.name, blocks=blocks)


Route = Callable[[Program, Machine, Arrays, Path], Arrays]


def in_process(program: Program, machine: Machine, inputs: Arrays, folder: Path) -> Arrays:
    return JitModel(program, machine).run(inputs)


def by_c(program: Program, machine: Machine, inputs: Arrays, folder: Path) -> Arrays:
    return run_artifact(program, machine, Emit.C, folder, [inputs])[0]


def by_objects(program: Program, machine: Machine, inputs: Arrays, folder: Path) -> Arrays:
    return run_artifact(program, machine, Emit.OBJECT, folder, [inputs])[0]


BOARD = needs("arm-none-eabi-gcc", "qemu-system-arm")


def routes(*cores: str) -> pytest.MarkDecorator:
    """The meaning in this process, the C twins on this machine, and both routes on emulated boards, as parameters."""
    boards = (
        pytest.param(select(f"cortex-{core}"), route, id=f"{core} {route.__name__}", marks=BOARD)
        for core in cores
        for route in (by_c, by_objects)
    )
    host = host_machine()
    plain = replace(host, cpu=replace(host.cpu, extensions=frozenset()), abi=replace(host.abi, machine_code=""))
    meaning = pytest.param(plain, in_process, id="meaning")
    twin = pytest.param(select("generic"), by_c, id="twin", marks=needs("gcc"))
    return pytest.mark.parametrize(("machine", "route"), [meaning, twin, *boards])


def assert_cases(cases: Sequence[Case], machine: Machine, route: Route, folder: Path) -> None:
    inputs = {f"{name}_{number}": array for number, case in enumerate(cases) for name, array in case.inputs.items()}
    found = route(program_for(cases, machine), machine, inputs, folder)
    for number, case in enumerate(cases):
        for name, expected in case.expected.items():
            np.testing.assert_array_equal(found[f"{name}_{number}"], expected, f"{case.block}{case.scalars}")
