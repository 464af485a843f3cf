"""The choice that a library makes before it runs code that not every processor has.

The entry function asks on its first call what the processor has, and remembers in one word which of the choices fits
it: the only thing that a library writes outside the memory of its caller. The word is read and written by relaxed
atomics; whoever asks finds the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..record import record
from ..targets import CpuFeature, CpuidBit, Detection, HwcapBit, Machine, SharedByte, SystemValue
from ..targets.detection import ARCH_PRCTL, REQUEST_STATE
from .coded import bytes_function
from .placement import function_attributes
from .writer import Function, FunctionWriter

AUXILIARY_VECTOR, SYSTEM_VALUE = "getauxval", "sysctlbyname"
"""The function of Linux' C library that gives an entry of the auxiliary vector, and that of Apple's that gives a number
by its name."""
_ASKED_BY: Mapping[type, str] = {HwcapBit: AUXILIARY_VECTOR, SystemValue: SYSTEM_VALUE}


@record
class Choice:
    """Functions whose names begin with ``prefix``, for processors that have all ``features``: ``PREFIX_run`` has the
    type of the entry."""

    prefix: str
    features: tuple[CpuFeature, ...]


_REGISTERS = ("eax", "ebx", "ecx", "edx")
_OSXSAVE = CpuidBit(1, "ecx", 27)
"""XCR0 can be read."""

# void cpuid(uint32_t leaf, uint32_t registers[4], uint32_t subleaf), in the convention of System V on every system:
#     push rbx; mov r8, rsi; mov eax, edi; mov ecx, edx; cpuid
#     mov [r8], eax; mov [r8+4], ebx; mov [r8+8], ecx; mov [r8+12], edx; pop rbx; ret
_CPUID = bytes.fromhex("53 4989f0 89f8 89d1 0fa2 418900 41895804 41894808 4189500c 5b c3")
_CONVENTION = "cc 78"  # llvm::CallingConv::X86_64_SysV
# int32_t request(uint32_t state): mov esi, edi; mov edi, ARCH_REQ_XCOMP_PERM; mov eax, SYS_arch_prctl; syscall; ret
_REQUEST = b"".join(
    (
        bytes.fromhex("89fe bf"), REQUEST_STATE.to_bytes(4, "little"), bytes.fromhex("b8"),
        ARCH_PRCTL.to_bytes(4, "little"), bytes.fromhex("0f05 c3"),
    )
)  # fmt: skip
# uint32_t xgetbv(void): xor ecx, ecx; xgetbv; ret
_XGETBV = bytes.fromhex("31c9 0f01d0 c3")


def asked_functions(machine: Machine) -> set[str]:
    """The functions of the system that a library for ``machine`` calls to find out what the processor has."""
    return {_ASKED_BY[type(feature.flag)] for feature in machine.asked_for if type(feature.flag) in _ASKED_BY}


def word_symbol(name: str) -> str:
    """The word that holds 0 as long as nobody asked, then the number of the choice that fits, from 1 on; one more than
    there are choices where none does."""
    return f"{name}_cpu"


def word_definition(name: str) -> str:
    return f"@{word_symbol(name)} = internal global i32 0, align 4"


def any_cpu(detection: Detection) -> str:
    """Attributes of a function that runs on every processor of the ABI."""
    return f'"target-cpu"="{detection.llvm_cpu}" "target-features"="{detection.llvm_features}"'


def guard_functions(name: str, machine: Machine, choices: Sequence[Choice], attributes: str) -> list[Function]:
    """``i32 NAME_check_cpu()``, which finds the first choice that fits, stores what the word shall be and returns it,
    and what it calls."""
    detection = machine.abi.detection
    assert detection is not None
    writer = _GuardWriter(name, machine, f"{any_cpu(detection)} {attributes}".strip())
    return [writer.check(choices), *writer.helpers.values()]


class _GuardWriter:
    def __init__(self, name: str, machine: Machine, attributes: str) -> None:
        self.name = name
        self.machine = machine
        self.attributes = attributes
        self.long = f"i{machine.abi.pointer_bits}"
        self.helpers: dict[str, Function] = {}
        self.out = FunctionWriter()
        self.lacking = ""

    def check(self, choices: Sequence[Choice]) -> Function:
        out = self.out
        for number, choice in enumerate(choices, 1):
            self.lacking = out.label("lacking")
            flags = [feature.flag for feature in choice.features]
            self._ask_cpuid([flag for flag in flags if isinstance(flag, CpuidBit)])
            self._ask_hwcap([flag for flag in flags if isinstance(flag, HwcapBit)])
            self._ask_shared([flag for flag in flags if isinstance(flag, SharedByte)])
            self._ask_system([flag for flag in flags if isinstance(flag, SystemValue)])
            self._answer(number)
            out.start(self.lacking)
        self._answer(len(choices) + 1)
        symbol = f"{self.name}_check_cpu"
        return out.finish(symbol, f"define internal i32 @{symbol}() noinline nounwind {self._placed(symbol)}")

    def _placed(self, symbol: str) -> str:
        return function_attributes(self.machine, symbol, self.attributes)

    def _answer(self, answer: int) -> None:
        self.out.effect(f"store atomic i32 {answer}, ptr @{word_symbol(self.name)} monotonic, align 4")
        self.out.effect(f"ret i32 {answer}")

    def _require(self, type_: str, value: str, mask: int) -> None:
        """Goes on where ``value`` has all bits of ``mask``."""
        found = self.out.value(f"and {type_} {value}, {mask}")
        self._go_on_if(self.out.value(f"icmp eq {type_} {found}, {mask}"))

    def _go_on_if(self, cond: str) -> None:
        there = self.out.label("there")
        self.out.branch(cond, there, self.lacking)
        self.out.start(there)

    def _helper(self, symbol: str, declaration: str, code: bytes) -> None:
        self.helpers[symbol] = bytes_function(symbol, declaration, code, self._placed(symbol))

    def _ask_cpuid(self, flags: Sequence[CpuidBit]) -> None:
        if not flags:
            return
        out, cpuid = self.out, f"{self.name}_cpuid"
        self._helper(cpuid, f"{_CONVENTION} void @{cpuid}(i32, ptr, i32)", _CPUID)
        registers = out.alloca("[4 x i32]", 4)
        state = 0
        for flag in flags:
            state |= flag.state
        wanted = [*flags, _OSXSAVE] if state else flags
        for leaf, subleaf in sorted({(flag.leaf, flag.subleaf) for flag in wanted}):
            out.effect(f"call {_CONVENTION} void @{cpuid}(i32 {leaf & 0x80000000}, ptr {registers}, i32 0)")
            last = out.value(f"load i32, ptr {registers}")
            self._go_on_if(out.value(f"icmp uge i32 {last}, {leaf}"))
            out.effect(f"call {_CONVENTION} void @{cpuid}(i32 {leaf}, ptr {registers}, i32 {subleaf})")
            for number, register in enumerate(_REGISTERS):
                place = (leaf, subleaf, register)
                mask = sum(1 << flag.bit for flag in wanted if (flag.leaf, flag.subleaf, flag.register) == place)
                if mask:
                    found = out.value(f"getelementptr inbounds i8, ptr {registers}, {self.long} {4 * number}")
                    self._require("i32", out.value(f"load i32, ptr {found}"), mask)
        if state:
            xgetbv = f"{self.name}_xgetbv"
            self._helper(xgetbv, f"i32 @{xgetbv}()", _XGETBV)
            self._require("i32", out.value(f"call i32 @{xgetbv}()"), state)
        for granted in sorted({flag.granted for flag in flags if flag.granted}):
            request = f"{self.name}_request_state"
            self._helper(request, f"i32 @{request}(i32)", _REQUEST)
            answer = out.value(f"call i32 @{request}(i32 {granted})")
            self._go_on_if(out.value(f"icmp eq i32 {answer}, 0"))

    def _ask_hwcap(self, flags: Sequence[HwcapBit]) -> None:
        for entry in sorted({flag.entry for flag in flags}):
            mask = sum(1 << flag.bit for flag in flags if flag.entry == entry)
            found = self.out.intrinsic(AUXILIARY_VECTOR, self.long, (self.long, str(entry)))
            self._require(self.long, found, mask)

    def _ask_shared(self, flags: Sequence[SharedByte]) -> None:
        for flag in flags:
            place = self.out.value(f"inttoptr {self.long} {flag.address} to ptr")
            self._go_on_if(self.out.value(f"icmp ne i8 {self.out.value(f'load volatile i8, ptr {place}')}, 0"))

    def _ask_system(self, flags: Sequence[SystemValue]) -> None:
        out = self.out
        for flag in flags:
            text = f"[{len(flag.name) + 1} x i8]"
            name, value, size = out.alloca(text, 1), out.alloca("i32", 4), out.alloca(self.long, 8)
            out.effect(f'store {text} c"{flag.name}\\00", ptr {name}')
            out.effect(f"store i32 0, ptr {value}")
            out.effect(f"store {self.long} 4, ptr {size}")
            given = [("ptr", name), ("ptr", value), ("ptr", size), ("ptr", "null"), (self.long, "0")]
            self._go_on_if(out.value(f"icmp eq i32 {out.intrinsic(SYSTEM_VALUE, 'i32', *given)}, 0"))
            self._go_on_if(out.value(f"icmp ne i32 {out.value(f'load i32, ptr {value}')}, 0"))
