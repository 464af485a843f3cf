"""The machines that the tests compile for, and what runs their code here."""

from __future__ import annotations

import pytest
from ccml.emit_llvm.jit import host_features, host_machine
from ccml.targets import TARGETS, Machine, select

GENERIC = select("generic")
V2, V3 = (select("x86", cpu=f"x86-64-{level}") for level in ("v2", "v3"))
NATIVE = host_machine()
X86 = tuple({machine.cpu.name: machine for machine in (V2, V3, NATIVE)}.values())
"""Levels that real machines have, and all that this one can do."""

M4 = select("cortex-m4")
RISCV = select("riscv32")
WASM = select("wasm32")
ARM64_LINUX = select("linux-arm64")
BOARDS = tuple(
    Machine(target, abi, abi.cpus[0])
    for target in TARGETS
    for abi in target.abis
    if abi.environment.board is not None
)
"""Cores without an operating system, on emulated boards."""

ANDROID = tuple(select("android", abi) for abi in ("arm64-v8a", "armeabi-v7a", "x86_64", "x86"))

def runs_here(machine: Machine) -> pytest.MarkDecorator:
    """Skips a test where this machine's CPU lacks what code for ``machine`` uses."""
    plain = machine.name in ("generic", NATIVE.name)
    able = machine == NATIVE or (plain and set(machine.cpu.requires) <= host_features())
    return pytest.mark.skipif(not able, reason=f"needs a CPU of level {machine.cpu.name}")


def machine_id(machine: Machine) -> str:
    return machine.abi.name if machine.name == "android" else machine.cpu.name
