"""The machines that the tests compile for, and what runs their code here."""

from __future__ import annotations

from ccml.emit_llvm.jit import host_machine
from ccml.targets import Machine, select

GENERIC = select("generic")
V2, V3 = (select("x86", cpu=f"x86-64-{level}") for level in ("v2", "v3"))
NATIVE = host_machine()
X86 = tuple({machine.cpu.name: machine for machine in (V2, V3, NATIVE)}.values())
"""Levels that real machines have, and all that this one can do."""

M4 = select("cortex-m4")
ARM64_LINUX = select("linux-arm64")
ANDROID = tuple(select("android", abi) for abi in ("arm64-v8a", "armeabi-v7a", "x86_64"))


def machine_id(machine: Machine) -> str:
    return f"{machine.abi.name}" if machine.name == "android" else machine.cpu.name
