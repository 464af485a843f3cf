"""Small kernels and programs that the tests of the LLVM back end share."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
from ccml.ir import program as prog
from ccml.ir.build import load, store
from ccml.ir.loops import Access, Buffer, Expr, Kernel, Type, Var
from ccml.ir.loops_rewrite import loop
from ccml.ir.loops_text import parse_kernel
from ccml.ir.program import BufferDecl, Interface, MemoryPlan, Pool, Program, Storage
from ccml.ir.types import DType, TensorType
from ccml.targets import TARGETS, HwcapBit, Machine, SystemValue

ALL_MACHINES = [Machine(target, abi, cpu) for target in TARGETS for abi in target.abis for cpu in abi.cpus]
HOSTED = [machine for machine in ALL_MACHINES if machine.target.hosted and machine.abi.elf is not None]
"""Those of systems whose objects are ELF."""
BARE_METAL = [machine for machine in ALL_MACHINES if not machine.target.hosted]


def machine_id(machine: Machine) -> str:
    return f"{machine.name}-{machine.abi.name}-{machine.cpu.name}"


def kernel(text: str) -> Kernel:
    return parse_kernel(dedent(text))


def elementwise(function, count: int, result: Type, **operands: Type) -> Kernel:
    """A kernel that stores ``function(*operands)`` of ``count`` elements in ``y``, as many at once as lanes."""
    lanes, i = result.lanes, Var("i")
    params = [
        Buffer(name, type_.with_lanes(1), (count,), access=Access.READ, align=type_.dtype.size)
        for name, type_ in operands.items()
    ]
    y = Buffer("y", result.with_lanes(1), (count,), access=Access.WRITE)
    value: Expr = function(*(load(param, i * lanes, lanes=lanes) for param in params))
    return Kernel("elementwise", (*params, y), loop(i, count // lanes, store(y[i * lanes], value)))


SCALE = """
    kernel scale(x: f32[4,8] const, w: f32[8] const, y: f32[4,8] out)
      for i:4, j:8
        y[i, j] = x[i, j] * w[j]
"""
SHIFT = """
    kernel shift(x: f32[4,8] const, b: f32[8] const, y: f32[4,8] out)
      for i:4, j:8
        y[i, j] = max(x[i, j] + b[j], 0.0f32)
"""

MAIN = """
    #include <stdio.h>
    int %s_run(void *, const float *, float *);
    int main(void)
    {
        static float x[32], y[32];
        static _Alignas(16) char arena[144];
        if (fread(x, sizeof x, 1, stdin) != 1) return 9;
        const int status = %s_run(arena, x, y);
        fwrite(y, sizeof y, 1, stdout);
        return status;
    }
"""
"""A C program that runs ``scale_and_shift`` from standard input to standard output."""


def scale_and_shift(name: str = "small", pad: int = 0) -> tuple[Program, dict[str, np.ndarray]]:
    """max(x * w + b, 0) in two kernels with the product in the arena, and its inputs; ``pad`` bytes of dead weights."""
    rng = np.random.default_rng(7)
    w, b = rng.standard_normal((2, 8), dtype=np.float32)
    tensor = TensorType(DType.F32, (4, 8))
    buffers = {
        "x": BufferDecl("x", DType.F32, (4, 8), Storage.INPUT),
        "t": BufferDecl("t", DType.F32, (4, 8), Storage.ARENA),
        "y": BufferDecl("y", DType.F32, (4, 8), Storage.OUTPUT),
        "w": BufferDecl("w", DType.F32, (8,), Storage.CONSTANT),
        "b": BufferDecl("b", DType.F32, (8,), Storage.CONSTANT),
    }
    constants = {"w": w, "b": b}
    if pad:
        buffers["dead"] = BufferDecl("dead", DType.I8, (pad,), Storage.CONSTANT)
        constants["dead"] = rng.integers(-128, 128, pad, np.int8)
    program = Program(
        name=name,
        target="x86",
        inputs=(Interface("x", "data:0", tensor, "x"),),
        outputs=(Interface("y", "scores:0", tensor, "y"),),
        buffers=buffers,
        constants=constants,
        kernels=(kernel(SCALE), kernel(SHIFT)),
        body=(prog.Call("scale", ("x", "w", "t")), prog.Call("shift", ("t", "b", "y"))),
        plan=MemoryPlan((Pool("arena", {"t": 16}, 144, 16),)),
        taps={"product": "t", "scores:0": "y"},
    )
    return program, {"data:0": rng.standard_normal((4, 8), dtype=np.float32)}


def scale_and_shift_reference(program: Program, inputs: dict[str, np.ndarray]) -> np.ndarray:
    return np.maximum(inputs["data:0"] * program.constants["w"] + program.constants["b"], np.float32(0))


def program_of(made: Kernel) -> Program:
    """The program that calls one kernel; ``const`` parameters are the inputs."""
    inputs = [param for param in made.params if param.access is Access.READ]
    outputs = [param for param in made.params if param.access is not Access.READ]

    def declare(param: Buffer, storage: Storage) -> BufferDecl:
        return BufferDecl(param.name, param.dtype, param.shape, storage)

    def interface(param: Buffer) -> Interface:
        return Interface(param.name, param.name, TensorType(param.dtype, param.shape), param.name)

    buffers = {param.name: declare(param, Storage.INPUT) for param in inputs}
    buffers |= {param.name: declare(param, Storage.OUTPUT) for param in outputs}
    return Program(
        "model", "any", tuple(map(interface, inputs)), tuple(map(interface, outputs)), buffers, {}, (made,),
        (prog.Call(made.name, tuple(param.name for param in made.params)),), MemoryPlan((Pool("arena", {}, 0, 1),)),
    )  # fmt: skip


def asks_system(machine: Machine) -> list[str]:
    """The functions of the system that a library imports to ask for features of the processor."""
    by = {HwcapBit: "getauxval", SystemValue: "sysctlbyname"}
    return sorted({by[type(feature.flag)] for feature in machine.asked_for if type(feature.flag) in by})
