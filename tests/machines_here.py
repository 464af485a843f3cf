"""Programs of every target in this process: scheduled as for their machine, compiled for this one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ccml.emit_llvm.jit import host_machine
from ccml.targets import TARGETS, Machine


def all_machines() -> Iterator[Machine]:
    """Every CPU of every ABI of every target."""
    for target in TARGETS:
        for abi in target.abis:
            for cpu in abi.cpus:
                yield Machine(target, abi, cpu)


def on_this_machine(machine: Machine) -> Machine:
    """``machine`` with the instruction set of this one: its vectors, registers and block instructions decide what the
    kernels look like. Block instructions run as their meaning."""
    host = host_machine()
    widest = {name: max(dot.lanes for dot in host.cpu.dots if dot.name == name) for name in _names(host)}
    cpu = replace(
        machine.cpu, llvm_cpu=host.cpu.llvm_cpu, llvm_features=host.cpu.llvm_features,
        features=machine.cpu.features & host.cpu.features, requires=host.cpu.requires,
        dots=tuple(dot for dot in machine.cpu.dots if dot.name == "mul+add" or dot.lanes <= widest.get(dot.name, 0)),
    )  # fmt: skip
    return Machine(machine.target, host.abi, cpu)


def _names(machine: Machine) -> set[str]:
    return {dot.name for dot in machine.cpu.dots}


def distinct_machines() -> list[Machine]:
    """One machine of those for which the same programs are made."""
    found: dict[object, Machine] = {}
    for machine in all_machines():
        here = on_this_machine(machine)
        cpu = replace(here.cpu, name="", c_flags=(), gcc_flags=(), clang_flags=(), timing=None)
        target = here.target
        found.setdefault((cpu, target.arena_align, target.scarce_ram, target.scarce_flash), machine)
    return list(found.values())
