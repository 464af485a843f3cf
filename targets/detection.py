"""How code finds out what the processor has that it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ..record import record


@record
class CpuidBit:
    """A bit that the x86 instruction CPUID gives for ``leaf`` and ``subleaf`` in one of ``eax``, ``ebx``, ``ecx`` and
    ``edx``.

    ``state`` are bits of the control register XCR0 that have to be set besides: registers that the operating system
    saves. Where one of them is ``granted`` only (the number of its bit), a process has to ask Linux for it
    (``arch_prctl`` with ``ARCH_REQ_XCOMP_PERM``; Documentation/arch/x86/xstate.rst), which may refuse.
    """

    leaf: int
    register: str
    bit: int
    state: int = 0
    subleaf: int = 0
    granted: int = 0


ARCH_PRCTL = 158
"""The number of the system call of Linux for x86-64."""
REQUEST_STATE = 0x1023
"""ARCH_REQ_XCOMP_PERM: what it is asked for."""


@record
class HwcapBit:
    """A bit of an entry of Linux' auxiliary vector (16: AT_HWCAP, 26: AT_HWCAP2)."""

    entry: int
    bit: int


@record
class SharedByte:
    """A byte at ``address`` of a page that the operating system shows every process there; not 0 where the processor
    has the feature."""

    address: int


@record
class SystemValue:
    """A number that the function ``sysctlbyname`` of Apple's systems has under ``name``: 1 where the processor has the
    feature. Systems that know no such name are taken to lack it."""

    name: str


Flag = CpuidBit | HwcapBit | SharedByte | SystemValue


@record
class CpuFeature:
    """Something that only some processors of an architecture have. ``macro`` is what C compilers define where they may
    make use of it (older ones: ``old_macro``), ``flag`` is where a processor says that it has it."""

    macro: str
    flag: Flag
    old_macro: str = ""

    @property
    def macros(self) -> tuple[str, ...]:
        """All that compilers may define."""
        return (self.macro, self.old_macro) if self.old_macro else (self.macro,)


@record
class Detection:
    """Where the features are found, by the names that LLVM gives those of a host.

    ``llvm_cpu``, ``llvm_features`` and ``c_attribute`` (of a function) stand for the processor that every machine of
    the ABI has at least: what asks has to run there.
    """

    features: Mapping[str, CpuFeature] = field(hash=False)
    llvm_cpu: str
    llvm_features: str = ""
    c_attribute: str = ""
