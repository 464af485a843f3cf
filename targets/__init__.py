"""The targets, one data file a family."""

from __future__ import annotations

from collections.abc import Collection

from . import apple, arm64, cortex_m, generic, riscv, wasm, windows, x86
from .detection import CpuFeature, CpuidBit, Detection, HwcapBit, SharedByte, SystemValue
from .environment import Board, Environment, Region, Tool
from .formats import ObjectFormat
from .process import in_process
from .target import ZIG, Abi, Cpu, Dot, ElementKind, Elf, Helpers, Kit, Library, Machine, Registers, Target
from .timing import Estimate, Timing

TARGETS: tuple[Target, ...] = (
    *generic.TARGETS, *x86.TARGETS, *cortex_m.TARGETS, *arm64.TARGETS, *windows.TARGETS, *apple.TARGETS,
    *riscv.TARGETS, *wasm.TARGETS,
)  # fmt: skip

__all__ = [
    "FAMILIES", "TARGETS", "ZIG", "Abi", "Board", "Cpu", "CpuFeature", "CpuidBit", "Detection", "Dot", "ElementKind",
    "Elf", "Environment", "Estimate", "Helpers", "HwcapBit", "Kit", "Library", "Machine", "ObjectFormat", "Region",
    "Registers", "SharedByte", "SystemValue", "Target", "Timing", "Tool", "find", "host", "in_process", "select",
]  # fmt: skip


FAMILIES = ", ".join(dict.fromkeys(target.family for target in TARGETS))
"""What the targets are for, in words."""


def find(name: str) -> Target | None:
    """The target called ``name`` (or with that alias)."""
    return next((target for target in TARGETS if name == target.name or name in target.aliases), None)


def host(architecture: str, features: Collection[str]) -> Machine | None:
    """The machine whose code a process of ``architecture`` can run, at the highest level that ``features`` allow.

    ``architecture`` is the beginning of LLVM's triple, ``features`` are named as LLVM names them. ``None`` where no
    target's code can run.
    """
    able = [
        Machine(target, abi, cpu)
        for target in TARGETS
        for abi in target.abis
        for cpu in abi.cpus
        if architecture in abi.host_architectures and set(cpu.requires) <= set(features)
    ]
    return max(able, key=lambda machine: len(machine.cpu.requires), default=None)


def select(name: str, abi: str | None = None, cpu: str | None = None) -> Machine:
    """The machine for a target name and optional ABI and CPU names.

    Raises ``KeyError`` whose message lists what there is.
    """
    target = find(name)
    if target is None:
        raise KeyError(f"no target '{name}'; there are: {', '.join(t.name for t in TARGETS)}")
    chosen = target.abis[0] if abi is None else next((a for a in target.abis if a.name == abi), None)
    if chosen is None:
        raise KeyError(f"target {target.name} has no ABI '{abi}'; there are: {', '.join(a.name for a in target.abis)}")
    model = chosen.cpus[0] if cpu is None else next((c for c in chosen.cpus if c.name == cpu), None)
    if model is None:
        known = ", ".join(c.name for c in chosen.cpus)
        raise KeyError(f"target {target.name} ({chosen.name}) has no CPU '{cpu}'; there are: {known}")
    return Machine(target, chosen, model)
