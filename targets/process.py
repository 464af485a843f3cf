"""Machine code for the process that ccml runs in: the conventions of its operating system."""

from __future__ import annotations

from dataclasses import replace

from . import windows
from .target import Machine

_WINDOWS = "win32"
_SYSTEMS = {_WINDOWS: "pc-windows-itanium-elf", "darwin": "apple-macosx11.0.0-elf"}
"""What follows the architecture in LLVM's triple, by Python's name of the system: conventions of calls, reserved
registers and the way to take stack; in ELF objects, which LLVM loads into a process of any system."""


def in_process(machine: Machine, system: str) -> Machine:
    """``machine``, whose code runs under Linux, for a process under ``system`` (``sys.platform``) on that processor."""
    if system not in _SYSTEMS:
        return machine
    abi = machine.abi
    helpers = abi.helpers
    if system == _WINDOWS:
        own = (other for target in windows.TARGETS for other in target.abis if other.architecture == abi.architecture)
        helpers = replace(helpers, code={name: code for other in own for name, code in other.helpers.code.items()})
    triple = f"{abi.triple.split('-')[0]}-{_SYSTEMS[system]}"
    return replace(machine, abi=replace(abi, triple=triple, helpers=helpers))
