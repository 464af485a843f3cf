"""The ways to compile and run a fuzzing model: machines, kinds of code, goals, and options of the artifact."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from ccml.artifact.emit import Emit
from ccml.driver import DEFAULT_GOAL, Compiled, Goal, Optimize
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.emulation import Build
from ccml.emulation.run import DEFAULT_BUILD
from ccml.ir.external_weights import with_external_weights
from ccml.ir.program import Program
from ccml.targets import Machine, select
from ccml.verification.emulated_model import EmulatedModel

from tests.artifacts.built import SANITIZED, run_artifact

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Route:
    machine: Callable[[], Machine]
    run: Callable[[Compiled, Arrays], dict[str, np.ndarray]]
    goal: Goal = DEFAULT_GOAL


def _in_process(compiled: Compiled, inputs: Arrays) -> dict[str, np.ndarray]:
    return JitModel(compiled.program, compiled.machine).run(inputs)


def _by_llvm(compiled: Compiled, inputs: Arrays) -> dict[str, np.ndarray]:
    return EmulatedModel(compiled, "llvm").run(inputs)


def _by_gcc(compiled: Compiled, inputs: Arrays) -> dict[str, np.ndarray]:
    return EmulatedModel(compiled, "c").run(inputs)


def _artifact(
    compiled: Compiled, inputs: Arrays, form: Emit, how: Build, change: Callable[[Program], Program] = lambda p: p
) -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as name:
        return run_artifact(change(compiled.program), compiled.machine, form, Path(name), [inputs], how)[0]


def _stepwise(program: Program) -> Program:
    (apart,) = with_external_weights([replace(program, sliced=True)])
    return apart


_sanitized = partial(_artifact, form=Emit.C, how=SANITIZED)
_backwards = partial(_artifact, form=Emit.OBJECT, how=Build(flags=("-DMODEL_THREADS=-1",)))
_objects = partial(_artifact, form=Emit.OBJECT, how=DEFAULT_BUILD)
_slices = partial(_artifact, form=Emit.C, how=SANITIZED, change=_stepwise)


def _machine(name: str, cpu: str | None = None, abi: str | None = None) -> Callable[[], Machine]:
    return partial(select, name, abi=abi, cpu=cpu)


_RAM, _SIZE, _SPEED = (Goal(optimize) for optimize in (Optimize.RAM, Optimize.SIZE, Optimize.SPEED))

ROUTES: Mapping[str, Route] = {
    "jit": Route(host_machine, _in_process),
    "v2": Route(_machine("x86", "x86-64-v2"), _objects),
    "v3": Route(_machine("x86", "x86-64-v3"), _objects),
    "sanitizers": Route(_machine("generic"), _sanitized),
    "ram": Route(_machine("generic"), _sanitized, _RAM),
    "slices": Route(_machine("generic"), _slices),
    "ram-slices": Route(_machine("generic"), _slices, _RAM),
    "chunks": Route(host_machine, _backwards, Goal(threads=3)),
    "m0+": Route(_machine("cortex-m0plus"), _by_gcc),
    "m3": Route(_machine("cortex-m3"), _by_gcc),
    "m4": Route(_machine("cortex-m4"), _by_llvm),
    "m4-size": Route(_machine("cortex-m4"), _by_gcc, _SIZE),
    "m4-speed": Route(_machine("cortex-m4"), _by_llvm, _SPEED),
    "m4-ram": Route(_machine("cortex-m4"), _by_gcc, _RAM),
    "m55": Route(_machine("cortex-m55"), _by_llvm),
    "m55-speed": Route(_machine("cortex-m55"), _by_gcc, _SPEED),
    "m7": Route(_machine("cortex-m7"), _by_llvm),
    "m33": Route(_machine("cortex-m33"), _by_gcc),
    "m85": Route(_machine("cortex-m85"), _by_llvm),
    "riscv32": Route(_machine("riscv32"), _by_llvm),
    "riscv32-c": Route(_machine("riscv32"), _by_gcc),
    "wasm32": Route(_machine("wasm32"), _by_llvm),
    "armv7": Route(_machine("android", abi="armeabi-v7a"), _by_llvm),
    "armv7-c": Route(_machine("android", abi="armeabi-v7a"), _by_gcc),
    "i686": Route(_machine("android", abi="x86"), _by_llvm),
    "i8mm": Route(_machine("linux-arm64", "armv8.2-a-i8mm"), _by_llvm),
    "arm64": Route(_machine("linux-arm64"), _by_gcc),
    "dotprod": Route(_machine("linux-arm64", "armv8.2-a-dotprod"), _by_llvm),
}
"""``sanitizers`` and what has no name of a machine run C for any machine here, with GCC's sanitizers; ``chunks`` have
all layers in chunks, the last of which runs first; ``slices`` are run step by step, with weights in a file."""
